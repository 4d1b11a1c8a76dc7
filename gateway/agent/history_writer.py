"""Version history of an agent's files: one commit a turn, without delaying turns.

Edits by the owner's editor become a commit of their own, soon after they are noticed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

import structlog
from msgspec import structs

from gateway.agent.cut_files import CutFiles
from gateway.agent.file_trouble import FileTroubleNotices, UnwritableFiles
from gateway.errors import StoreError
from workspaces.errors import WorkspaceError, WorkspaceUnusableError
from workspaces.files import Folder, FolderEvent, Written
from workspaces.folder_entries import LeftOut
from workspaces.history import (
    EDITOR,
    ExposedTurns,
    History,
    LineOrigins,
    Origin,
    Pending,
    Repair,
    RepairReason,
    changes_of,
)
from workspaces.run_blocking import RunBlocking

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()

UNUSABLE = "history_unusable"
"""Counted whenever something could not be recorded; a later commit includes the files as they are then."""
FILES_UNUSABLE = "files_unusable"
"""Counted whenever the system refused to write a file; the writer gets an error."""
FILE_LEFT_OUT = "file_left_out"
"""Counted for each file with a second name, and for each link, that is neither read nor changed."""
PATIENCE_S = 2.0
"""How long a turn right after the start waits for the owner's edits to be recorded apart from its own."""
RETRY_S = 60.0
"""Retry interval while the history cannot be written and nothing else happens."""
SETTLE_S = 1.0
"""Delay after a change by others: editors save in several steps, people several times."""


class HistoryWriter:
    """Commits the changes of turns. An unusable history is counted and reported; it stops no turn."""

    def __init__(
        self,
        open_history: Callable[[], History],
        run: RunBlocking,
        count: Callable[[str], Awaitable[None]],
        file_trouble: FileTroubleNotices,
        exposed: ExposedTurns,
        cut_files: CutFiles | None = None,
    ) -> None:
        """*run* has a thread of the history's own: opening, scanning all files and packing take seconds.

        *count* takes a reason code for the ledger; without *cut_files*, nobody is told of a file that is not shown
        whole.
        """
        self.origins = LineOrigins()
        """Which lines of the files hold others' words, changes that are not yet recorded included."""
        self._exposed = exposed
        self._open_history = open_history
        self._run = run
        self._count = count
        self._opening = asyncio.Lock()
        self._begun = asyncio.Event()
        self._history: History | None = None
        self._writing: tuple[str, Origin, Callable[[], bool]] | None = None
        self._pending = Pending()
        self._has_work = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop on which `work` runs, while it does."""
        self._repairs_counted = 0
        self._refused: SimpleQueue[None] = SimpleQueue()
        """One item for each write that the system refused and that is not counted yet."""
        self.file_trouble = file_trouble
        self.cut_files = cut_files
        self.trouble = ""
        """Why nothing is recorded at the moment, as text."""

    # --- attribution of changes

    def noting(
        self, run: RunBlocking, turn: str, origin: Origin, has_read_others: Callable[[], bool] = lambda: False
    ) -> RunBlocking:
        """Return *run*, which has the workspace's only thread, such that changes made by it count as this turn's.

        *has_read_others* is asked before each change: lines that it adds from then on hold others' words.
        """
        self._pending.begin(turn, origin)

        def noted(work: Callable[[], T]) -> T:
            if has_read_others():
                self._exposed.begin(turn, origin)
            self._writing = turn, origin, has_read_others
            try:
                return work()
            finally:
                self._writing = None

        async def run_noting(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await run(noted, partial(function, *args, **kwargs))

        return run_noting

    def hear(self, event: FolderEvent) -> None:
        """Record an event of the workspace's folder; called on the thread that works with it."""
        match event:
            case Written():
                self.written(event)
            case WorkspaceUnusableError():
                self.failed(event)
            case LeftOut():
                self.met(event)

    def written(self, written: Written) -> None:
        """Record a change of a file; called on the writing thread.

        The owner's previous version is recorded at once: a crash would lose the only copy.
        """
        turn, origin = None, None
        if self._writing is not None:
            turn, begun, has_read_others = self._writing
            origin = structs.replace(begun, others=has_read_others())
        self._pending.written(turn, written, others=origin.others if origin else None)
        self.origins.learn(changes_of(written.path, written.before, written.after), origin)
        if self.cut_files is not None:
            self.cut_files.look_again()
        self.file_trouble.worked(UnwritableFiles.FILES)
        if self._pending.first() is not None:
            self._wake()

    def failed(self, exc: WorkspaceUnusableError) -> None:
        """Record that the system refused a write; called on the writing thread."""
        self.file_trouble.troubled(UnwritableFiles.FILES, str(exc))
        self._refused.put(None)
        self._wake()

    def met(self, left_out: LeftOut) -> None:
        """Record that a file is left out; called on the thread that would have read it."""
        self.file_trouble.met(left_out)
        if self.file_trouble.is_to_look:
            self._wake()

    def ended(self, turn: str) -> None:
        """Mark the turn as over for now: its changes soon become one commit."""
        self._exposed.end(turn)
        if self._pending.end(turn):
            self._has_work.set()

    async def record(self, paths: Sequence[PurePosixPath], origin: Origin) -> None:
        """Record the files at *paths* as they are on disk, changed outside of any turn, as changes of *origin*."""
        await self._attempt(lambda history: history.record(paths, None, origin))

    async def catch_up(self) -> None:
        """Record changes by others than the agent, after one was noticed."""
        await self._begun.wait()
        await self._look(EDITOR)

    # --- at work

    async def begin(self) -> None:
        """Record changes made while the gateway was down, before any turn writes, unless that takes too long."""
        await self._look(await self._run(self._exposed.left_over))
        self._begun.set()

    async def work(self) -> None:
        """Begin, then record the changes of each turn once it has ended; runs until cancelled."""
        await self.begin()
        self._loop = asyncio.get_running_loop()
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S if self.trouble else None):
                        await self._has_work.wait()
                self._has_work.clear()
                await self._attempt(self._record_closed)
        finally:
            self._loop = None

    async def maintain(self, clock: Callable[[], datetime]) -> None:
        """Pack the history once a month; called every day. *clock* is read once it is open."""
        await self._attempt(lambda history: history.maintain(clock()))

    async def finish(self) -> None:
        """Record the remaining changes, the owner's edits too, when no turn runs any more."""
        self._pending.end_all()
        self.cut_files = None  # the next start looks: what fails at the very end would be counted by nobody
        await self._look(EDITOR)

    async def history(self) -> History:
        """Return the opened history. Raises HistoryUnusableError and WorkspaceUnusableError."""
        async with self._opening:
            if self._history is None:
                self._history = await self._run(self._open_history)
                self._history.spare(self._pending)
            return self._history

    async def ready(self) -> History | None:
        """Return the history for a turn's tools, once `begin` has run; `None` if it cannot be used."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._begun.wait()
        return self._history

    async def ask(self, question: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *question* about the history on its own thread, so that slow work delays no turn."""
        return await self._run(question, *args, **kwargs)

    def repairs(self) -> list[str]:
        """Return the damage found since the start, one line each."""
        return [_describe_repair(repair) for repair in self._history.repairs] if self._history else []

    async def _look(self, origin: Origin | None) -> None:
        """Record every change outside of open turns; changes of unknown origin belong to *origin*."""

        def look(history: History) -> None:
            self._record_closed(history)
            history.look(self._pending, origin)
            self._record_closed(history)

        self.file_trouble.look_again()
        if self.cut_files is not None:
            self.cut_files.look_again()
        await self._attempt(look)

    def _record_closed(self, history: History) -> None:
        while history.record_first(self._pending):
            pass

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._has_work.set)

    async def _attempt(self, work: Callable[[History], object]) -> None:
        try:
            history = await self.history()
            await self._run(work, history)
            await self._run(history.trace, self.origins)
            await self._run(self._exposed.settle, self._pending.has_others)
            self._hear("")
        except WorkspaceError as exc:
            log.warning("the history was not written", detail=str(exc))
            self._hear(str(exc))
            await self._tell(UNUSABLE)
        repairs = self._history.repairs if self._history else ()
        fresh, self._repairs_counted = repairs[self._repairs_counted :], len(repairs)  # before others may run
        for repair in fresh:
            log.warning("history repaired", reason=repair.reason)
            await self._tell(repair.reason)
        while not self._refused.empty():
            self._refused.get()
            await self._tell(FILES_UNUSABLE)
        await self._look_for_left_out()
        await self.file_trouble.ring()
        if self.cut_files is not None:
            with suppress(WorkspaceError):  # who works with the files tells of that
                await self.cut_files.ring()

    async def _look_for_left_out(self) -> None:
        if not self.file_trouble.is_to_look:
            return
        with suppress(WorkspaceError):  # the code that works with the files reports that
            if fresh := await self._run(self.file_trouble.look):
                log.warning("files are left out", count=fresh)
                for _ in range(fresh):
                    await self._tell(FILE_LEFT_OUT)

    def _hear(self, trouble: str) -> None:
        self.trouble = trouble
        if trouble:
            self.file_trouble.troubled(UnwritableFiles.HISTORY, trouble)
        else:
            self.file_trouble.worked(UnwritableFiles.HISTORY)

    async def _tell(self, reason: str) -> None:
        with suppress(StoreError):  # the store reports its own failures
            await self._count(reason)


def kept_folders(folder: Folder) -> Sequence[Path]:
    """Return the folders of a workspace in which a change concerns its history."""
    return [folder.root / path for path in folder.folders()]


def _describe_repair(repair: Repair) -> str:
    if repair.reason is RepairReason.STALE_LOCK:
        return "history: removed a lock that a crash had left"
    what = "was damaged" if repair.reason is RepairReason.DAMAGED else "was not this agent's"
    begun = "continues from the readable part" if repair.taken_over else "was started anew from the files"
    return f"history: it {what} and {begun}; the old one is kept as {repair.kept_as}"
