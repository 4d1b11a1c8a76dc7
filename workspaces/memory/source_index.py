"""One index of an agent's memory for the gateway: search by access, sync, status.

A turn's visibility is checked here twice: the scopes go into every request, and each hit is checked once more before it
is returned.

    WorkspaceError
    └── QueryRefusedError       the query is empty
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from workspaces.access import Access, AgentId, Scope, readable_scopes
from workspaces.errors import WorkspaceError
from workspaces.memory.assembly import assembled, considered
from workspaces.memory.change_exam import ChangeExam
from workspaces.memory.circuit_breaker import CircuitBreaker
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.entry import Document, ReadableDocuments, Source, is_for
from workspaces.memory.exact_search import ExactQuery, ExactResult, find_exact
from workspaces.memory.file_search import documents_within, find_plainly
from workspaces.memory.hits import Hit, hit_of_frame, hit_of_line
from workspaces.memory.query import MOST_RESULTS, USUAL_SEARCH, Query, SearchDefaults
from workspaces.memory.rehearsal import rehearse
from workspaces.memory.search_notes import BEING_BUILT, LONGEST_QUERY, cut_notice, notice, plain_notice
from workspaces.memory.search_result import SearchResult
from workspaces.memory.status import IndexStatus, MemoryFaults, Mode
from workspaces.memory.sync import Progress, Sync, SyncReport, WorkerCalls
from workspaces.memory.wire import Frame, day_out, scopes_out
from workspaces.run_blocking import RunBlocking

LOOKED_AT = 14
"""Hits beyond the wanted ones that are looked at, to say how much is left out."""
CHECK_EVERY_S = 1.0
"""Shortest interval at which a search checks for files changed by others; `touched` makes the next one check."""
PATIENCE_S = 5.0
"""How long a search waits for changed notes, once the worker answers, before it takes the present index."""
JUST_BEGUN_S = 0.3
"""How long a new sync is waited for: mostly it indexes one saved note, and is done by then."""
ALIVE_WITHIN_S = 1.5
"""Time after which a worker that owes only an answer counts as hung: it answers between two steps of some 50 ms."""
FILES_WITHIN_S = 5.0
"""How long a search without the index reads files; notes are read before conversations."""
SERVER_SYNC = 0.75
"""Share of `answers_within_s` that a search waits for changed notes."""
MOST_WAITING = 20
"""Changed documents that are looked for in the files while a server does not take them; more are a long run."""
DEGRADED = "memory_degraded"
"""The reason code of a search answered from the files."""
FIRST_PATIENCE_S = 15.0
"""How long a search waits for a worker that starts: it loads its model in a second, on a busy machine in many."""


class QueryRefusedError(WorkspaceError):
    """The query is empty."""


class MemoryClock(Struct, frozen=True):
    monotonic: Callable[[], float]
    """In seconds."""
    today: Callable[[], date]
    """The owner's day."""


class Past(Protocol):
    """An agent's notes as of earlier days."""

    def held_house(self, access: Access) -> bool:
        """Tell whether some of those that *access* may read stay on the owner's machines, or may have to."""

    async def search(self, query: Query, access: Access, day: date) -> SearchResult:
        """Return the notes of *day* that match *query*. Raises WorkspaceError."""

    async def find_exact(self, query: ExactQuery, access: Access, day: date) -> ExactResult:
        """Return the lines of *day* that contain a text. Raises WorkspaceError."""


@dataclass(eq=False)
class SourceIndex:
    """The index of some sources of one agent's memory."""

    _agent: AgentId
    _folder: Path
    _sources: Sequence[Source]
    _worker: WorkerCalls
    _run: RunBlocking
    """Runs blocking reads of the sources on the files' own thread."""
    _clock: MemoryClock
    _: KW_ONLY
    past: Past | None = None
    """Given if a history is kept; without it earlier days are unknown."""
    faults: MemoryFaults | None = None
    layout: str = ""
    """Identifies the index's layout (`client.WorkerSettings.layout`); without it a start always needs the worker."""
    defaults: SearchDefaults = USUAL_SEARCH
    answers_within_s: float | None = None
    """Time after which a search falls back to the files; given for an index on a server."""

    def __post_init__(self) -> None:
        exam = ChangeExam(self._folder, self._sources, self._worker, self._run, self._clock.today)
        self._sync = Sync(self._folder, self._sources, self._worker, self._run, self.layout, exam.losses)
        self._syncing = asyncio.Lock()
        self._is_dirty = False
        self._was_fresh = False
        self._synced_at: float | None = None
        self._checked_at = self._began_at = self._awake_at = -math.inf
        self._mode: Mode = "hybrid"
        self._was_opened = self._has_rehearsed = False
        self._outage = CircuitBreaker(self._clock.monotonic)

    def touched(self) -> None:
        """Note that a source changed: the next search checks immediately."""
        self._is_dirty = True

    async def sync(self, progress: Progress | None = None, *, retry: bool = False) -> SyncReport:
        """Index changes, with *retry* also documents that failed before. Raises MemoryUnavailableError."""
        async with self._syncing:
            deadly = self._sync.deadly
            if retry:
                self._sync.retry_skipped()
            self._is_dirty, self._was_opened = False, True
            self._checked_at = self._began_at = self._clock.monotonic()
            try:
                report = await self._sync.bring_up_to_date(progress)
            except BaseException:
                self._is_dirty = True
                raise
            self._was_fresh, self._synced_at = True, self._began_at
            self._outage.retry()
            if self.faults is not None:
                held = (await self.status()).held if self._sync.has_refused else ""
                await self.faults.tell(sorted(self._sync.deadly - deadly), held)
            return report

    async def accept_change(self) -> bool:
        """Take a layout that was held back into use; tell whether there was one. Raises MemoryUnavailableError."""
        async with self._syncing:
            answer = await self._worker.call("accept", self._folder, {})
        await self.sync()
        return bool(answer["accepted"])

    async def rebuild(self) -> SyncReport:
        """Remove the index with its embeddings, and build it anew from the files. Raises MemoryUnavailableError."""
        async with self._syncing:
            self._is_dirty = True
            await self._worker.call("discard", self._folder, {})
        return await self.sync()

    @property
    def deadly(self) -> frozenset[str]:
        """Files excluded because the worker crashed on them."""
        return self._sync.deadly

    async def is_behind(self) -> bool:
        """Tell whether files changed since the last sync began; reads none of them once there is an index."""
        return self._is_dirty or await self._sync.is_behind()

    async def catch_up(self) -> None:
        """Sync if files changed. Raises MemoryUnavailableError; the next change or search then tries again."""
        try:
            if await self.is_behind():
                await self.sync()
            self._was_fresh = True
        except WorkspaceError:
            self.touched()
            raise

    @property
    def indexing(self) -> tuple[int, int] | None:
        """Documents indexed, and changed ones, of the sync under way; `None` without one."""
        return self._sync.progress if self._syncing.locked() else None

    @property
    def is_open(self) -> bool:
        """Whether the worker has it open; asking for its status would open it."""
        return self._was_opened and self._worker.is_running

    @property
    def is_warm(self) -> bool:
        """Whether the index is up to date once, so that a search is fast while the worker runs."""
        return self._was_fresh

    @property
    def is_asleep(self) -> bool:
        """Whether the next search has to start the worker."""
        return not self._worker.is_running

    @property
    def synced_s_ago(self) -> float | None:
        """Seconds since the start of the last completed sync; `None` before the first one of this process."""
        return None if self._synced_at is None else self._clock.monotonic() - self._synced_at

    def has_notes_of(self, scope: Scope) -> bool:
        """Tell whether *scope* had any document when the index was last brought up to date."""
        return scope in self._sync.scopes

    async def search(self, query: Query, access: Access, *, is_patient: bool = True) -> SearchResult:
        """Return the notes that match *query* among those that *access* may read.

        While the index is unavailable, the files are searched by keywords. Unless it *is_patient*, a search waits for
        no changed note and reads no file. Raises QueryRefusedError for a query without words; unless it *is_patient*,
        MemoryUnavailableError.
        """
        # A lone surrogate is not valid text for an embedder; NUL and the like are, and find nothing.
        text = query.text.strip().encode("utf-8", "replace").decode()
        if not text:
            raise QueryRefusedError("the query is empty: name what to look for")
        query = self.defaults.applied_to(query)
        scopes = self._scopes(access)
        if scopes is not None and not scopes:
            return SearchResult((), self._mode, cut_notice(text))
        if query.as_of and query.as_of < self._clock.today():
            return await self._history_source().search(query, access, query.as_of)
        if not self._has_rehearsed:
            self._has_rehearsed = True
            asyncio.get_running_loop().run_in_executor(None, rehearse)
        try:
            answer, is_fresh = await self._answer(query, text[:LONGEST_QUERY], scopes, is_patient)
        except MemoryUnavailableError as exc:
            if not is_patient:
                raise
            return await self._plainly(query, text, scopes, str(exc))
        self._mode = answer["mode"]
        found = [hit for hit in map(hit_of_frame, answer["hits"]) if self._may_see(hit, scopes)]
        if not found and is_patient and scopes is None and answer["rebuilding"]:
            return await self._plainly(query, text, scopes, BEING_BUILT)
        if is_patient:
            found = list(await asyncio.to_thread(assembled, found, text, self._clock.today()))
        # A group must not learn whether private notes are still being indexed.
        pending = scopes is None and (not is_fresh or answer["rebuilding"])
        told = notice(text, answer, self._sync.progress, pending=pending, to_owner=scopes is None)
        hits, rest = tuple(found[: query.most]), tuple(found[query.most :])
        return SearchResult(hits, answer["mode"], told, rest, question=text)

    async def find_exact(self, query: ExactQuery, access: Access) -> ExactResult:
        """Return the lines that contain a text, newest first, among those that *access* may read.

        It reads the files themselves: an unavailable or outdated index does not matter. Raises ExactRefusedError.
        """
        scopes = self._scopes(access)
        if query.as_of and query.as_of < self._clock.today() and scopes != frozenset():
            return await self._history_source().find_exact(query, access, query.as_of)
        return await find_exact(query, self._sources_of(access), scopes, self._run, self._clock.monotonic)

    async def read(self, path: str, access: Access) -> Document | None:
        """Return the document at *path* as indexed (`part_path`); `None` if there is none that *access* may read.

        Raises UnreadableDocumentError with the reason why it cannot be indexed.
        """
        return await self._run(self.readable(access).read, path)

    async def stamps(self, access: Access) -> dict[str, str]:
        """Return a cheap stamp of each document that *access* may read; reads none of them."""
        return await self._run(self.readable(access).stamps)

    def readable(self, access: Access) -> ReadableDocuments:
        """Return the documents that *access* may read, for work on the files' own thread."""
        return ReadableDocuments(self._sources_of(access), self._scopes(access))

    async def documents(self, access: Access) -> list[Document]:
        """Return the documents that *access* may read; those that cannot be indexed are left out."""
        wanted = partial(is_for, self._scopes(access))
        return (await documents_within(self._sources_of(access), wanted, self._run, None))[0]

    def audience(self, path: str) -> Scope | None:
        """Return the audience of *path*, derived from the path alone; `None` if it is never indexed."""
        return next((scope for source in self._sources if (scope := source.audience(path)) is not None), None)

    async def status(self) -> IndexStatus:
        """Return the index's state. Raises MemoryUnavailableError."""
        state = await self._worker.call("status", self._folder, {})
        named = {name: state[name] for name in IndexStatus.__struct_fields__ if name in state}
        return IndexStatus(**named, skipped=self._sync.skipped, indexing=self.indexing)

    def _sources_of(self, access: Access) -> Sequence[Source]:
        return self._sources

    def _history_source(self) -> Past:
        if self.past is None:
            raise QueryRefusedError("no history is kept here, so earlier days cannot be searched")
        return self.past

    def _scopes(self, access: Access) -> frozenset[Scope] | None:
        return readable_scopes(access) if access.agent == self._agent else frozenset()

    def _may_see(self, hit: Hit, scopes: frozenset[Scope] | None) -> bool:
        """Tell whether path and index agree that the hit belongs to these scopes."""
        if scopes is None:
            return True
        audiences = {source.audience(hit.path) for source in self._sources} - {None}
        return hit.scope in scopes and bool(audiences) and audiences <= scopes

    async def _plainly(self, query: Query, text: str, scopes: frozenset[Scope] | None, reason: str) -> SearchResult:
        """Answer from the files while the index is unavailable; a later search tries it again."""
        if self.faults is not None:
            await self.faults.count(DEGRADED)
        documents, is_all = await documents_within(self._sources, partial(is_for, scopes), self._run, FILES_WITHIN_S)
        dated = [document for document in documents if query.includes(document.date)]
        found = await asyncio.to_thread(find_plainly, text[:LONGEST_QUERY], dated, query.most)
        kept = tuple(hit for hit in map(hit_of_line, found) if hit.score >= (query.min_score or 0.0))
        return SearchResult(kept, "keyword", plain_notice(text, reason, is_all=is_all, to_owner=scopes is None))

    async def _answer(
        self, query: Query, text: str, scopes: frozenset[Scope] | None, is_patient: bool
    ) -> tuple[Frame, bool]:
        """Return the worker's answer, and whether the index is known to be up to date.

        Raises MemoryUnavailableError.
        """
        self._outage.check()
        try:
            async with asyncio.timeout(None if self.is_asleep else self.answers_within_s):
                is_fresh = is_patient and await self._freshen()
                async with asyncio.timeout(FIRST_PATIENCE_S if self.is_asleep else ALIVE_WITHIN_S):
                    answer = await self._ask(query, text, scopes)
                if is_fresh and answer["rebuilding"]:  # the files are as they were, but the index is gone
                    self._is_dirty = True
                    is_fresh, answer = await self._freshen(), await self._ask(query, text, scopes)
        except TimeoutError as exc:
            self._outage.begin()
            raise MemoryUnavailableError("the index takes too long") from exc
        self._outage.end()
        return answer, is_fresh

    async def _freshen(self) -> bool:
        """Sync if files may have changed, within the time limit; tell whether the index is known to be up to date.

        Raises TimeoutError if the worker gives no sign of life, MemoryUnavailableError if a server takes no note.
        """
        if not self._is_dirty and not self._syncing.locked():
            now = self._clock.monotonic()
            if now - self._checked_at < CHECK_EVERY_S:
                return True
            if not await self.is_behind():  # no request to the worker where the files are as they were
                self._checked_at, self._was_fresh = now, True
                return True
        async with asyncio.timeout(ALIVE_WITHIN_S if self._was_fresh and not self.is_asleep else FIRST_PATIENCE_S):
            await self._worker.call("ping", self._folder, {})
        if self._awake_at < self._began_at:
            self._awake_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._patience_s()):
                await self.sync()
        except (TimeoutError, MemoryUnavailableError) as exc:
            done, total = self._sync.progress or (0, 0)
            is_refused = isinstance(exc, MemoryUnavailableError)
            if self.answers_within_s is not None and (is_refused or 0 < total - done <= MOST_WAITING):
                raise MemoryUnavailableError(str(exc) or "the newest notes are not indexed yet") from exc
            return False
        return True

    def _patience_s(self) -> float:
        longest_s = PATIENCE_S if self.answers_within_s is None else SERVER_SYNC * self.answers_within_s
        if not self._syncing.locked():
            return longest_s
        longest_s = min(longest_s, JUST_BEGUN_S) if self._was_fresh else longest_s  # a long run delays no search
        return max(longest_s - (self._clock.monotonic() - self._awake_at), 0.0)

    async def _ask(self, query: Query, text: str, scopes: frozenset[Scope] | None) -> Frame:
        arguments = {
            "text": text,
            "scopes": scopes_out(scopes),
            "since": day_out(query.since),
            "until": day_out(query.until),
            "limit": min(max(query.most + LOOKED_AT, considered(text)), MOST_RESULTS),
            "min_score": query.min_score,
            "today": day_out(self._clock.today()),
            "stays": query.stays_here,
        }
        self._was_opened = True
        return await self._worker.call("search", self._folder, arguments)
