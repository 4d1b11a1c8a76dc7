"""This package is the Telegram channel, by aiogram's client; importing it costs seconds, so only `app` does, late."""

from collections.abc import Sequence
from typing import NoReturn

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.methods import Response
from aiogram.types import Message, Update, User
from aiogram.utils.token import TokenValidationError

from adapters.channel import Address, Body, ChannelUnavailableError, Count, OutboundMessage, Receive, Sent
from adapters.telegram.faults import Faults
from adapters.telegram.listen import Polling
from adapters.telegram.send import Sending
from adapters.text import telegram_parts

_KEPT = (Response[User], Response[list[Update]], Response[Message], Response[bool])
"""Models of Telegram's answers. Pydantic forgets one that nobody holds, and building it takes 6 ms at every call."""
POLL_TIMEOUT_S = 30
"""How long Telegram holds a poll open when nothing comes; aiogram's and our choice, Telegram takes up to 50."""


class TelegramAdapter:
    """One Telegram bot, by long polling.

    Beside the contract it shows the typing sign (`ShowsTyping`). *count* hears of every update that is ignored
    (the codes of `parse.Ignored`) and of every message that went out without its formatting.
    """

    channel = "telegram"

    def __init__(
        self,
        account: str,
        token: str,
        count: Count,
        *,
        base_url: str | None = None,
        poll_timeout_s: int = POLL_TIMEOUT_S,
    ) -> None:
        """Take the bot's *token*; *base_url* is another Bot API server. Raises ChannelConfigError if it is no token."""
        self.account = account
        faults = Faults(account, token)
        api = PRODUCTION if base_url is None else TelegramAPIServer.from_base(base_url)
        self._session = AiohttpSession(api=api)
        try:
            bot = Bot(token, session=self._session)
        except TokenValidationError:
            raise faults.bad_token() from None
        self._polling = Polling(bot, faults, count, poll_timeout_s)
        self._sending = Sending(bot, faults, count)
        self._closed = False

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as text and entities, in parts of at most 4,096 UTF-16 units."""
        return telegram_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Poll, and confirm to Telegram only what *receive* has returned for."""
        self._check_open()
        await self._polling.follow(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        """Send one message. Raises ChannelError; UnsureSendError means that it may have arrived."""
        self._check_open()
        return await self._sending.send(message)

    async def show_typing(self, address: Address) -> None:
        """Show for about five seconds that we write. Raises ChannelError."""
        self._check_open()
        await self._sending.show_typing(address)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        # The session's own close pauses 250 ms for TLS connections, which aiohttp awaits itself since 3.12.4.
        connections = await self._session.create_session()
        await connections.close()

    def _check_open(self) -> None:
        """The SDK would quietly open new connections."""
        if self._closed:
            raise ChannelUnavailableError("the Telegram channel is closed")
