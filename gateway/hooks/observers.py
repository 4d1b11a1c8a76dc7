"""This file tells handlers that only look on what happened: each in order, none waiting for another, nobody for any."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from gateway.hooks.event import Event

K = TypeVar("K", bound=Hashable)

MOST_WAITING = 100
"""How much waits for one handler; what comes on top is dropped and counted. Ours."""


class Observers(Generic[K]):
    """A queue a handler, and a task for each while something waits in it."""

    def __init__(self, tasks: asyncio.TaskGroup, hand: Callable[[K, Event[Any], object, int], Awaitable[None]]) -> None:
        """*hand* is given a handler, an event, its payload, and how many were dropped before; it raises nothing."""
        self._tasks = tasks
        self._hand = hand
        self._waiting: defaultdict[K, deque[tuple[Event[Any], object]]] = defaultdict(deque)
        self._missed: defaultdict[K, int] = defaultdict(int)
        self._running: dict[K, asyncio.Task[None]] = {}
        self._is_open = True

    def tell(self, hook: K, event: Event[Any], payload: object) -> None:
        """Put *payload* behind what *hook* has yet to hear."""
        waiting = self._waiting[hook]
        if not self._is_open or len(waiting) >= MOST_WAITING:
            self._missed[hook] += 1
            return
        waiting.append((event, payload))
        if hook not in self._running:
            self._running[hook] = self._tasks.create_task(self._work(hook))

    async def finish(self, grace_s: float) -> int:
        """Let handlers hear what waits, for *grace_s* seconds; return how much they did not."""
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
