"""Queues work: one lane per key, one item at a time in a lane, in order; many lanes concurrently."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from msgspec import Struct

from gateway.runtime.clock import Clock
from gateway.runtime.queues import Queues

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RetryLater(Struct, frozen=True):
    """The result for an item that cannot be processed now: it stays at the head of its lane for another attempt."""

    delay_s: float
    next_wakes: bool = True
    """Whether the next item that arrives in the lane ends the wait."""
    lets_pass: bool = False
    """Whether items that may pass it are done during the wait; they do not end it."""


@dataclass(slots=True)
class _Lane:
    task: asyncio.Task[None] = field(init=False)
    is_working: bool = False
    """The head is being processed, not waiting for capacity or its next attempt."""
    wakes_for_next: bool = False
    is_due: bool = False
    """An item that may not pass the head has ended its wait."""


class Lanes(Generic[K, T]):
    """Processes items by calling *answer*, at most *at_once* concurrently.

    A lane's task ends when its queue is empty. *answer* may let waiting items join the head: they are done together. It
    handles its errors: an exception that it raises is a defect, and ends the task group. Waiting items are kept in
    memory only; they are durable elsewhere.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        answer: Callable[[T], Awaitable[RetryLater | None]],
        clock: Clock,
        at_once: int = 64,
        queues: Queues[K, T] | None = None,
        on_done: Callable[[K], None] | None = None,
    ) -> None:
        """Waiting items are in *queues*, which *answer* may inspect; the default is a new object.

        *on_done* is called when items of a key are done.
        """
        self._queues = queues or Queues()
        self._tasks = tasks
        self._answer = answer
        self._on_done = on_done
        self.clock = clock
        self._places = asyncio.Semaphore(at_once)
        self._lanes: dict[K, _Lane] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_open = True
        self._starts_queued = True

    def submit(self, key: K, item: T) -> None:
        """Add *item* to the end of the lane of *key*; after `drain` it is left to its durable storage."""
        if not self._is_open:
            return
        self._queues.append(key, item)
        lane = self._lanes.get(key)
        if lane is None:
            self._begin(key)
        elif lane.wakes_for_next:
            lane.is_due = lane.is_due or not self._queues.may_pass(item)
            self._queues.wake(key)

    def wake(self, is_meant: Callable[[K], bool]) -> None:
        """End the wait for the next attempt in every lane whose key matches *is_meant*."""
        for key in filter(is_meant, self._lanes):
            self._queues.wake(key)

    def standing(self) -> list[tuple[K, bool, int]]:
        """Return each lane with work: its key, whether its head is in progress, and the number of its items."""
        return [(key, lane.is_working, self._queues.held(key)) for key, lane in self._lanes.items()]

    async def idle(self) -> None:
        """Return once no lane has anything to do, now or later."""
        await self._is_idle.wait()

    async def drain(self, grace_s: float, *, finish_queued: bool = False) -> list[T]:
        """Accept no new items, let work finish for *grace_s* seconds, then cancel it; return the cancelled items.

        Items that wait in a lane are begun only with *finish_queued*; one that waits for its next attempt never is.
        """
        self._is_open = False
        self._starts_queued = finish_queued
        for key in self._lanes:
            self._queues.wake(key)
        tasks = [lane.task for lane in self._lanes.values()]
        if not tasks:
            return []
        _, late = await asyncio.wait(tasks, timeout=grace_s)
        cut = [item for key, lane in self._lanes.items() if lane.is_working for item in self._queues.in_hand(key)]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return cut

    def _begin(self, key: K) -> None:
        lane = self._lanes[key] = _Lane()
        self._is_idle.clear()
        lane.task = self._tasks.create_task(self._work(key, lane), name=f"lane {key}")

    async def _work(self, key: K, lane: _Lane) -> None:
        try:
            while self._queues.held(key) and self._starts_queued:
                if (retry := await self._try(key, lane)) is not None:
                    await self._pause(key, lane, retry)
                    if not self._is_open:
                        return
        finally:
            del self._lanes[key]
            if not self._lanes:
                self._is_idle.set()

    async def _try(self, key: K, lane: _Lane) -> RetryLater | None:
        async with self._places:
            if not self._starts_queued:  # closed while it waited for capacity
                return RetryLater(0)
            self._queues.woken(key).clear()
            lane.is_working = True
            try:
                retry = await self._answer(self._queues.begin(key))
            finally:
                lane.is_working = False
        if retry is not None:
            self._queues.put_back(key)
            return retry
        self._queues.done(key)
        if self._on_done is not None:
            self._on_done(key)
        return None

    async def _pause(self, key: K, lane: _Lane, retry: RetryLater) -> None:
        """Wait for the next attempt at the head, and do what may pass it meanwhile."""
        due, has_waited = self.clock.now() + timedelta(seconds=retry.delay_s), False
        lane.wakes_for_next, lane.is_due = retry.next_wakes, False
        while self._is_open and not lane.is_due:
            if retry.lets_pass and self._queues.advance(key):
                has_waited = False
                if await self._try(key, lane) is not None:
                    break
            elif has_waited:
                break
            else:
                left = max((due - self.clock.now()).total_seconds(), 0)
                await self.clock.wait(self._queues.woken(key), min(left, retry.delay_s))  # a clock may be set back
                has_waited = True
        lane.wakes_for_next = False
