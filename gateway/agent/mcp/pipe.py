"""Line-based exchange with a child program; neither its silence nor its output can exceed a bound."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio

from gateway.agent.mcp.settings import ProgramServer
from gateway.errors import McpError

ALLOWANCE = 8_000_000
"""Bytes that a program may send for each request, and the longest line; a screenshot fits. Our choice."""
COMPLAINTS = 1_000
"""Bytes kept of its standard error: its last line says why it ended. Our choice."""
END_S = 1.0
"""How long it may take to exit by itself once its input is closed, and to disappear once it was killed."""


class Pipe:
    """The ends of a running program."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._left = ALLOWANCE
        self._complaints = b""
        """The end of its standard error."""

    @property
    def last_line(self) -> str:
        """The last line of its standard error; empty if it wrote none."""
        lines = self._complaints.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    async def read_complaints(self) -> None:
        """Read its standard error to the end, of which the last is kept."""
        stream = self._process.stderr
        while stream is not None and (read := await stream.read(COMPLAINTS)):
            self._complaints = (self._complaints + read)[-COMPLAINTS:]

    async def status(self) -> int | None:
        """Return its exit status, once it has closed its output; `None` if it goes on all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                return await self._process.wait()
        return None

    def allow(self) -> None:
        """Renew the program's allowance before a request."""
        self._left = ALLOWANCE

    async def write(self, line: bytes) -> None:
        """Send a line, without its terminator. Raises OSError when the program no longer reads."""
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line until the program closes its output. Raises McpError when it sends too much."""
        while line := await self._line():
            self._left -= len(line)
            if self._left < 0:
                raise McpError(f"it sent more than {ALLOWANCE:,} bytes for one request")
            yield line

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ValueError as exc:  # asyncio's error for a passed limit
            raise McpError(f"it sent more than {ALLOWANCE:,} bytes without a line break") from exc


@asynccontextmanager
async def open_pipe(program: ProgramServer) -> AsyncIterator[Pipe]:
    """Start *program* in a process group of its own; all of the group are gone afterwards.

    Raises McpError when it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *program.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(program.environ),
            cwd=program.folder,
            start_new_session=True,
            limit=ALLOWANCE,
        )
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise McpError(f"{program.command[0]} cannot be started: {reason}") from exc
    if process.stdin is None or process.stdout is None:
        raise McpError(f"{program.command[0]} was started without a pipe")
    try:
        yield Pipe(process, process.stdout, process.stdin)
    finally:
        with anyio.CancelScope(shield=True):
            process.stdin.close()  # which asks it to exit
            await _wait_for_exit(process, process.stdout)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await _wait_for_exit(process, process.stdout)


async def _wait_for_exit(process: asyncio.subprocess.Process, its_output: asyncio.StreamReader) -> None:
    """Return when the program is gone and its remaining output was discarded, or after a bound."""
    with suppress(TimeoutError):
        async with asyncio.timeout(END_S):
            while await its_output.read(ALLOWANCE):
                pass
            await process.wait()
