"""The time, and waiting, so that a test can control both."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeVar

T = TypeVar("T")

SKEW = timedelta(hours=1)
"""How far the clocks of two machines, or the rules of a zone, are believed to differ. Our choice."""


def utc_now() -> datetime:
    """Return the time in UTC, with its zone."""
    return datetime.now(UTC)


def is_ahead(moment: datetime | None, now: datetime) -> bool:
    """Return whether *moment*, stored as past, is yet to come: the clock that gave it was ahead."""
    return moment is not None and moment - now > SKEW


class Clock(Protocol):
    """The time, and waiting."""

    def now(self) -> datetime:
        """Return the time in UTC, with its zone."""

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Return when *event* is set or *seconds* have passed, whichever comes first."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return utc_now()

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


async def pause(clock: Clock, seconds: float) -> None:
    """Return when *seconds* of *clock* have passed."""
    await clock.wait(asyncio.Event(), seconds)


async def first_of(*events: asyncio.Event) -> None:
    """Return once one of *events* is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def unless(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """Return the result of *work*, run in the caller's own task; once *stop* is set, cancel it and return `None`."""
    scope = asyncio.timeout(None)
    is_over = False

    def cancel(waited: asyncio.Future[Literal[True]]) -> None:
        if not (waited.cancelled() or is_over):  # both may happen in one iteration of the loop
            scope.reschedule(asyncio.get_running_loop().time())

    stopping = asyncio.ensure_future(stop.wait())
    stopping.add_done_callback(cancel)
    try:
        async with scope:
            return await work
    except TimeoutError:
        if not scope.expired():
            raise
        return None
    finally:
        is_over = True
        stopping.cancel()
