"""This file asks Discord how a bot is set up, before it tries to listen."""

from collections.abc import Sequence

from discord.http import Route

from adapters.discord.calls import Calls
from adapters.discord.wire import Application

_MAY_READ = 1 << 18 | 1 << 19
"""The flags of an application that may read: a large one that was approved, a small one where it is switched on."""


async def examine(calls: Calls) -> Sequence[str]:
    """Return what keeps the bot from working, and how to mend it. Raises ChannelError, for a wrong token too."""
    application = await calls.read(Application, Route("GET", "/applications/@me"))
    may_read = application is not None and application.flags & _MAY_READ
    return [] if may_read else [str(calls.faults.missing_intent())]
