"""Runs blocking work on threads of its own and returns the results to the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Runs blocking work on threads of its own; by default on a single one, so one piece at a time."""

    def __init__(self, name: str, count: int = 1) -> None:
        """The threads start when they are needed."""
        self._pool = ThreadPoolExecutor(count, name)

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.begin(partial(function, *args, **kwargs))

    def begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run *work* when a thread is free for it, unless its outcome was cancelled by then.

        Raises RuntimeError without effect once these threads were closed or if the system refuses a thread.
        """
        task = _ThreadTask(work)
        try:
            outcome = asyncio.get_running_loop().run_in_executor(self._pool, task)
        except RuntimeError:
            task.is_unwanted = lambda: True  # the pool has kept it, and would run it once there is a thread
            raise
        task.is_unwanted = outcome.cancelled  # the pool hears of it only in the loop's next round
        return outcome

    def close(self, *, wait: bool = True) -> None:
        """End the threads once the work begun is finished; return then, or at once without *wait*."""
        self._pool.shutdown(wait)


@dataclass(slots=True)
class _ThreadTask(Generic[T]):
    work: Callable[[], T]
    is_unwanted: Callable[[], bool] = bool

    def __call__(self) -> T:
        if self.is_unwanted():
            raise RuntimeError("nobody waits for it")
        try:
            return self.work()
        except StopIteration as exc:  # a future accepts none: it would stay open, and its waiter with it
            raise RuntimeError(f"an errand raised {exc!r}") from exc
