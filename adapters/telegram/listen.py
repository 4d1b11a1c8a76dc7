"""This file polls Telegram, and confirms an update only when what it carries is durable.

Telegram forgets the updates below the `offset` of a call. So the offset follows `receive`, and an update that was
not handed over, or whose confirmation got lost, comes again; the inbox knows it by its address and id.
"""

import logging
from collections.abc import Sequence
from typing import NoReturn

from aiogram import Bot
from aiogram.exceptions import ClientDecodeError, TelegramConflictError
from aiogram.methods import DeleteWebhook, GetMe, GetUpdates
from aiogram.types import Update
from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.channel import Count, Receive
from adapters.telegram.faults import CALL_FAULTS, Faults, unread_result
from adapters.telegram.parse import BotUser, Ignored, parse_update

logger = logging.getLogger(__name__)

ALLOWED_UPDATES = ["message", "edited_message"]
CALL_TIMEOUT_S = 15
"""Patience with a call that Telegram answers at once; with a poll, on top of the poll's own time."""


class _UnreadUpdate(BaseModel):
    """What we must know of an update to pass over it."""

    model_config = ConfigDict(extra="ignore")
    update_id: int


class Polling:
    """Follows one bot's updates."""

    def __init__(self, bot: Bot, faults: Faults, count: Count, timeout_s: int) -> None:
        self._bot = bot
        self._faults = faults
        self._count = count
        self._timeout_s = timeout_s

    async def follow(self, receive: Receive) -> NoReturn:
        """Hand over every message, in order, until cancelled. Raises ChannelError."""
        me = await self._me()
        offset: int | None = None
        while True:
            updates = await self._fetch(offset)
            for update in updates:
                await self._hand_over(update, me, receive)
            # Behind the last one, be that higher or lower than before: after a quiet week ids begin again at random.
            offset = updates[-1].update_id + 1 if updates else None

    async def _me(self) -> BotUser:
        try:
            user = await self._bot(GetMe(), request_timeout=CALL_TIMEOUT_S)
        except CALL_FAULTS as fault:
            raise self._faults.of_call(fault) from None
        return BotUser(self._faults.account, user.id, user.username or "")

    async def _fetch(self, offset: int | None) -> Sequence[Update | _UnreadUpdate]:
        request = GetUpdates(offset=offset, timeout=self._timeout_s, allowed_updates=ALLOWED_UPDATES)
        try:
            return await self._bot(request, request_timeout=self._timeout_s + CALL_TIMEOUT_S)
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
        """Make way for polling, which the configuration asks for; waiting updates stay."""
        logger.warning("a webhook was set for this bot; removed it to poll", extra={"account": self._faults.account})
        try:
            await self._bot(DeleteWebhook(), request_timeout=CALL_TIMEOUT_S)
        except CALL_FAULTS as fault:
            raise self._faults.of_call(fault) from None

    def _salvage(self, fault: ClientDecodeError) -> Sequence[Update | _UnreadUpdate]:
        """Read one by one a batch that the SDK could not read whole: one strange update must not stop the rest."""
        result = unread_result(fault)
        if not isinstance(result, list):
            raise self._faults.of_call(fault) from None
        try:
            return [_read(update) for update in result]
        except ValidationError:
            raise self._faults.of_call(fault) from None

    async def _hand_over(self, update: Update | _UnreadUpdate, me: BotUser, receive: Receive) -> None:
        found = parse_update(update, me) if isinstance(update, Update) else Ignored.UNREADABLE
        if isinstance(found, Ignored):
            logger.info("update ignored", extra={"account": me.account, "update": update.update_id, "reason": found})
            await self._count(found)
        else:
            await receive(found)


def _read(update: object) -> Update | _UnreadUpdate:
    try:
        return Update.model_validate(update)
    except ValidationError:
        return _UnreadUpdate.model_validate(update)
