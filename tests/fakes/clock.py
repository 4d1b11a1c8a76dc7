"""Clock that stands still until a test advances it."""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)


class ManualClock:
    """Implements `Clock`; `advance` lets time pass for all waiting tasks."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self._waits: dict[asyncio.Timeout, datetime] = {}
        self._changed = asyncio.Condition()

    def now(self) -> datetime:
        return self._now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits[wait] = self._now + timedelta(seconds=seconds)
                await self._tell()
                await event.wait()
        except TimeoutError:
            pass
        finally:
            self._waits.pop(wait, None)

    async def waiters(self, count: int) -> None:
        """Return once *count* tasks wait for this clock."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._waits) == count)

    def waits(self) -> list[float]:
        """Return the remaining wait of each waiting task in seconds, shortest first."""
        return sorted((end - self._now).total_seconds() for end in self._waits.values())

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass."""
        self._now += timedelta(seconds=seconds)
        for wait in [each for each, end in self._waits.items() if end <= self._now]:
            del self._waits[wait]
            wait.reschedule(asyncio.get_running_loop().time())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
