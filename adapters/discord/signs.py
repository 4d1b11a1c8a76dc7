"""Typing indicator and reactions on Discord."""

from typing import Any

from discord.http import Route

from adapters.channel import Address
from adapters.discord.calls import DiscordCalls, channel_number, number
from adapters.discord.wire import PostedMessage

_MESSAGE = "/channels/{channel_id}/messages/{message_id}"


class DiscordActivity:
    """Typing indicator and reactions of one bot."""

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls

    async def type(self, address: Address) -> None:
        """Show the typing indicator for about ten seconds. Raises ChannelError."""
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_number(address))
        await self._calls.ask(route)

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Make *emoji* our only reaction below the message; remove all if it is empty. Raises ChannelError."""
        where: dict[str, Any] = {"channel_id": channel_number(address), "message_id": number(message_id)}
        message = await self._calls.read(PostedMessage, Route("GET", _MESSAGE, **where))
        ours = [reaction.emoji.name or "" for reaction in message.reactions if reaction.me] if message else []
        for old in ours:
            if old != emoji:
                await self._calls.ask(Route("DELETE", f"{_MESSAGE}/reactions/{{emoji}}/@me", **where, emoji=old))
        if emoji and emoji not in ours:
            await self._calls.ask(Route("PUT", f"{_MESSAGE}/reactions/{{emoji}}/@me", **where, emoji=emoji))
