"""Check of a bot's setup at Discord, before it listens."""

from collections.abc import Sequence

from discord.http import Route

from adapters.discord.calls import DiscordCalls
from adapters.discord.wire import Application

_MAY_READ = 1 << 18 | 1 << 19
"""Application flags for reading message content: approved (large bots), or enabled in the portal (small bots)."""


async def examine(calls: DiscordCalls) -> Sequence[str]:
    """Return the problems of the bot's setup with their fixes. Raises ChannelError, for a wrong token too."""
    application = await calls.read(Application, Route("GET", "/applications/@me"))
    may_read = application is not None and application.flags & _MAY_READ
    return [] if may_read else [str(calls.faults.missing_intent())]
