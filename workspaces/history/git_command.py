"""Git's own program on one bare repository: without anybody's configuration, hooks or prompts, and with a timeout."""

import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from workspaces.errors import HistoryUnusableError

_SETTINGS = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=false", "gc.auto=0")
_ALWAYS = (*(part for setting in _SETTINGS for part in ("-c", setting)), "--no-pager")
_CHUNK = 65_536
_SAID = 300
"""Longest part of git's error output in our messages, in characters."""


class Git:
    """Git's program for one bare repository. Raises HistoryUnusableError on failure or timeout."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir

    def run(self, *arguments: str, deadline_s: float) -> None:
        """Run git until it ends."""
        for _ in self.fields(*arguments, deadline_s=deadline_s):
            pass

    def succeeds(self, *arguments: str, deadline_s: float) -> bool:
        """Tell whether git succeeds; past its deadline it raises as `run` does."""
        with self._start(arguments) as (process, _):
            for _ in _pieces(process, time.monotonic() + deadline_s):
                pass
            return process.wait() == 0

    def fields(self, *arguments: str, deadline_s: float) -> Generator[bytes]:
        """Yield the NUL-separated fields of git's output while it runs; closing the iterator ends git."""
        with self._start(arguments) as (process, complaint):
            rest = b""
            for piece in _pieces(process, time.monotonic() + deadline_s):
                *whole, rest = (rest + piece).split(b"\0")
                yield from whole
            if process.wait():
                complaint.seek(0)
                said = complaint.read(_SAID).decode(errors="replace").strip()
                raise HistoryUnusableError(f"git {arguments[0]} failed on {self._git_dir}: {said}")
            if rest:
                yield rest

    @contextmanager
    def _start(self, arguments: tuple[str, ...]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
        program = shutil.which("git")
        if program is None:
            raise HistoryUnusableError("the history needs the program git, which is not installed")
        with tempfile.TemporaryFile() as complaint:
            process = subprocess.Popen(  # noqa: S603 - no shell; arguments are ours, paths follow "--", ids are hex
                [program, *_ALWAYS, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaint,
                cwd="/",
                env=self._environment(),
                start_new_session=True,
            )
            try:
                yield process, complaint
            finally:
                _end(process)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "LC_ALL": "C",
            "GIT_DIR": str(self._git_dir),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }


def _pieces(process: subprocess.Popen[bytes], end: float) -> Iterator[bytes]:
    """Yield the output of *process* as it arrives, until it closes its output or the clock reaches *end*."""
    output = process.stdout
    if output is None:
        return
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(max(end - time.monotonic(), 0)):
            piece = os.read(output.fileno(), _CHUNK)
            if not piece:
                return
            yield piece
    raise HistoryUnusableError("git took too long; nothing was lost, try again later")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and its child processes, and close its output."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
