"""A person at a terminal: commands run in a real one, are read as they are shown, and answered by typing."""

import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


class Prompt:
    """One command in a terminal of its own."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int) -> None:
        self.process = process
        self.shown = ""
        self._terminal = terminal
        self._read_until = 0
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(terminal, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._terminal)
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        self._news.set()

    async def sees(self, text: str) -> str:
        """Wait until *text* is shown after what was seen before; return everything up to its end."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (at := self.shown.find(text, self._read_until)) < 0:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{text!r} is not shown in:\n{self.shown}") from None
        self._read_until = at + len(text)
        return self.shown[: self._read_until]

    def types(self, text: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{text}\n".encode())

    async def ends(self, status: int = 0) -> str:
        """Wait for the command's end; return all that it has shown."""
        async with asyncio.timeout(PATIENCE_S):
            assert await self.process.wait() == status, self.shown
        while self._news.is_set():
            self._news.clear()
            await asyncio.sleep(0.05)
        return self.shown


@asynccontextmanager
async def prompt(*words: str, environ: Mapping[str, str] | None = None) -> AsyncIterator[Prompt]:
    """Run `strandline` with *words* in a terminal; a command that has not ended is asked to."""
    ours, theirs = pty.openpty()
    known = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *words, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**known, "TZ": "Europe/Berlin", **(environ or {})},
    )  # fmt: skip
    os.close(theirs)
    shown = Prompt(process, ours)
    try:
        yield shown
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        if process.returncode is None:
            process.terminate()
            async with asyncio.timeout(PATIENCE_S):
                await process.wait()
        os.close(ours)
        print(f"--- {' '.join(words)}\n{shown.shown}")
