"""An agent's memory: two indexes, so that lines with the mark `house` share nothing with those that a provider may see.

The index for every reader holds no such line: neither its vectors nor its word counts, orders and scores depend on one.
The other holds nothing else, is made and asked on this machine alone, and answers readers on the owner's machines.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from msgspec import structs

from workspaces.access import Access, Locality, Scope, SessionType, may_know
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.entry import Document, ReadableDocuments, Source, UnreadableDocumentError, cited_path, is_for
from workspaces.memory.exact_search import ExactQuery, ExactResult
from workspaces.memory.foreign_notes import DOCUMENTS, foreign_notice, is_looked_at, keep_looked_at
from workspaces.memory.hits import CLEAR, Hit, each_once
from workspaces.memory.house_sources import HouseSource, MarkedDocuments, OutsideSource
from workspaces.memory.query import Query
from workspaces.memory.search_result import SearchResult
from workspaces.memory.source_index import (
    CHECK_EVERY_S,
    QueryRefusedError,
    SourceIndex,
)
from workspaces.memory.sync import Progress, SyncReport
from workspaces.memory.text.languages import ENGLISH
from workspaces.memory.wire import HOUSE


@dataclass(eq=False)
class MemoryIndex(SourceIndex):
    def __post_init__(self) -> None:
        self._every = self._sources
        self._marked = [MarkedDocuments(source) for source in self._every]
        self._has_looked = False
        self._sources = [OutsideSource(each.source, each) for each in self._marked]
        super().__post_init__()
        self._house_sources: Sequence[Source] = [HouseSource(each.source, each) for each in self._marked]
        self._house = SourceIndex(
            self._agent,
            self._folder / HOUSE,
            self._house_sources,
            self._worker,
            self._run,
            self._clock,
            faults=self.faults,
            layout=self.layout,
            defaults=self.defaults,
        )

    async def _has_marked(self, scopes: frozenset[Scope] | None) -> bool:
        """Tell whether some document (of *scopes*) holds a line that stays on the owner's machines."""
        now = self._clock.monotonic()
        if self._is_dirty or now - self._checked_at >= CHECK_EVERY_S:  # a sync looks at the marks too
            if self._is_dirty or self._syncing.locked():
                await self._run(lambda: [each.split() for each in self._marked])
                self._checked_at = now
            elif await self.is_behind():  # one look tells both, and the search need not look again
                self._is_dirty = True
            else:
                self._checked_at, self._was_fresh = now, True
        return self._knew_marked(scopes)

    def _knew_marked(self, scopes: frozenset[Scope] | None) -> bool:
        """Tell whether some document (of *scopes*) held such a line when the files were last looked at."""
        return any(is_for(scopes, each.source.audience(path)) for each in self._marked for path in each.paths)

    def touched(self) -> None:
        """Note that a source changed: the next search checks immediately."""
        super().touched()
        self._house.touched()

    async def wake(self, *, rehearses: bool = False) -> None:
        """Start the worker ahead of a search, which tells if it cannot start.

        If the search will come later, if at all, the worker *rehearses* one; where the index is on a server it would
        ask that.
        """
        with suppress(MemoryUnavailableError):
            await self._worker.wake(self._folder if rehearses and self.answers_within_s is None else None)

    async def sync(self, progress: Progress | None = None, *, retry: bool = False) -> SyncReport:
        """Index changes, with *retry* also documents that failed before. Raises MemoryUnavailableError."""
        report = await super().sync(progress, retry=retry)
        if await self._has_house_index():
            await self._house.sync(retry=retry)
        return report

    async def rebuild(self) -> SyncReport:
        """Remove the index with its embeddings, and build it anew from the files. Raises MemoryUnavailableError."""
        if await self._run((self._folder / HOUSE).exists):
            await self._worker.call("discard", self._folder / HOUSE, {})
        return await super().rebuild()

    async def accept_change(self) -> bool:
        """Take a layout that was held back into use; tell whether there was one. Raises MemoryUnavailableError."""
        is_accepted = await super().accept_change()
        return (await self._has_house_index() and await self._house.accept_change()) or is_accepted

    async def is_behind(self) -> bool:
        """Tell whether files changed since the last sync began; reads none of them once there is an index."""
        return await super().is_behind() or (await self._has_house_index() and await self._house.is_behind())

    async def known_on(self, query: Query, access: Access) -> SearchResult:
        """Search what was there at the end of the day `as_of`: notes as they were, and what was said until then."""
        said = await self.search(structs.replace(query, as_of=None, until=query.as_of), access)
        if not self.past:
            return said
        notes = await self.search(query, access)
        known = {hit.path for hit in notes.hits}
        return replace(
            notes,
            hits=(
                *(structs.replace(hit, mark="") for hit in notes.hits),
                *(hit for hit in said.hits if hit.path not in known),
            ),
            notice=notes.notice or said.notice,
            is_house=notes.is_house or said.is_house,
            is_withheld=notes.is_withheld or said.is_withheld,
        )

    async def search(self, query: Query, access: Access, *, is_patient: bool = True) -> SearchResult:
        """Return the notes that match *query* among those that *access* may read, as `SourceIndex.search` does.

        Each line is shown once, the best hits with the lines that they are understood with.
        """
        found = await self._found(query, access, is_patient=is_patient)
        hits, most = each_once([*found.hits, *found.rest]), self.defaults.applied_to(query).most
        return replace(found, hits=tuple(hits[:most]), rest=tuple(hits[most:]))

    async def _found(self, query: Query, access: Access, *, is_patient: bool) -> SearchResult:
        """Return what `search` does, without regard to repeated lines.

        A query of a reader here may hold words of lines that stay here; where there are any, it stays here too.
        """
        if self.is_asleep:
            await self.wake()  # it loads while files are looked at
        is_here, holds = access.reader is Locality.HERE, await self._holds_house(query.as_of, access)
        query = structs.replace(query, stays_here=query.stays_here or access.is_house or (is_here and holds))
        found = await super().search(query, access, is_patient=is_patient)
        if not holds or query.as_of:
            return replace(found, is_house=holds and is_here)
        with suppress(WorkspaceError) if not is_patient else suppress(MemoryUnavailableError):
            theirs = await self._house.search(structs.replace(query, stays_here=True), access, is_patient=is_patient)
            if is_here:
                return joined(found, theirs, self.defaults.applied_to(query).most)
            found = replace(found, is_withheld=theirs.is_clear)
        return found if is_here else await self._outside_hits(found)

    async def foreign_notice(self, access: Access) -> str:
        """Return which languages of what *access* may read the embedder does not know, or nothing.

        Raises MemoryUnavailableError.
        """
        languages = (await self.status()).languages or ""
        documents = await self._run(_some_of, self.readable(access))
        return await asyncio.to_thread(foreign_notice, documents, languages)

    async def with_languages(self, found: SearchResult, access: Access) -> SearchResult:
        """Return *found* as shown to a person: once, the owner is told of languages that are not read.

        Lines that stay here do not count: a model elsewhere may read the notice.
        """
        if self._has_looked or access.session_type is not SessionType.MAIN or found.mode != "hybrid":
            return found
        self._has_looked = True
        with suppress(MemoryUnavailableError):
            state = await self.status()
            if ENGLISH not in (state.languages or "") or await self._run(is_looked_at, self._folder, state.entries):
                return found
            foreign = await self.foreign_notice(structs.replace(access, reader=Locality.ELSEWHERE))
            await self._run(keep_looked_at, self._folder, state.entries, foreign)
            return replace(found, notice="; ".join(filter(None, (found.notice, foreign))))
        return found

    async def find_exact(self, query: ExactQuery, access: Access) -> ExactResult:
        """Return the lines that contain a text, newest first, among those that *access* may read."""
        is_here = access.reader is Locality.HERE
        if not await self._holds_house(query.as_of, access):
            return await super().find_exact(query, access)
        if query.as_of and query.as_of < self._clock.today():
            return structs.replace(await super().find_exact(query, access), is_house=True)
        found = await super().find_exact(query, access)
        house = await self._house.find_exact(structs.replace(query, max_results=1), access)
        shown = await self._outside(query, access) if is_here else found
        return structs.replace(
            found, is_house=found.matches != shown.matches, is_withheld=not is_here and bool(house.matches)
        )

    async def _outside(self, query: ExactQuery, access: Access) -> ExactResult:
        return await super().find_exact(query, structs.replace(access, reader=Locality.ELSEWHERE))

    async def _outside_hits(self, found: SearchResult) -> SearchResult:
        """Return *found* without lines that got the mark since they were indexed."""
        looked = {hit.path for hit in (*found.hits, *found.rest)}
        marked = [(path, each) for each in self._marked for path in each.paths if cited_path(path) in looked]
        lines: dict[str, frozenset[int]] = {}
        for path, each in marked:  # a long conversation is several documents
            cited = cited_path(path)
            lines[cited] = lines.get(cited, frozenset()) | await self._run(each.lines, path)

        def may_show(hit: Hit) -> bool:
            return lines.get(hit.path, frozenset()).isdisjoint(range(hit.start_line, hit.end_line + 1))

        def shown(hits: Sequence[Hit]) -> tuple[Hit, ...]:
            kept = filter(may_show, hits)
            return tuple(structs.replace(hit, before="", after="") if hit.path in lines else hit for hit in kept)

        return replace(found, hits=shown(found.hits), rest=shown(found.rest))

    async def _holds_house(self, day: date | None, access: Access) -> bool:
        """Tell whether memory as of *day* (`None`: now) has such a line. Raises QueryRefusedError.

        Of earlier days only readers here may know any: a line may have lacked the mark, and may have gone since.
        """
        holds = await self._has_marked(self._scopes(access))
        if day is None or day >= self._clock.today():
            return holds
        holds = holds or (self.past is not None and self.past.held_house(access))
        if holds and access.reader is not Locality.HERE:
            raise QueryRefusedError("earlier days cannot be searched here")
        return holds

    def _sources_of(self, access: Access) -> Sequence[Source]:
        return self._every if may_know(access.reader, is_house=True) else self._sources

    async def _has_house_index(self) -> bool:
        return self._knew_marked(None) or await self._run((self._folder / HOUSE).exists)


def _some_of(readable: ReadableDocuments) -> list[Document]:
    """Read documents at equal distances: in one piece of work, as each costs two changes of threads."""
    paths = [*readable.stamps()]
    documents: list[Document] = []
    for path in paths[:: max(len(paths) // DOCUMENTS, 1)]:
        with suppress(UnreadableDocumentError):
            documents += filter(None, [readable.read(path)])
    return documents


def joined(found: SearchResult, house: SearchResult, most: int) -> SearchResult:
    """Return the best *most* hits of both results: each of *house* stands before the first other one that fits less."""
    hits: list[Hit] = [*found.hits, *found.rest]
    for hit in (structs.replace(each, is_house=True) for each in (*house.hits, *house.rest)):
        place = next((place for place, other in enumerate(hits) if other.score < hit.score), len(hits))
        hits.insert(place, hit)
    rest = tuple(each for each in hits[most:] if each.score >= CLEAR or not each.is_house)  # others tell nothing
    is_house = any(each.is_house for each in (*hits[:most], *rest))  # what is left out is named to the model too
    return replace(found, hits=tuple(hits[:most]), rest=rest, is_house=is_house)
