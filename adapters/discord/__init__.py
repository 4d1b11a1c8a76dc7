"""This package is the Discord channel, by discord.py's client; it is imported when an account is built."""

from collections.abc import Sequence
from typing import NoReturn

from adapters.channel import Address, Body, ChannelUnavailableError, Count, OutboundMessage, Receive, Sent
from adapters.discord.connection import CALL_TIMEOUT_S, Connection
from adapters.discord.faults import Faults
from adapters.discord.listen import Listening
from adapters.discord.send import Sending
from adapters.discord.text import discord_parts


class DiscordAdapter:
    """One Discord bot.

    Beside the contract it shows the typing sign (`ShowsTyping`). *count* hears of every event that is ignored (the
    codes of `parse.Ignored`).
    """

    channel = "discord"

    def __init__(
        self,
        account: str,
        token: str,
        count: Count,
        *,
        base_url: str | None = None,
        gateway_url: str | None = None,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        """Take the bot's *token*; *base_url* and *gateway_url* are another REST API and another gateway.

        Raises ChannelConfigError if there is no token.
        """
        self.account = account
        faults = Faults(account, token)
        if not token.strip():
            raise faults.bad_token()
        self._connection = Connection(token, faults, base_url)
        self._listening = Listening(self._connection, faults, count, gateway_url)
        self._sending = Sending(self._connection, faults, call_timeout_s)
        self._closed = False

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as Discord's own, in parts of at most 2,000 characters."""
        return discord_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Follow the gateway, and acknowledge to Discord only what *receive* has returned for."""
        self._check_open()
        await self._listening.follow(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        """Send one message. Raises ChannelError; after UnsureSendError the same key sends it once at most."""
        self._check_open()
        return await self._sending.send(message)

    async def show_typing(self, address: Address) -> None:
        """Show for about ten seconds that we write. Raises ChannelError."""
        self._check_open()
        await self._sending.show_typing(address)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ChannelUnavailableError("the Discord channel is closed")
