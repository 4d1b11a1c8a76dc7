"""Webhook delivery of a bot's updates; each is accepted only when its content is durable.

Telegram retries, after a pause, each update not answered with 200. It keeps the updates of one chat in order, and
delivers those of different chats concurrently.
"""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import NoReturn
from weakref import WeakValueDictionary

from aiogram.methods import GetWebhookInfo, SetWebhook
from aiogram.types import Update, WebhookInfo
from pydantic import ValidationError

from adapters.channel import ChannelConfigError, ChannelError, Count, Receive
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.incoming import ALLOWED_UPDATES, UnreadUpdate, UpdateReceiver, read_update
from adapters.telegram.parse import IgnoredUpdate, chat_of

logger = logging.getLogger(__name__)

UNPROVEN = "telegram_wrong_secret"
"""Counted for an update without the secret: not from Telegram, or from an old webhook of ours."""
WEBHOOK_TROUBLE = "telegram_webhook_trouble"
"""Counted when Telegram cannot reach us, or reports a webhook other than the one we set."""
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Updates are delivered by webhook."""

    url: str
    """Our public HTTPS address for Telegram."""
    secret: str = field(repr=False)
    """Secret that Telegram sends with each request: 1 to 256 letters, digits, hyphens and underscores (Bot API)."""
    max_connections: int = 40
    """Updates delivered concurrently; Telegram's own default, its range is 1 to 100."""
    look_every_s: float = 60.0
    """Interval of checking that Telegram reaches us; our choice."""


class _InOrder:
    """Admits waiters for the same chat one by one, in order of arrival."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, chat: int | None) -> AsyncIterator[None]:
        if chat is None:
            yield
            return
        async with self._locks.setdefault(chat, asyncio.Lock()):
            yield


class WebhookDelivery:
    """The webhook of one bot."""

    def __init__(self, calls: TelegramCalls, incoming: UpdateReceiver, way: Webhook, count: Count) -> None:
        """Raises ChannelConfigError for an empty or malformed secret."""
        if not _SECRET.fullmatch(way.secret):
            raise ChannelConfigError(
                f"the webhook's secret of [channels.telegram.{calls.faults.account}] must be 1 to 256 letters, digits, "
                "hyphens or underscores; make one with: openssl rand -hex 32"
            )
        self._calls = calls
        self._incoming = incoming
        self._way = way
        self._count = count
        self._in_order = _InOrder()
        self._last_error: datetime | None = None

    async def keep(self) -> NoReturn:
        """Set the webhook, and again whenever it is lost, until cancelled. Raises ChannelError."""
        await self._incoming.meet()
        await self._set()
        info = await self._calls(GetWebhookInfo())
        self._last_error = info.last_error_date
        while True:
            if trouble := self._trouble(info):
                logger.warning("webhook", extra={"account": self._calls.faults.account, "detail": trouble})
                await self._count(WEBHOOK_TROUBLE)
                await self._set()
            self._last_error = info.last_error_date
            await asyncio.sleep(self._way.look_every_s)
            info = await self._calls(GetWebhookInfo())

    async def _set(self) -> None:
        """Set the webhook; this also ends Telegram's pause after an error."""
        way = self._way
        await self._calls(
            SetWebhook(
                url=way.url,
                secret_token=way.secret,
                max_connections=way.max_connections,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
            )
        )

    def _trouble(self, info: WebhookInfo) -> str:
        if info.url != self._way.url:
            return "it was set to another address, perhaps by another program with this bot's token"
        if set(info.allowed_updates or ()) != set(ALLOWED_UPDATES):
            return "other types of updates were requested, perhaps by another program with this bot's token"
        if info.last_error_date is not None and info.last_error_date != self._last_error:
            return (
                f"Telegram cannot reach it: {info.last_error_message}; {info.pending_update_count} updates are waiting"
            )
        return ""

    async def take(self, secret: str, body: bytes, receive: Receive) -> int:
        """Implements `TakesUpdates`, whether or not this gateway set the webhook."""
        if not hmac.compare_digest(secret.encode("utf-8", "replace"), self._way.secret.encode()):
            await self._count(UNPROVEN)
            return HTTPStatus.UNAUTHORIZED
        update = _read(body)
        if update is None:
            await self._count(IgnoredUpdate.UNREADABLE)
            return HTTPStatus.BAD_REQUEST
        try:
            async with self._in_order.at(chat_of(update) if isinstance(update, Update) else None):
                await self._incoming.hand_over(update, receive)
        except ChannelError as exc:
            logger.warning("update deferred", extra={"account": self._calls.faults.account, "detail": str(exc)})
            return HTTPStatus.SERVICE_UNAVAILABLE
        return HTTPStatus.OK


def _read(body: bytes) -> Update | UnreadUpdate | None:
    try:
        return read_update(json.loads(body))
    except (ValueError, ValidationError, RecursionError):
        return None
