"""Delivery of events to observing handlers: in order for each, none waiting for another, no caller for any."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from gateway.hooks.event import HookEvent

K = TypeVar("K", bound=Hashable)

MOST_WAITING = 100
"""Longest queue of one handler; further events are dropped and counted. Our choice."""


class Observers(Generic[K]):
    """A queue for each handler, and a task for each non-empty queue."""

    def __init__(
        self, tasks: asyncio.TaskGroup, hand: Callable[[K, HookEvent[Any], object, int], Awaitable[None]]
    ) -> None:
        """*hand* takes a handler, an event, its payload, and the number of events dropped before; it raises nothing."""
        self._tasks = tasks
        self._hand = hand
        self._waiting: defaultdict[K, deque[tuple[HookEvent[Any], object]]] = defaultdict(deque)
        self._missed: defaultdict[K, int] = defaultdict(int)
        self._running: dict[K, asyncio.Task[None]] = {}
        self._is_open = True

    def tell(self, hook: K, event: HookEvent[Any], payload: object) -> None:
        """Append *payload* to the queue of *hook*."""
        waiting = self._waiting[hook]
        if not self._is_open or len(waiting) >= MOST_WAITING:
            self._missed[hook] += 1
            return
        waiting.append((event, payload))
        if hook not in self._running:
            self._running[hook] = self._tasks.create_task(self._work(hook))

    async def finish(self, grace_s: float) -> int:
        """Deliver the queued events for up to *grace_s* seconds; return how many were not delivered."""
        self._is_open = False
        if self._running:
            _, late = await asyncio.wait(list(self._running.values()), timeout=grace_s)
            for task in late:
                task.cancel()
        return sum(map(len, self._waiting.values())) + sum(self._missed.values())

    async def _work(self, hook: K) -> None:
        waiting = self._waiting[hook]
        try:
            while waiting:
                event, payload = waiting.popleft()
                await self._hand(hook, event, payload, self._missed.pop(hook, 0))
        finally:
            del self._running[hook]
