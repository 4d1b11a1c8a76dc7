"""Long polling of Telegram; an update is confirmed only when its content is durable.

Telegram forgets the updates below the `offset` of a call. So the offset follows `receive`, and an update that was not
passed on, or whose confirmation got lost, comes again; the inbox recognises it by its address and id.
"""

import logging
from collections.abc import Sequence
from typing import NoReturn

from aiogram.exceptions import ClientDecodeError, TelegramConflictError
from aiogram.methods import DeleteWebhook, GetUpdates
from aiogram.types import Update
from msgspec import Struct
from pydantic import ValidationError

from adapters.channel import ChannelError, Receive
from adapters.telegram.calls import CALL_TIMEOUT_S, TelegramCalls
from adapters.telegram.faults import CALL_FAULTS, unread_result
from adapters.telegram.incoming import ALLOWED_UPDATES, UnreadUpdate, UpdateReceiver, read_update

logger = logging.getLogger(__name__)


class LongPoll(Struct, frozen=True):
    """Updates are polled."""

    timeout_s: int = 30
    """How long Telegram holds an empty poll open; aiogram's and our choice, Telegram allows up to 50."""


class LongPolling:
    """Follows one bot's updates."""

    def __init__(self, calls: TelegramCalls, incoming: UpdateReceiver, way: LongPoll) -> None:
        self._calls = calls
        self._faults = calls.faults
        self._incoming = incoming
        self._timeout_s = way.timeout_s
        self._held_back: Receive | None = None

    def on_held_back(self, tell: Receive) -> None:
        """Call *tell* from now on with each message behind one that could not be taken in."""
        self._held_back = tell

    async def follow(self, receive: Receive) -> NoReturn:
        """Pass on every message, in order, until cancelled. Raises ChannelError."""
        await self._incoming.meet()
        offset: int | None = None
        while True:
            updates = await self._fetch(offset)
            for number, update in enumerate(updates):
                try:
                    await self._incoming.hand_over(update, receive)
                except ChannelError:
                    raise
                except Exception:  # what *receive* raises, which is its owner's to name
                    await self._hold_back(updates[number + 1 :])
                    raise
            # One after the last id, whether higher or lower than before: after a quiet week ids restart at random.
            offset = updates[-1].update_id + 1 if updates else None

    async def _hold_back(self, updates: Sequence[Update | UnreadUpdate]) -> None:
        """Tell of *updates*, which Telegram will bring again: nothing of them is taken in, counted or confirmed."""
        if (tell := self._held_back) is not None:
            for update in updates:
                await self._incoming.look_at(update, tell)

    async def _fetch(self, offset: int | None) -> Sequence[Update | UnreadUpdate]:
        request = GetUpdates(offset=offset, timeout=self._timeout_s, allowed_updates=ALLOWED_UPDATES)
        try:
            return await self._calls.bot(request, request_timeout=self._timeout_s + CALL_TIMEOUT_S)
        except TelegramConflictError as fault:
            if "webhook" not in (fault.message or ""):
                raise self._faults.of_call(fault) from None
        except ClientDecodeError as fault:
            return self._salvage(fault)
        except CALL_FAULTS as fault:
            raise self._faults.of_call(fault) from None
        await self._remove_webhook()
        return ()

    async def _remove_webhook(self) -> None:
        """Remove a webhook in favour of polling, as configured; waiting updates stay."""
        logger.warning("removed the bot's webhook in order to poll", extra={"account": self._faults.account})
        await self._calls(DeleteWebhook())

    def _salvage(self, fault: ClientDecodeError) -> Sequence[Update | UnreadUpdate]:
        """Parse one by one a batch that the SDK could not parse: one unknown update must not stop the rest."""
        result = unread_result(fault)
        if not isinstance(result, list):
            raise self._faults.of_call(fault) from None
        try:
            return [read_update(update) for update in result]
        except ValidationError:
            raise self._faults.of_call(fault) from None
