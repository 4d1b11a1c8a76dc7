"""All tool servers of a gateway, and the tools that each turn may use."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from msgspec import Struct

from gateway.agent.mcp.server import OnStanding, Remember, ToolServer
from gateway.agent.mcp.settings import ServerSettings
from gateway.agent.tools.tool import Tool
from workspaces.access import Access


class ToolServers(Struct, frozen=True):
    """The tool servers, one process or connection each, for all agents."""

    servers: Sequence[ToolServer] = ()

    async def tools(self, access: Access) -> list[Tool]:
        """Return the tools for a turn with *access*, in the order of the configuration.

        Waits for servers that are starting.
        """
        asked = [each for each in self.servers if access.session_type in each.settings.rules.sessions]
        found = await asyncio.gather(*(each.tools() for each in asked))
        return [tool for tools in found for tool in tools]

    def away(self, access: Access) -> list[str]:
        """Return the names of the servers whose tools a turn with *access* would have and has not now."""
        return [
            each.settings.name
            for each in self.servers
            if access.session_type in each.settings.rules.sessions and each.is_away
        ]

    def troubles(self) -> list[str]:
        """Return the unavailable servers and the tools that are not offered, one line each."""
        return [line for each in self.servers for line in each.troubles()]


@asynccontextmanager
async def open_servers(
    settings: Sequence[ServerSettings],
    clock: Callable[[], datetime],
    count: Callable[[str], Awaitable[None]],
    on_standing: OnStanding | None = None,
    remember: Remember | None = None,
) -> AsyncIterator[ToolServers]:
    """Yield the servers. None runs before a turn may use it; all have stopped afterwards."""
    async with asyncio.TaskGroup() as tasks:
        running: set[asyncio.Task[None]] = set()

        def start(server: ToolServer) -> None:
            task = tasks.create_task(server.run())
            running.add(task)
            task.add_done_callback(running.discard)

        try:
            yield ToolServers([ToolServer(each, clock, count, start, on_standing, remember) for each in settings])
        finally:
            for task in running:
                task.cancel()
