"""Runs blocking work on threads of its own and returns the results to the event loop.

A turn makes a dozen such calls. `loop.run_in_executor` takes twice the time for one: it needs two futures, a semaphore
and three locks for each.
"""

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class _ThreadTask(Generic[T]):
    work: Callable[[], T]
    outcome: asyncio.Future[T]


_Tasks = SimpleQueue[_ThreadTask[object] | None]


class Threads:
    """Runs blocking work on threads of its own; by default on a single one, so one piece at a time."""

    def __init__(self, name: str, count: int = 1) -> None:
        """The threads start with the first call."""
        self._tasks: _Tasks = SimpleQueue()
        self._threads = [
            Thread(target=_run, args=(self._tasks,), name=f"{name}_{number}", daemon=True) for number in range(count)
        ]
        self._has_begun = False
        self._end = weakref.finalize(self, _end, self._tasks, count)

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.begin(partial(function, *args, **kwargs))

    def begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run *work* when a thread is free for it, unless its outcome was cancelled by then.

        Raises RuntimeError without effect once these threads were closed or if the system refuses a thread.
        """
        if not self._end.alive:
            raise RuntimeError(f"the threads of {self._threads[0].name} are closed")
        if not self._has_begun:
            for thread in self._threads:
                if thread.ident is None:
                    thread.start()
            self._has_begun = True
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._tasks.put(_ThreadTask(work, outcome))  # type: ignore[arg-type]  # each pair agrees on its own T
        return outcome

    def close(self, *, wait: bool = True) -> None:
        """End the threads once the work begun is finished; return then, or at once without *wait*."""
        self._end()
        if wait:
            for thread in self._threads:
                if thread.ident is not None:
                    thread.join()


def _end(tasks: _Tasks, count: int) -> None:
    for _ in range(count):
        tasks.put(None)


def _run(tasks: _Tasks) -> None:
    while (task := tasks.get()) is not None:
        if not task.outcome.cancelled():
            _do(task)
        del task  # its references must not live until the next one


def _do(task: _ThreadTask[object]) -> None:
    try:
        settle: Callable[[], None] = partial(_succeed, task.outcome, task.work())
    except StopIteration as exc:  # a future accepts none: it would stay open, and its waiter with it
        settle = partial(_fail, task.outcome, RuntimeError(f"an errand raised {exc!r}"))
    except BaseException as exc:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
        settle = partial(_fail, task.outcome, exc)
    with suppress(RuntimeError):  # the loop has closed: nobody waits any more
        task.outcome.get_loop().call_soon_threadsafe(settle)


def _succeed(outcome: asyncio.Future[object], result: object) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: asyncio.Future[object], exc: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(exc)
