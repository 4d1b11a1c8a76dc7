"""Queues in memory: one per key, in order, with its front items in progress."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar

from msgspec import Struct, field

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Queue(Struct, Generic[T]):
    items: deque[T]
    in_hand: int = 0
    """Items at the front that are in progress: the head, and those that joined it."""
    has_passed: bool = False
    """The item at the front was moved there."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Queues(Generic[K, T]):
    """Items by key; a lane takes them from the front, and others may inspect them."""

    def __init__(self, may_pass: Callable[[T], bool] = lambda _: False) -> None:
        """*may_pass* tells the items that may be moved to the front."""
        self.may_pass = may_pass
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

    def advance(self, key: K) -> bool:
        """Move the first item that may pass the head to the front; return whether there is one. None is in progress."""
        queue = self._queues[key]
        place = next((at for at, item in enumerate(islice(queue.items, 1, None), 1) if self.may_pass(item)), 0)
        if place:
            item = queue.items[place]
            del queue.items[place]
            queue.items.appendleft(item)
            queue.has_passed = True
        return bool(place)

    def has_passed(self, key: K) -> bool:
        """Return whether the item at the front has passed others."""
        return key in self._queues and self._queues[key].has_passed

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
        queue.in_hand, queue.has_passed = 0, False
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
