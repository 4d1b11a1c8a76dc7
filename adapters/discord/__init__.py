"""The Discord channel, based on discord.py's client; imported when an account is built."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import NoReturn

from msgspec import Struct

from adapters.abilities import Keeps, MenuEntry
from adapters.channel import Address, Attachment, Body, ChannelUnavailableError, Count, OutboundMessage, Receive, Sent
from adapters.discord.calls import DiscordCalls
from adapters.discord.catching_up import CatchUpFetcher
from adapters.discord.connection import CALL_TIMEOUT_S, Connection
from adapters.discord.examine import examine
from adapters.discord.faults import DiscordFaults
from adapters.discord.files import Files
from adapters.discord.listen import GatewayListener
from adapters.discord.menu import show_menu
from adapters.discord.missed import CatchUp
from adapters.discord.send import UPLOAD_LIMIT, DiscordSender
from adapters.discord.session import GatewaySessionStore
from adapters.discord.signs import DiscordActivity
from adapters.discord.text import DISCORD_LIMIT, discord_parts

_CATCH_UP = CatchUp()


class Servers(Struct, frozen=True):
    """Addresses of a Discord other than the public one: its REST API, its gateway, its file server."""

    base_url: str | None = None
    gateway_url: str | None = None
    cdn_url: str | None = None
    call_timeout_s: float = CALL_TIMEOUT_S


_PUBLIC = Servers()


class DiscordAdapter:
    """One Discord bot.

    Beyond the contract it supports the typing indicator and reactions, fetches and sends files, has a menu (slash
    commands), fetches messages sent while offline, and can check its setup. *count* is called for every ignored event
    (the codes of `parse.Ignored`).
    """

    channel = "discord"
    upload_limit = UPLOAD_LIMIT
    caption_limit = DISCORD_LIMIT

    def __init__(
        self,
        account: str,
        token: str,
        count: Count,
        *,
        servers: Servers = _PUBLIC,
        keeps: Keeps | None = None,
        catch_up: CatchUp = _CATCH_UP,
    ) -> None:
        """Take the bot's *token*; with *keeps* the next run also receives messages sent between this run and itself.

        *catch_up* limits how far back they are fetched where Discord does not replay them by itself.

        Raises ChannelConfigError if there is no token.
        """
        self.account = account
        faults = DiscordFaults(account, token)
        if not token.strip():
            raise faults.bad_token()
        self._connection = Connection(token, faults, servers.base_url)
        self._calls = DiscordCalls(self._connection, faults, servers.call_timeout_s)
        catching_up = CatchUpFetcher(account, self._calls, count, catch_up, keeps)
        session_store = GatewaySessionStore(account, keeps)
        self._listening = GatewayListener(self._calls, count, session_store, catching_up, servers.gateway_url)
        self._sending = DiscordSender(self._calls)
        self._signs = DiscordActivity(self._calls)
        self._files = Files(self._calls, servers.cdn_url, servers.call_timeout_s)
        self._closed = False

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* in Discord's dialect, in parts of at most 2,000 characters."""
        return discord_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Follow the gateway; an event is acknowledged to Discord only after *receive* has returned."""
        self._check_open()
        await self._listening.follow(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        """Send one message. Raises ChannelError; after UnsureSendError the same key sends it at most once."""
        self._check_open()
        return await self._sending.send(message)

    async def show_typing(self, address: Address) -> None:
        """Show the typing indicator for about ten seconds. Raises ChannelError."""
        self._check_open()
        await self._signs.type(address)

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Replace our reaction below the message with *emoji*; empty removes it. Raises ChannelError."""
        self._check_open()
        await self._signs.react(address, message_id, emoji)

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content of *attachment*. Raises ChannelError."""
        self._check_open()
        return self._files.fetch(attachment)

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        """Set the slash commands to *entries*, for everybody. Raises ChannelError."""
        self._check_open()
        await show_menu(self._calls, entries)

    def on_deleted(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with each deleted message of a server's channel."""
        self._listening.on_deleted(tell)

    def on_missed(self, tell: Callable[[Address, datetime], Awaitable[None]]) -> None:
        """Call *tell* from now on for each chat with more missed messages than are fetched."""
        self._listening.catching_up.on_missed(tell)

    async def examine(self) -> Sequence[str]:
        """Return the settings missing in the Developer Portal. Raises ChannelError."""
        self._check_open()
        return await examine(self._calls)

    async def close(self) -> None:
        self._closed = True
        await self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ChannelUnavailableError("the Discord channel is closed")
