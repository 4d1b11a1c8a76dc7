"""This file is what waits in memory: one queue a key, in order, its front in hand while it is worked on."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(slots=True)
class _Queue(Generic[T]):
    items: deque[T]
    in_hand: int = 0
    """How many at the front are worked on: the head, and what joined it."""


class Queues(Generic[K, T]):
    """Items by key; a lane takes them from the front, and others may ask what stands there."""

    def __init__(self) -> None:
        self._queues: dict[K, _Queue[T]] = {}
        self.total = 0
        """How many items all queues hold."""
        self.on_done: Callable[[K], None] = _nobody
        """Told when items of a key are done with."""

    def append(self, key: K, item: T) -> None:
        """Put *item* at the end of the queue of *key*."""
        self._queues.setdefault(key, _Queue(deque())).items.append(item)
        self.total += 1

    def held(self, key: K) -> int:
        """Return how many items the queue of *key* holds."""
        queue = self._queues.get(key)
        return len(queue.items) if queue else 0

    def begin(self, key: K) -> T:
        """Take the head of a queue that is not empty in hand; it stays where it is until it is done."""
        queue = self._queues[key]
        queue.in_hand = 1
        return queue.items[0]

    def join(self, key: K, fits: Callable[[T], bool]) -> list[T]:
        """Take in hand what stands right behind what is in hand already, up to the first that does not fit."""
        queue, joined = self._queues.get(key), list[T]()
        while queue and queue.in_hand and queue.in_hand < len(queue.items) and fits(item := queue.items[queue.in_hand]):
            queue.in_hand += 1
            joined.append(item)
        return joined

    def in_hand(self, key: K) -> Sequence[T]:
        """Return what is worked on."""
        queue = self._queues.get(key)
        return list(islice(queue.items, queue.in_hand)) if queue else []

    def behind(self, key: K) -> Iterator[T]:
        """Give what waits behind what is in hand, in order."""
        queue = self._queues.get(key)
        return islice(queue.items, queue.in_hand, None) if queue else iter(())

    def put_back(self, key: K) -> None:
        """Let all wait again that was in hand."""
        self._queues[key].in_hand = 0

    def done(self, key: K) -> None:
        """Remove what was in hand."""
        queue = self._queues[key]
        for _ in range(queue.in_hand):
            queue.items.popleft()
        self.total -= queue.in_hand
        queue.in_hand = 0
        if not queue.items:
            del self._queues[key]
        self.on_done(key)

    def __iter__(self) -> Iterator[tuple[K, int, T]]:
        """Give each key with how many items its queue holds, and the oldest."""
        for key, queue in self._queues.items():
            yield key, len(queue.items), queue.items[0]


def _nobody(_: object) -> None:
    """Nobody wants to know."""
