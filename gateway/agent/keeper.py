"""This file keeps an agent's history beside its turns: one commit a turn, and never in a turn's way."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import ParamSpec, TypeVar

import structlog

from gateway.agent.tools.tool import Run
from gateway.errors import StoreError
from workspaces.errors import WorkspaceError
from workspaces.history import History, Origin, Repair, RepairReason

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()

UNUSABLE = "history_unusable"
"""Counted whenever something could not be recorded; a later commit takes in what stands in the files then."""
PATIENCE_S = 2.0
"""How long a turn, right after the start, waits until the edits of the owner are recorded: apart from its own."""


@dataclass(frozen=True, slots=True)
class _Changes:
    """What one turn did to the files."""

    origin: Origin
    paths: dict[PurePosixPath, None] = field(default_factory=dict)


class Keeper:
    """Commits what turns change. A history that cannot be used is counted and told, and stops nobody."""

    def __init__(self, open_history: Callable[[], History], run: Run, count: Callable[[str], Awaitable[None]]) -> None:
        """*run* has a thread of the history's own: to open, to look through all files and to pack takes seconds.

        *count* takes a reason code for the ledger.
        """
        self._open_history = open_history
        self._run = run
        self._count = count
        self._opening = asyncio.Lock()
        self._begun = asyncio.Event()
        self._history: History | None = None
        self._writing: _Changes | None = None
        self._turns: dict[str, _Changes] = {}
        self._ended: deque[_Changes] = deque()
        self._has_ended = asyncio.Event()
        self._repairs_counted = 0
        self.trouble = ""
        """Why nothing is recorded at the moment, in words."""

    # --- who changed what

    def noting(self, run: Run, turn: str, origin: Origin) -> Run:
        """Return *run*, which has the workspace's only thread, so that what changes by it counts as this turn's."""
        changes = self._turns.setdefault(turn, _Changes(origin))

        def noted(work: Callable[[], T]) -> T:
            self._writing = changes
            try:
                return work()
            finally:
                self._writing = None

        async def run_noting(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await run(noted, partial(function, *args, **kwargs))

        return run_noting

    def changed(self, path: PurePosixPath) -> None:
        """Note that the file at *path* may have changed; called on the thread that wrote."""
        if self._writing is not None:
            self._writing.paths[path] = None

    def ended(self, turn: str) -> None:
        """Say that the turn is over, for now: what it changed becomes one commit, soon."""
        changes = self._turns.pop(turn, None)
        if changes is not None and changes.paths:
            self._ended.append(changes)
            self._has_ended.set()

    # --- at work

    async def begin(self) -> None:
        """Record what changed while nobody looked: before any turn writes, unless that takes too long."""
        await self._attempt(_record_all)
        self._begun.set()

    async def work(self) -> None:
        """Begin, then record what each turn changed once it has ended; until cancelled."""
        await self.begin()
        while True:
            await self._has_ended.wait()
            self._has_ended.clear()
            await self._record_ended()

    async def maintain(self, clock: Callable[[], datetime]) -> None:
        """Pack the history once a month; called every day. *clock* is read once it is open."""
        await self._attempt(lambda history: history.maintain(clock()))

    async def finish(self) -> None:
        """Record what is left when no turn runs any more, the owner's own edits too."""
        for turn in list(self._turns):
            self.ended(turn)
        await self._record_ended()
        await self._attempt(_record_all)

    async def history(self) -> History:
        """Return the history, opened. Raises HistoryUnusableError and WorkspaceUnusableError."""
        async with self._opening:
            if self._history is None:
                self._history = await self._run(self._open_history)
            return self._history

    async def ready(self) -> History | None:
        """Return the history for a turn's tools, once it was begun; `None` where it cannot be used."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._begun.wait()
        return self._history

    async def ask(self, question: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *question* about the history on its thread: what takes long there holds up no turn."""
        return await self._run(question, *args, **kwargs)

    def repairs(self) -> list[str]:
        """Say, a line each, what was found damaged since the start."""
        return [_in_words(repair) for repair in self._history.repairs] if self._history else []

    async def _record_ended(self) -> None:
        while self._ended:
            changes = self._ended[0]
            await self._attempt(partial(_record, changes=changes))
            self._ended.popleft()  # only now: who is cut off here goes on with it in `finish`

    async def _attempt(self, work: Callable[[History], object]) -> None:
        try:
            await self._run(work, await self.history())
            self.trouble = ""
        except WorkspaceError as exc:
            log.warning("the history was not written", detail=str(exc))
            self.trouble = str(exc)
            await self._tell(UNUSABLE)
        repairs = self._history.repairs if self._history else ()
        for repair in repairs[self._repairs_counted :]:
            log.warning("history repaired", reason=repair.reason)
            await self._tell(repair.reason)
        self._repairs_counted = len(repairs)

    async def _tell(self, reason: str) -> None:
        with suppress(StoreError):  # the store tells of its own trouble
            await self._count(reason)


def _record_all(history: History) -> None:
    history.record_all(None, None)


def _record(history: History, changes: _Changes) -> None:
    history.record(list(changes.paths), None, changes.origin)


def _in_words(repair: Repair) -> str:
    if repair.reason is RepairReason.STALE_LOCK:
        return "history: a lock that a crash had left was removed"
    what = "was damaged" if repair.reason is RepairReason.DAMAGED else "was not this agent's"
    begun = "goes on from what could be read" if repair.taken_over else "was begun anew from the files"
    return f"history: it {what} and {begun}; the old one is kept as {repair.kept_as}"
