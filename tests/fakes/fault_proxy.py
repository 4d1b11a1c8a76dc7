"""TCP proxy on loopback that delays, cuts or resets connections, goes silent, or cuts an answer in the middle."""

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from tests.fakes.patience import PATIENCE_S

READ = 65_536


class NetFault(StrEnum):
    """Network fault of one request."""

    DELAY = "delay"
    """It arrives late."""
    CUT = "cut"
    """It does not arrive, and the connection is closed."""
    RESET = "reset"
    """It does not arrive, and the connection is reset."""
    SILENT = "silent"
    """It arrives, and nothing more is ever heard on this connection."""
    HALF = "half"
    """It arrives, and the connection is reset in the middle of the answer."""


@dataclass
class _Side:
    """One connection, shared by its two directions."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    is_silent: bool = False
    breaks_next: bool = False


class FaultProxy:
    """Proxy for the server at *port*; its own port is `url_port`. It runs on its own thread."""

    delay_s = 0.1
    look_every_s = 0.05
    """How often a held connection looks whether it is cut."""

    def __init__(self, port: int, meets: bytes = b"") -> None:
        self.port = 0
        self.met: list[NetFault] = []
        self._target = port
        self._meets = meets
        self._coming: deque[NetFault] = deque()
        self.is_cut: Callable[[int], bool] = lambda _: False
        """Tells for a client's port whether its bytes, and those to it, are held back now."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None

    def inject(self, *faults: NetFault) -> None:
        """Apply *faults* to the next requests (that contain *meets*), one each."""
        self._coming.extend(faults)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE_S)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self._target)
        except ConnectionError:  # nobody is there now
            writer.close()
            return
        side = _Side(writer, server)
        try:
            async with asyncio.TaskGroup() as tasks:
                back = tasks.create_task(self._answer(answers, side))
                await self._ask(reader, side)
                back.cancel()
        except* (ConnectionError, RuntimeError):
            pass  # one side has disconnected
        finally:
            writer.close()
            server.close()

    async def _ask(self, reader: asyncio.StreamReader, side: _Side) -> None:
        while data := await reader.read(READ):
            await self._passes(side)
            fault = self._coming.popleft() if self._coming and self._meets in data else None
            if fault is not None:
                self.met.append(fault)
            match fault:
                case NetFault.DELAY:
                    await asyncio.sleep(self.delay_s)
                case NetFault.CUT:
                    return
                case NetFault.RESET:
                    _reset(side.client)
                    return
                case NetFault.SILENT:
                    side.is_silent = True
                case NetFault.HALF:
                    side.breaks_next = True
            side.server.write(data)
            await side.server.drain()

    async def _answer(self, answers: asyncio.StreamReader, side: _Side) -> None:
        while data := await answers.read(READ):
            await self._passes(side)
            if side.is_silent:
                continue
            side.client.write(data[: len(data) // 2] if side.breaks_next else data)
            await side.client.drain()
            if side.breaks_next:
                _reset(side.client)
                return
        side.client.close()

    async def _passes(self, side: _Side) -> None:
        """Wait until the connection is not cut."""
        port = side.client.get_extra_info("peername")[1]
        while self.is_cut(port):  # noqa: ASYNC110 — whether it is depends on another thread
            await asyncio.sleep(self.look_every_s)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
