"""Typing indicator on Discord."""

from discord.http import Route

from adapters.channel import Address
from adapters.discord.calls import DiscordCalls, channel_number


class DiscordActivity:
    """Typing indicator of one bot."""

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls

    async def type(self, address: Address) -> None:
        """Show the typing indicator for about ten seconds. Raises ChannelError."""
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_number(address))
        await self._calls.ask(route)
