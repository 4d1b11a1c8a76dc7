"""The memory worker's loop: one thread serves all requests, searches between the steps of indexing.

Indexing proceeds in small steps, and a search that arrives is served between two of them. Missing provider vectors are
fetched when the worker is idle.
"""

import logging
import math
import queue
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from workspaces.memory.index.engine import EngineAwayError
from workspaces.memory.index.request_handler import CLOSE_AFTER_S, RequestHandler, Work
from workspaces.memory.wire import Frame
from workspaces.memory_trim import EVERY_S, give_back, wait_s

BUSY_EVERY_S = 1.0
"""Interval at which a long request reports that it is alive."""
FULL_DISK_EVERY_S = 600.0
"""Least interval between two lines of the log about a full disk, which each change of a note meets. Our choice."""
_FULL_DISK = ("No space left on device", "disk is full", "quota exceeded")
"""Texts of the system's, SQLite's and the engine's errors: the engine's have no number."""
SETTLE_EVERY_S = 1.0
"""Interval of checking whether a failed provider may be called again."""
_log = logging.getLogger(__name__)

Send = Callable[[Frame], None]
GiveBack = Callable[[], float]


class _QueuedCall(Struct):
    id: int | None
    """`None`: no answer expected."""
    work: Work
    spoke_at: float
    folder: str = ""


class Loop:
    """Serves requests in order, with short ones between the steps of long ones."""

    def __init__(
        self, handler: RequestHandler, send: Send, clock: Callable[[], float], give_back: GiveBack = give_back
    ) -> None:
        """*give_back* frees unused memory and returns the seconds that it took."""
        self._handler = handler
        self._send = send
        self._clock = clock
        self._give_back = give_back
        self._jobs: deque[_QueuedCall] = deque()
        self._settling: _QueuedCall | None = None
        self._asked_at = clock()
        self._pause_s = EVERY_S
        """Delay between work and freeing memory."""
        self._giving_back_at = math.inf
        """Time of the next release; never, if there was no work since the last one."""
        self._told_full_at = -math.inf

    def run(self, requests: "queue.SimpleQueue[Frame | None]") -> None:
        """Serve until `None` arrives, or all indexes were closed after long disuse.

        A request that arrives meanwhile is lost; the gateway sends it again to the next worker.
        """
        while True:
            is_busy = bool(self._jobs or self._settling)
            if not self._settling:
                self._handler.close_surplus({job.folder for job in self._jobs})
            try:
                request = requests.get(block=not is_busy, timeout=None if is_busy else self._idle_s())
            except queue.Empty:
                self._step() if is_busy else self._rest()
                if self._is_over():
                    return
                continue
            if request is None:
                return
            self._begin(request)

    def _idle_s(self) -> float:
        """Return the time until the next task."""
        left_s = self._asked_at + CLOSE_AFTER_S - self._clock()
        idle_s = SETTLE_EVERY_S if self._handler.may_owe else left_s if left_s > 0 else CLOSE_AFTER_S
        return max(min(idle_s, self._giving_back_at - self._clock()), 0.0)

    def _rest(self) -> None:
        """Use idle time: close unused indexes, free memory, fetch missing vectors."""
        self._handler.close_unused()
        if self._clock() >= self._giving_back_at:
            self._pause_s, self._giving_back_at = wait_s(self._give_back()), math.inf
        if self._handler.is_owing:
            self._settling = _QueuedCall(None, self._handler.settle(), self._clock())

    def _is_over(self) -> bool:
        """Tell whether nothing was asked for long and nothing is left to do."""
        is_quiet = self._clock() - self._asked_at >= CLOSE_AFTER_S
        return is_quiet and not (self._jobs or self._settling or self._handler.is_in_use)

    def _begin(self, request: Frame) -> None:
        self._asked_at = self._clock()
        self._giving_back_at = min(self._giving_back_at, self._clock() + self._pause_s)
        long = self._handler.long.get(request["op"])
        work = long(request) if long else _answer_at_once(self._handler, request)
        job = _QueuedCall(request["id"], work, self._clock(), request.get("folder", ""))
        if not self._advance(job):  # a long one's first step passes its texts to the model, so that none waits
            self._jobs.append(job)

    def _step(self) -> None:
        self._speak()
        if self._jobs:
            if self._advance(self._jobs[0]):
                self._jobs.popleft()
        elif self._settling and self._advance(self._settling):
            self._settling = None

    def _advance(self, job: _QueuedCall) -> bool:
        """Run the next step of *job* and tell whether it was the last."""
        try:
            next(job.work)
        except StopIteration as finished:
            self._reply(job, {"done": finished.value})
            return True
        except EngineAwayError as exc:
            _log.warning("a memory request failed: %s", exc)
            self._reply(job, {"failed": str(exc)})
            return True
        except Exception as exc:  # noqa: BLE001 — the border of a request: it fails, the others go on
            self._reply(job, {"failed": self._explain(job, exc)})
            return True
        return False

    def _explain(self, job: _QueuedCall, exc: Exception) -> str:
        """Log why *job* failed: an error of ours with its traceback, the disk's in a line and seldom. Return it."""
        if any(each in str(exc) for each in _FULL_DISK):
            told = (
                f"the disk that holds {job.folder or 'the index'} is full; free some space and it continues by itself"
            )
        elif isinstance(exc, OSError) and exc.filename:
            told = f"{exc.filename} cannot be used ({exc.strerror}); check the path, its owner and its permissions"
        else:
            _log.error("a memory request failed", exc_info=exc)
            return f"{type(exc).__name__}: {exc}"
        if self._clock() >= self._told_full_at + FULL_DISK_EVERY_S:
            self._told_full_at = self._clock()
            _log.error("new and changed notes are not indexed: %s", told)
        return told

    def _speak(self) -> None:
        """Report at intervals, for the current job and all that wait behind it, that the worker is alive."""
        now = self._clock()
        for job in self._jobs:
            if now - job.spoke_at > BUSY_EVERY_S:
                job.spoke_at = now
                self._reply(job, {"busy": True})

    def _reply(self, job: _QueuedCall, reply: Frame) -> None:
        if job.id is not None:
            self._send({"id": job.id, **reply})


def _answer_at_once(handler: RequestHandler, request: Frame) -> Work:
    yield from ()
    return handler.answer(request)
