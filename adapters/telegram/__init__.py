"""The Telegram channel, based on aiogram's client; its import is slow, so only `app` imports it, lazily."""

import adapters.telegram.loading  # noqa: F401  # isort: skip  # before anything else loads the SDK

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import NoReturn

from aiogram import Bot
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.methods import Response
from aiogram.types import File, Message, Update, User
from aiogram.utils.token import TokenValidationError

from adapters.abilities import JoinedGroup, MenuEntry
from adapters.channel import (
    Address,
    Attachment,
    Body,
    ChannelError,
    ChannelUnavailableError,
    Count,
    OutboundMessage,
    Receive,
    Sent,
)
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.examine import PRIVACY_MODE, Examination, Groups
from adapters.telegram.faults import TelegramFaults
from adapters.telegram.files import FileDownloads
from adapters.telegram.incoming import UpdateReceiver
from adapters.telegram.listen import LongPoll, LongPolling
from adapters.telegram.moved import MovedChats
from adapters.telegram.send import CAPTION_LIMIT, LARGEST_UPLOAD, TelegramSender
from adapters.telegram.session import JsonSession
from adapters.telegram.signs import TelegramActivity
from adapters.telegram.webhook import Webhook, WebhookDelivery
from adapters.text import telegram_parts

__all__ = ["Groups", "LongPoll", "TelegramAdapter", "Webhook"]

logger = logging.getLogger(__name__)

_KEPT = (Response[User], Response[list[Update]], Response[Message], Response[bool], Response[File])
"""Models of Telegram's answers. Pydantic discards unreferenced ones, and building one takes 6 ms on every call."""

for _model in (User, File, Message, Update, *_KEPT):  # now, on the loading thread, and the parts first
    _model.model_rebuild()

_POLLING, _NO_GROUPS = LongPoll(), Groups()


class TelegramAdapter:
    """One Telegram bot, by long polling or by a webhook.

    Beyond the contract it implements `ShowsTyping`, `ShowsDrafts`, `Reacts`, `SendsFiles`, `FetchesFiles`, `HasMenu`,
    `TakesUpdates`, `HoldsBack`, `Moves`, `Joins` and `Examines`. *count* is called for every ignored update (the codes
    of `parse.Ignored`), for every message sent without its formatting, and for trouble with the webhook.
    """

    channel = "telegram"
    upload_limit = LARGEST_UPLOAD
    caption_limit = CAPTION_LIMIT

    def __init__(
        self,
        account: str,
        token: str,
        count: Count,
        *,
        base_url: str | None = None,
        way: LongPoll | Webhook = _POLLING,
        groups: Groups = _NO_GROUPS,
    ) -> None:
        """Take the bot's *token* and the configuration of its *groups*; *base_url* is another Bot API server.

        Raises ChannelConfigError if the token or the webhook's secret is malformed.
        """
        self.account = account
        faults = TelegramFaults(account, token)
        api = PRODUCTION if base_url is None else TelegramAPIServer.from_base(base_url)
        self._session = JsonSession(api=api)
        try:
            calls = TelegramCalls(Bot(token, session=self._session), faults)
        except TokenValidationError:
            raise faults.bad_token() from None
        self._count = count
        self._moved = MovedChats(account, groups.moved, count)
        incoming = self._incoming = UpdateReceiver(account, calls, self._moved, count)
        self._examination = Examination(calls, incoming, groups, self._moved)
        self._webhook_url = way.url if isinstance(way, Webhook) else None
        self._webhook_delivery = WebhookDelivery(calls, incoming, way, count) if isinstance(way, Webhook) else None
        self._polling = LongPolling(calls, incoming, way) if isinstance(way, LongPoll) else None
        self._sending = TelegramSender(calls, self._moved, count)
        self._signs = TelegramActivity(calls, self._moved)
        self._files = FileDownloads(calls)
        self._closed = False

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as text and entities, in parts of at most 4,096 UTF-16 units."""
        return telegram_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Poll, confirming each update to Telegram only after *receive* has returned; or keep the webhook set."""
        self._check_open()
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._tell_of_privacy())
                await self._follow(receive)
        except ExceptionGroup as group:  # the failed one has ended the other
            raise group.exceptions[0] from None
        raise AssertionError("unreachable")

    async def _follow(self, receive: Receive) -> NoReturn:
        if self._polling is not None:
            await self._polling.follow(receive)
        assert self._webhook_delivery is not None  # noqa: S101  # it is one of the two
        await self._webhook_delivery.keep()

    async def _tell_of_privacy(self) -> None:
        """Check privacy mode in parallel with polling: it takes a call for each of a bot's groups."""
        try:
            findings = await self._examination.privacy()
        except ChannelError as exc:  # polling reports the error; `strandline doctor` checks again
            logger.info("groups not examined", extra={"account": self.account, "detail": str(exc)})
            return
        for finding in findings:
            logger.warning(finding, extra={"account": self.account})
            await self._count(PRIVACY_MODE)

    async def take(self, secret: str, body: bytes, receive: Receive) -> int:
        """Take an update delivered by webhook and return the HTTP status."""
        if self._webhook_delivery is None:
            return HTTPStatus.NOT_FOUND
        return (
            HTTPStatus.SERVICE_UNAVAILABLE if self._closed else await self._webhook_delivery.take(secret, body, receive)
        )

    async def send(self, message: OutboundMessage) -> Sent:
        """Send one message. Raises ChannelError; UnsureSendError means that it may have arrived."""
        self._check_open()
        return await self._sending.send(message)

    async def show_typing(self, address: Address) -> None:
        """Show the typing indicator for about five seconds. Raises ChannelError."""
        self._check_open()
        await self._signs.show_typing(address)

    async def show_draft(self, address: Address, text: str) -> None:
        """Show *text* as a draft in a direct chat; does nothing elsewhere. Raises ChannelError."""
        self._check_open()
        await self._signs.show_draft(address, text)

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Set our reaction on a message to *emoji*, replacing the previous one. Raises ChannelError."""
        self._check_open()
        await self._signs.react(address, message_id, emoji)

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        """Set the command menus: everybody's, and the owner's. Raises ChannelError."""
        self._check_open()
        await self._signs.show_menu(entries, owners)

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield a file's content in pieces. Raises ChannelError."""
        self._check_open()
        return self._files.fetch(attachment)

    async def examine(self) -> Sequence[str]:
        """Return the problems that cut the bot off from its groups, or Telegram off from us. Raises ChannelError."""
        self._check_open()
        return await self._examination.all(self._webhook_url)

    def on_held_back(self, tell: Receive) -> None:
        """Implements `HoldsBack` where updates are polled; a webhook brings each for itself."""
        if self._polling is not None:
            self._polling.on_held_back(tell)

    def on_moved(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* for each group found to have become a supergroup."""
        self._moved.on_moved(tell)

    def on_joined(self, tell: Callable[[JoinedGroup], Awaitable[None]]) -> None:
        """Implements `Joins`."""
        self._incoming.on_joined(tell)

    async def close(self) -> None:
        self._closed = True
        # The session's own close waits 250 ms for TLS connections, which aiohttp itself awaits since 3.12.4.
        connections = await self._session.create_session()
        await connections.close()

    def _check_open(self) -> None:
        """Raise if closed: the SDK would silently open new connections."""
        if self._closed:
            raise ChannelUnavailableError("the Telegram channel is closed")
