"""CPU time of an event loop's callbacks, independent of the machine's load."""

import asyncio
import gc
import time
from types import TracebackType
from typing import Any, Self


class LoopProbe:
    """Measures every callback of the running loop while the block runs.

    Time is the thread's own CPU time: a callback that only waited for a busy machine does not count, and a sleeping one
    is blockbuster's task. Objects left by earlier tests do not count either, though garbage collection would visit
    them.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.culprit = ""
        self.callbacks = 0

    def __enter__(self) -> Self:
        gc.collect()
        gc.freeze()
        self._run = asyncio.Handle._run
        run = self._run

        def measured(handle: Any) -> None:
            began = time.thread_time()
            run(handle)
            self._note(handle, time.thread_time() - began)

        asyncio.Handle._run = measured  # type: ignore[method-assign, assignment]  # the one place all callbacks go through
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.Handle._run = self._run  # type: ignore[method-assign]
        gc.unfreeze()

    def _note(self, handle: Any, spent_s: float) -> None:
        self.callbacks += 1
        if spent_s > self.longest_s:
            self.longest_s, self.culprit = spent_s, f"{_step_of(handle)}: {1000 * spent_s:.1f} ms"


def _step_of(handle: Any) -> str:
    """Return the name of a callback's step: its task with the line of the next wait, or itself."""
    task = getattr(handle._callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return repr(handle)
    stack = task.get_stack(limit=1)
    return f"{task.get_coro()} at {stack[0] if stack else 'its end'}"
