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
class _Errand(Generic[T]):
    work: Callable[[], T]
    outcome: asyncio.Future[T]


_Errands = SimpleQueue[_Errand[object] | None]


class Threads:
    """Runs blocking work on threads of its own; by default on a single one, so one piece at a time."""

    def __init__(self, name: str, count: int = 1) -> None:
        """The threads start with the first call."""
        self._errands: _Errands = SimpleQueue()
        self._threads = [
            Thread(target=_run, args=(self._errands,), name=f"{name}_{number}", daemon=True) for number in range(count)
        ]
        self._has_begun = False
        self._end = weakref.finalize(self, _end, self._errands, count)

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
        self._errands.put(_Errand(work, outcome))  # type: ignore[arg-type]  # each pair agrees on its own T
        return outcome

    def close(self, *, wait: bool = True) -> None:
        """End the threads once the work begun is finished; return then, or at once without *wait*."""
        self._end()
        if wait:
            for thread in self._threads:
                if thread.ident is not None:
                    thread.join()


def _end(errands: _Errands, count: int) -> None:
    for _ in range(count):
        errands.put(None)


def _run(errands: _Errands) -> None:
    while (errand := errands.get()) is not None:
        if not errand.outcome.cancelled():
            _do(errand)
        del errand  # its references must not live until the next one


def _do(errand: _Errand[object]) -> None:
    try:
        settle: Callable[[], None] = partial(_succeed, errand.outcome, errand.work())
    except StopIteration as exc:  # a future accepts none: it would stay open, and its waiter with it
        settle = partial(_fail, errand.outcome, RuntimeError(f"an errand raised {exc!r}"))
    except BaseException as exc:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
        settle = partial(_fail, errand.outcome, exc)
    with suppress(RuntimeError):  # the loop has closed: nobody waits any more
        errand.outcome.get_loop().call_soon_threadsafe(settle)


def _succeed(outcome: asyncio.Future[object], result: object) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: asyncio.Future[object], exc: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(exc)
