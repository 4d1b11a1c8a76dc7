"""Queues work: one lane per key, one item at a time in a lane, in order; many lanes concurrently."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from gateway.runtime.clock import Clock

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(slots=True)
class _Queue(Generic[T]):
    items: deque[T]
    in_hand: int = 0
    """Items at the front that are in progress: the head, and those that joined it."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Queues(Generic[K, T]):
    """Items by key; a lane takes them from the front, and others may inspect them."""

    def __init__(self) -> None:
        self._queues: dict[K, _Queue[T]] = {}
        self.total = 0
        """Number of items in all queues."""

    def append(self, key: K, item: T) -> None:
        """Add *item* to the end of the queue of *key*."""
        self._queues.setdefault(key, _Queue(deque())).items.append(item)
        self.total += 1

    def held(self, key: K) -> int:
        """Return the number of items in the queue of *key*."""
        queue = self._queues.get(key)
        return len(queue.items) if queue else 0

    def begin(self, key: K) -> T:
        """Mark the head of a queue that is not empty as in progress; it stays in place until it is done."""
        queue = self._queues[key]
        queue.in_hand = 1
        return queue.items[0]

    def join(self, key: K, fits: Callable[[T], bool]) -> list[T]:
        """Mark the items right behind those in progress likewise, up to the first that does not fit."""
        queue, joined = self._queues.get(key), list[T]()
        while queue and queue.in_hand and queue.in_hand < len(queue.items) and fits(item := queue.items[queue.in_hand]):
            queue.in_hand += 1
            joined.append(item)
        return joined

    def in_hand(self, key: K) -> Sequence[T]:
        """Return the items in progress."""
        queue = self._queues.get(key)
        return list(islice(queue.items, queue.in_hand)) if queue else []

    def behind(self, key: K) -> Iterator[T]:
        """Yield the items behind those in progress, in order."""
        queue = self._queues.get(key)
        return islice(queue.items, queue.in_hand, None) if queue else iter(())

    def put_back(self, key: K) -> None:
        """Return the items in progress to waiting."""
        self._queues[key].in_hand = 0

    def done(self, key: K) -> None:
        """Remove the items in progress."""
        queue = self._queues[key]
        for _ in range(queue.in_hand):
            queue.items.popleft()
        self.total -= queue.in_hand
        queue.in_hand = 0
        if not queue.items:
            del self._queues[key]

    def woken(self, key: K) -> asyncio.Event:
        """Return the event that ends the wait of a queue that is not empty before the next attempt at its head."""
        return self._queues[key].woken

    def wake(self, key: K) -> None:
        """End that wait, if there is one."""
        if queue := self._queues.get(key):
            queue.woken.set()

    def __iter__(self) -> Iterator[tuple[K, int, T]]:
        """Yield each key with the number of items in its queue, and the oldest one."""
        for key, queue in self._queues.items():
            yield key, len(queue.items), queue.items[0]


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The result for an item that cannot be processed now: it stays at the head of its lane for another attempt."""

    delay_s: float
    next_wakes: bool = True
    """Whether the next item that arrives in the lane ends the wait."""


@dataclass(slots=True)
class _Lane:
    task: asyncio.Task[None] = field(init=False)
    is_working: bool = False
    """The head is being processed, not waiting for capacity or its next attempt."""
    wakes_for_next: bool = False


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
                retry = await self._try(key, lane)
                if retry is None:
                    self._queues.done(key)
                    if self._on_done is not None:
                        self._on_done(key)
                    continue
                self._queues.put_back(key)
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
                return await self._answer(self._queues.begin(key))
            finally:
                lane.is_working = False

    async def _pause(self, key: K, lane: _Lane, retry: RetryLater) -> None:
        if not self._is_open:
            return
        lane.wakes_for_next = retry.next_wakes
        await self.clock.wait(self._queues.woken(key), retry.delay_s)
        lane.wakes_for_next = False
