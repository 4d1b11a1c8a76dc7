"""Synchronisation of an index with its sources: changed documents go to the worker, deleted ones are dropped.

A stamp is taken before its document is read, so a change in between shows as another stamp next time. Sync may be
interrupted anywhere; the next one continues from the worker's state.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct, field

from workspaces.access import Scope
from workspaces.memory.client import WorkerDiedError
from workspaces.memory.entry import Document, Source, UnreadableDocumentError
from workspaces.memory.text.chunking import entries_of
from workspaces.memory.wire import Frame, document_out
from workspaces.run_blocking import RunBlocking

AHEAD = 30_000
"""Characters of documents sent ahead of the worker's answers: some 400 lines, so that its model never waits for the
next one, and 5 MB of vectors at most. A longer document is sent alone.
"""

COMMITTED = 4_000
"""Entries stored before they are committed: a crash loses no more, and no commit takes long."""

MOST_DEADLY = 3
"""Documents on which the worker may die in one sync; beyond that, the worker itself is faulty."""
SYNCED = "synced"
"""File in the index's folder with a digest of what is indexed: a start at which nothing changed needs no worker."""
DEADLY = "the memory worker crashed twice on this file; change it, or retry it: strandline quarantine retry"

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the number of indexed documents and the number of changed ones."""


Compare = Callable[[], Awaitable[Mapping[str, int] | None]]
"""Returns the counts of an examination that the next collection failed; `None` if it may replace the old one."""


async def _accept_all() -> None:
    """Let every new layout replace the old one."""


class WorkerCalls(Protocol):
    """Interface of a `WorkerClient`."""

    @property
    def is_running(self) -> bool:
        """Whether a request is answered without a start."""

    def wake(self, folder: Path | None = None) -> Awaitable[None]:
        """Start it, unless it runs; one that starts rehearses a search of the index in *folder*."""

    def call(self, op: str, folder: Path, arguments: Mapping[str, object]) -> Awaitable[Frame]:
        """Return the worker's answer."""


class SyncReport(Struct, frozen=True):
    changed: int = 0
    """Documents read."""
    removed: int = 0
    """Deleted documents."""
    stored: int = 0
    """Entries stored or replaced."""
    embedded: int = 0
    """Texts embedded by the model."""
    reused: int = 0
    """Texts with a cached embedding."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Documents that cannot be indexed, by path, with the reason."""


class _Tally(Struct):
    stored: int = 0
    embedded: int = 0
    reused: int = 0

    def add(self, done: Frame) -> None:
        self.stored += done["stored"]
        self.embedded += done["embedded"]
        self.reused += done["reused"]


class _SyncProgress:
    """Reports progress, from 0 of all documents to all of them."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self.total = total
        self.done = -1
        self.another()

    def another(self) -> None:
        self.done += 1
        if self._progress:
            self._progress(self.done, self.total)


class _Room:
    """Remaining capacity for documents sent ahead."""

    def __init__(self) -> None:
        self._taken = 0
        self._freed = asyncio.Event()

    async def take(self, size: int) -> None:
        while self._taken and self._taken + size > AHEAD:
            self._freed.clear()
            await self._freed.wait()
        self._taken += size

    def free(self, size: int) -> None:
        self._taken -= size
        self._freed.set()


class _Taking:
    """The documents of one sync that are being indexed."""

    def __init__(self, call: Callable[..., Awaitable[Frame]], told: _SyncProgress) -> None:
        self._call = call
        self.told = told
        self.room = _Room()
        self.tally = _Tally()
        self._committed = 0

    async def put(self, document: Document, stamp: str) -> None:
        """Index *document*; its capacity is already reserved."""
        self.tally.add(await self._call("put", document=document_out(document), stamp=stamp))
        self.room.free(len(document.text))
        self.told.another()
        if self.tally.stored - self._committed >= COMMITTED:
            self._committed = self.tally.stored
            await self._call("commit", complete=False)


class Sync:
    """Keeps one index folder in step with *sources*; call it from one task at a time."""

    def __init__(
        self,
        folder: Path,
        sources: Sequence[Source],
        worker: WorkerCalls,
        run: RunBlocking,
        layout: str = "",
        compare: Compare | None = None,
    ) -> None:
        """*layout* identifies the index's layout; without it, the state of the last process is not relied on.

        *compare* examines a new layout before it replaces the old one.
        """
        self._compare = compare or _accept_all
        self._layout = layout
        self._folder = folder
        self._sources = sources
        self._worker = worker
        self._run = run
        self._skipped: dict[str, tuple[str, str]] = {}
        self._synced: str | None = None
        """Digest of the stamps at the start of the last complete sync; `None`: not known yet."""
        self._taking: _Taking | None = None
        self.has_refused = False
        """The latest sync kept the old layout in place of a new one."""
        self.scopes: frozenset[Scope] = frozenset()
        """The audiences with documents, as of the last complete sync."""

    @property
    def skipped(self) -> dict[str, str]:
        """Documents that cannot be indexed, by path, with the reason."""
        return {path: reason for path, (_, reason) in self._skipped.items()}

    @property
    def progress(self) -> tuple[int, int] | None:
        """Documents indexed, and changed ones, of the latest sync; `None` before the first, or if all were indexed."""
        told = self._taking.told if self._taking else None
        return (told.done, told.total) if told and told.done < told.total else None

    async def is_behind(self) -> bool:
        """Tell whether a source's stamps differ from those at the start of the last sync of any process."""
        current = await self._run(self._current)
        if self._synced is None:
            self._synced = await self._run(self._read_synced)
        if self._digest(current) != self._synced:
            return bool(self._synced) or await self._run(self._holds_entries, current)
        self.scopes = _audiences(current)
        return False

    @property
    def deadly(self) -> frozenset[str]:
        """Documents excluded because the worker crashed on them."""
        return frozenset(path for path, reason in self.skipped.items() if reason == DEADLY)

    def retry_skipped(self) -> None:
        """Retry unindexable documents, though they have not changed."""
        self._skipped.clear()

    async def bring_up_to_date(self, progress: Progress | None = None) -> SyncReport:
        """Index changed documents and drop deleted ones. Raises MemoryUnavailableError."""
        current = await self._run(self._current)
        known: dict[str, str] = (await self._call("stamps"))["stamps"]
        changed = [
            path for path, (stamp, _) in current.items() if known.get(path) != stamp and not self._skips(path, stamp)
        ]
        gone = known.keys() - current.keys()
        taking = self._taking = _Taking(self._call, _SyncProgress(progress, len(changed)))
        unread = await self._take_in([(path, *current[path]) for path in changed], taking)
        gone |= known.keys() & unread
        if gone:
            await self._call("drop", paths=sorted(gone))
        self._skipped = {path: skip for path, skip in self._skipped.items() if path in current}
        if (await self._call("commit", complete=True))["replaces"]:
            if compared := await self._compare():
                await self._call("refuse", **compared)
                self.has_refused = True
                return await self.bring_up_to_date(progress)  # the collection that goes on
            await self._call("commit", complete=True, compared=True)
        self._synced, self.scopes = self._digest(current), _audiences(current)
        await self._run(self._write_synced, self._synced)
        tally = taking.tally
        return SyncReport(len(changed), len(gone), tally.stored, tally.embedded, tally.reused, self.skipped)

    def _digest(self, current: Mapping[str, tuple[str, Source]]) -> str:
        facts = repr((self._layout, sorted((path, stamp) for path, (stamp, _) in current.items())))
        return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _read_synced(self) -> str:
        with suppress(OSError, UnicodeDecodeError):
            return (self._folder / SYNCED).read_text("ascii") if self._layout else ""
        return ""

    def _write_synced(self, digest: str) -> None:
        """Record the state for the next process, unless documents are skipped: it has to find them again."""
        with suppress(OSError):
            if not self._layout or self._skipped:
                (self._folder / SYNCED).unlink(missing_ok=True)
            elif self._read_synced() != digest:
                (self._folder / SYNCED).write_text(digest, "ascii")

    def _current(self) -> dict[str, tuple[str, Source]]:
        return {path: (stamp, source) for source in self._sources for path, stamp in source.stamps().items()}

    def _holds_entries(self, current: Mapping[str, tuple[str, Source]]) -> bool:
        """Tell whether there is an index, or an entry for one: the headings of a new workspace need no worker."""
        return self._folder.exists() or any(_has_entries(source, path) for path, (_, source) in current.items())

    def _skips(self, path: str, stamp: str) -> bool:
        return self._skipped.get(path, ("", ""))[0] == stamp

    async def _take_in(self, changed: Sequence[tuple[str, str, Source]], taking: "_Taking") -> set[str]:
        """Send the documents to the worker, some ahead of its answers; return the paths without an answer."""
        unread = set()
        try:
            async with asyncio.TaskGroup() as puts:
                for path, stamp, source in changed:
                    document = await self._read(path, stamp, source)
                    if document is None:
                        unread.add(path)
                        taking.told.another()
                        continue
                    await taking.room.take(len(document.text))
                    puts.create_task(taking.put(document, stamp))
        except BaseExceptionGroup as group:
            if not isinstance(group.exceptions[0], WorkerDiedError):
                raise group.exceptions[0] from None
            return unread | await self._take_in_alone(changed)
        return unread

    async def _take_in_alone(self, changed: Sequence[tuple[str, str, Source]]) -> set[str]:
        """Index documents one by one, so that those that kill the worker are found and excluded.

        Return their paths. Raises WorkerDiedError when it dies on many: then the documents are not the cause.
        """
        known: dict[str, str] = (await self._call("stamps"))["stamps"]
        deadly: set[str] = set()
        for path, stamp, source in changed:
            document = None if known.get(path) == stamp else await self._read(path, stamp, source)
            if document is None:
                continue
            try:
                await self._call("put", document=document_out(document), stamp=stamp)
                await self._call("commit", complete=False)
            except WorkerDiedError:
                deadly.add(path)
                if len(deadly) > MOST_DEADLY:
                    for each in deadly:
                        self._skipped.pop(each, None)
                    raise
                self._skipped[path] = (stamp, DEADLY)
        return deadly

    async def _read(self, path: str, stamp: str, source: Source) -> Document | None:
        """Return the document, or `None` if it is deleted or unindexable, which is noted."""
        try:
            document: Document | None = await self._run(source.read, path)
        except UnreadableDocumentError as exc:
            self._skipped[path] = (stamp, str(exc))
            return None
        self._skipped.pop(path, None)
        return document

    async def _call(self, op: str, **arguments: object) -> Frame:
        return await self._worker.call(op, self._folder, arguments)


def _has_entries(source: Source, path: str) -> bool:
    try:
        document = source.read(path)
    except UnreadableDocumentError:
        return True  # a sync names it
    return document is not None and bool(entries_of(document))


def _audiences(current: Mapping[str, tuple[str, Source]]) -> frozenset[Scope]:
    audiences = (source.audience(path) for path, (_, source) in current.items())
    return frozenset(audience for audience in audiences if audience is not None)
