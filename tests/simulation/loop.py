"""Event loop whose every choice comes from a seed: the order of steps, the speed of threads and the time."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass, field
from random import Random
from typing import Any, SupportsIndex, TypeVar, TypeVarTuple, Unpack

LONGEST_CALL_S = 0.004
"""Seconds that blocking work usually takes at most."""
SLOW_CALL_S = 3.0
"""Seconds that it may take once in a while: a busy disk."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class StuckError(Exception):
    """Nothing is ready, and nothing will ever be."""


class SeededTask(asyncio.Task[Any]):
    """A task whose place in a set depends on its number, not on its address."""

    def __init__(self, number: int, coro: Any, *, loop: asyncio.AbstractEventLoop, context: Context | None) -> None:
        self._number = number
        super().__init__(coro, loop=loop, context=context)

    def __hash__(self) -> int:
        return self._number


@dataclass(slots=True)
class _Pool:
    """The work of one pool of threads."""

    width: int
    waiting: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = field(default_factory=deque)
    running: int = 0


class SeededLoop(asyncio.BaseEventLoop):
    """Runs one step at a time in virtual time, which jumps when nothing is ready; there are no sockets or threads.

    With a *disorder* above 0, a step is sometimes taken from among the ready ones; those of one task, and callbacks
    that belong to no task, keep their order. asyncio takes them first come, first served, so a failure under disorder
    counts as a fault of ours only if the order of arrival explains it too.
    """

    def __init__(self, choices: Random, start_s: float, disorder: float) -> None:
        super().__init__()
        self._choices = choices
        self._now = start_s
        self._disorder = disorder
        self._pools: dict[int, _Pool] = {}
        self._tasks = 0
        self._queue: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined]
        self._timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        self.steps = 0
        self.on_step: Callable[[int], None] = lambda _: None
        """Called with the number of each step before it is taken."""
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float | SupportsIndex, /) -> None:
        """Let *seconds* pass within a step: blocking code sleeps."""
        self._now += float(seconds)

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None
    ) -> asyncio.Task[Any]:
        self._tasks += 1
        return SeededTask(self._tasks, coro, loop=loop, context=context)

    def _run_once(self) -> None:
        if not self._queue:
            self._jump()
        while self._timers and self._timers[0].when() <= self._now:
            self._queue.append(heapq.heappop(self._timers))
        if self._queue:
            handle = self._next()
            if not handle.cancelled():
                self.steps += 1
                self.on_step(self.steps)
                handle._run()

    def _jump(self) -> None:
        while self._timers and self._timers[0].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise StuckError("no task can go on, and no timer runs")
        self._now = max(self._now, self._timers[0].when())

    def _next(self) -> asyncio.Handle:
        if len(self._queue) == 1 or self._choices.random() >= self._disorder:
            return self._queue.popleft()
        owners: dict[int, int] = {}
        for place, handle in enumerate(self._queue):
            owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
            owners.setdefault(id(owner) if isinstance(owner, asyncio.Task) else 0, place)
        place = self._choices.choice(list(owners.values()))
        handle = self._queue[place]
        del self._queue[place]
        return handle

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        if isinstance(executor, ThreadPoolExecutor) and executor._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        width = executor._max_workers if isinstance(executor, ThreadPoolExecutor) else 32
        pool = self._pools.setdefault(id(executor), _Pool(width))
        outcome = self.create_future()
        pool.waiting.append((outcome, lambda: func(*args)))
        self.call_soon(self._begin, pool)
        return outcome

    def _begin(self, pool: _Pool) -> None:
        while pool.waiting and pool.running < pool.width:
            outcome, work = pool.waiting.popleft()
            if not outcome.cancelled():
                pool.running += 1
                self.call_later(self._duration_s(), self._work, pool, outcome, work)

    def _work(self, pool: _Pool, outcome: asyncio.Future[Any], work: Callable[[], Any]) -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as exc:  # noqa: BLE001  # handed to whoever waits, as a pool of threads does
            failure = exc
        self.call_later(self._duration_s(), self._end, pool, outcome, result, failure)

    def _end(self, pool: _Pool, outcome: asyncio.Future[Any], result: Any, failure: Exception | None) -> None:
        pool.running -= 1
        if not outcome.cancelled():
            if failure is None:
                outcome.set_result(result)
            else:
                outcome.set_exception(failure)
        self._begin(pool)

    def _duration_s(self) -> float:
        return self._choices.uniform(0, SLOW_CALL_S if self._choices.random() < 0.01 else LONGEST_CALL_S)

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        """Nobody else runs who had to be woken."""
