"""Runs blocking work on threads and returns the results to the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import Struct

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Runs blocking work on threads of its own; by default on a single one, so one piece at a time."""

    def __init__(self, name: str, count: int = 1, *, pool: Executor | None = None) -> None:
        """The threads start when they are needed; *pool* lends its own."""
        self._pool = pool or ThreadPoolExecutor(count, name)

    def in_order(self) -> "Threads":
        """Return threads that run one piece of work at a time, in order, whichever of these is free for it."""
        return Threads("", pool=_SerialExecutor(self._pool))

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


class _SerialExecutor(Executor):
    """Runs one piece of work after the other on the threads of another executor; an idle one costs no thread."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._lock = Lock()
        self._waiting = deque[tuple[Future[Any], Callable[[], Any]]]()
        self._run: Future[None] | None = None
        self._is_working = self._is_closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        outcome = Future[T]()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("these threads are closed")
            if self._run is None:
                self._run = self._pool.submit(self._work)
            self._waiting.append((outcome, partial(fn, *args, **kwargs)))
        return outcome

    def _work(self) -> None:
        with self._lock:
            if self._is_working:  # a pool that was refused a thread has kept an earlier call
                return
            self._is_working = True
        while True:
            with self._lock:
                if not self._waiting:
                    self._run, self._is_working = None, False
                    return
                outcome, work = self._waiting.popleft()
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(work())
                except BaseException as exc:  # noqa: BLE001 - as ThreadPoolExecutor does
                    outcome.set_exception(exc)
            del outcome, work  # or an idle lane would hold on to the last of them

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_closed, run = True, self._run
        if wait and run is not None:
            run.result()


class _ThreadTask(Struct, Generic[T]):
    work: Callable[[], T]
    is_unwanted: Callable[[], bool] = bool

    def __call__(self) -> T:
        if self.is_unwanted():
            raise RuntimeError("nobody waits for it")
        try:
            return self.work()
        except StopIteration as exc:  # a future accepts none: it would stay open, and its waiter with it
            raise RuntimeError(f"an errand raised {exc!r}") from exc
