"""Loopback proxy to a server that may stop, drop connections, and come back on another port.

A browser knows one address; a gateway has a new port after each start.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

READ = 65_536


class StandbyAddress:
    """Leads to *target*, a port, while it has one; who comes meanwhile is sent away."""

    def __init__(self) -> None:
        self.url = ""
        self.target: int | None = None
        self.came = 0
        """Connections so far, those that were sent away too."""
        self._open: set[asyncio.StreamWriter] = set()
        self._arrival = asyncio.Condition()

    async def comes(self, number: int) -> None:
        """Wait until so many connections have come in all."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: self.came >= number)

    def drop(self) -> None:
        """Break every connection that is open."""
        for writer in tuple(self._open):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Lead one connection on."""
        async with self._arrival:
            self.came += 1
            self._arrival.notify_all()
        try:
            if self.target is not None:
                await self._lead(reader, writer, self.target)
        except OSError:
            pass  # one of the two went away
        finally:
            writer.close()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        answers, server = await asyncio.open_connection("127.0.0.1", target)
        self._open |= {writer, server}
        ways = [asyncio.create_task(_copy(reader, server)), asyncio.create_task(_copy(answers, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server.close()
            self._open -= {writer, server}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(READ):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def standby_address() -> AsyncIterator[StandbyAddress]:
    """Open a way that leads nowhere yet."""
    way = StandbyAddress()
    server = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield way
    finally:
        server.close()
        way.drop()
        await server.wait_closed()
