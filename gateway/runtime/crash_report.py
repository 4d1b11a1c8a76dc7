"""Report of a run that crashed or froze: the stacks at that moment, for the owner and for the next start.

A process that is killed from outside leaves none. The report is written below Python, so that code that holds the
interpreter, such as a slow pattern, cannot keep it from being written.
"""

import asyncio
import faulthandler
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

import structlog

log = structlog.get_logger()

FROZEN_S = 3.0
"""The event loop counts as frozen after this time without a step; a probe of a supervisor takes longer. Our choice."""
STEP_S = 1.0
EARLIER = ".earlier"
"""Ending of the report of the last run that had one."""


def has_crashed(path: Path) -> bool:
    """Return whether the run that wrote its report to *path* crashed, or ended while it was frozen."""
    with suppress(OSError):
        return path.stat().st_size > 0
    return False


@asynccontextmanager
async def reporting(path: Path) -> AsyncIterator[None]:
    """Write to *path* where this process crashes or freezes while the block runs; keep an earlier report beside it.

    It takes over the process's `faulthandler`. A report that cannot be written stops nothing.
    """
    try:
        report = _new_report(path)
    except OSError as exc:
        log.warning("crashes cannot be reported", path=str(path), why=str(exc))
        yield
        return
    with report as file:
        faulthandler.enable(file)
        steps = asyncio.create_task(_step(file))
        try:
            yield
        finally:
            steps.cancel()
            faulthandler.cancel_dump_traceback_later()
            faulthandler.disable()
            file.truncate(0)


def _new_report(path: Path) -> IO[str]:
    """Open an empty report; one that the last run wrote stays under another name. Raises OSError."""
    if has_crashed(path):
        earlier = path.with_name(path.name + EARLIER)
        path.replace(earlier)
        log.warning("the last run crashed or froze; its stacks are kept", path=str(earlier))
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    return os.fdopen(number, "w")


async def _step(file: IO[str]) -> None:
    """Put off the report while the event loop runs, and log one that was written although it runs again."""
    while True:
        faulthandler.dump_traceback_later(FROZEN_S, file=file)
        await asyncio.sleep(STEP_S)
        if os.fstat(file.fileno()).st_size:
            log.warning("the event loop was frozen", seconds=FROZEN_S)
            os.ftruncate(file.fileno(), 0)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
