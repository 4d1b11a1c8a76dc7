"""Search in an agent's notes as of an earlier day, in a temporary index."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import date
from pathlib import Path, PurePosixPath
from uuid import uuid4

from msgspec import Struct, field, structs

from workspaces.access import Access, AgentId, Scope, readable_scopes
from workspaces.house import HouseFolders
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.entry import Document
from workspaces.memory.exact_search import ExactQuery, ExactResult
from workspaces.memory.query import Query
from workspaces.memory.search_result import SearchResult
from workspaces.memory.source_index import MemoryClock, SourceIndex
from workspaces.memory.sync import WorkerCalls
from workspaces.memory.wire import AS_OF
from workspaces.memory.workspace_source import OthersLines, audience_of, document_of, is_note
from workspaces.run_blocking import RunBlocking

TextsOn = Callable[[date, Access], Awaitable[Mapping[PurePosixPath, str]]]
"""Returns every file's text at the end of a day, as far as a turn sees it. Raises WorkspaceError."""


class EarlierNotes:
    """The `Source` of notes as of an earlier day; their audience is decided by each note's path, as today."""

    def __init__(
        self,
        texts: Mapping[PurePosixPath, str],
        others_lines: OthersLines = lambda *_: (),
        house: HouseFolders | None = None,
    ) -> None:
        """*texts* are the files of that time, as far as a turn sees them; only the notes among them are used.

        *others_lines* tells which lines hold others' words, as is known today; *house* folders stay on the owner's
        machines.
        """
        self._house = house
        self._others_lines = others_lines
        self._texts = {str(path): text for path, text in texts.items() if is_note(path)}

    def stamps(self) -> dict[str, str]:
        """Return a hash of each note by path."""
        return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in self._texts.items()}

    def read(self, path: str) -> Document | None:
        """Return the note, or `None` if there was none."""
        text = self._texts.get(path)
        if text is None:
            return None
        place = PurePosixPath(path)
        return document_of(place, text.removeprefix("\ufeff"), self._others_lines(place, text), self._house)

    def audience(self, path: str) -> Scope | None:
        """Return the audience of the note at *path*; `None` if it is not a note's path."""
        return audience_of(path)


class Lookback(Struct, frozen=True):
    """The `Past` of one agent, based on its history.

    The temporary index holds only files visible to the turn, and the search is limited to the turn's scopes as every
    other. Texts that are still in the notes are in the embedding cache, so that the model rarely runs.
    """

    agent: AgentId
    folder: Path
    """The agent's index folder."""
    texts_on: TextsOn
    worker: WorkerCalls
    run: RunBlocking
    monotonic: Callable[[], float]
    others_lines: OthersLines = lambda *_: ()
    house: HouseFolders | None = None
    held: Callable[[frozenset[Scope] | None], bool] = lambda _: False
    """Tells whether a file of some scopes, or any, once had the mark `house`, or may have had it."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def held_house(self, access: Access) -> bool:
        """Tell whether some of those that *access* may read stay on the owner's machines, or may have to."""
        return self.held(readable_scopes(access))

    async def search(self, query: Query, access: Access, day: date) -> SearchResult:
        """Return the notes of *day* that match *query*. Raises WorkspaceError."""
        notes = EarlierNotes(await self.texts_on(day, access), self.others_lines, self.house)
        async with self._index(day, notes) as index:
            found = await index.search(structs.replace(query, as_of=None), access)
        hits = tuple(structs.replace(hit, as_of=day) for hit in found.hits)
        return SearchResult(hits, found.mode, _notice(day, notes, found.notice))

    async def find_exact(self, query: ExactQuery, access: Access, day: date) -> ExactResult:
        """Return the lines of *day* that contain a text. Raises WorkspaceError."""
        notes = EarlierNotes(await self.texts_on(day, access), self.others_lines, self.house)
        async with self._index(day, notes) as index:
            found = await index.find_exact(structs.replace(query, as_of=None), access)
        return ExactResult(
            tuple(structs.replace(match, as_of=day) for match in found.matches), _notice(day, notes, found.notice)
        )

    @asynccontextmanager
    async def _index(self, day: date, notes: EarlierNotes) -> AsyncIterator[SourceIndex]:
        folder = self.folder / AS_OF / uuid4().hex
        async with self._one_at_a_time:
            index = SourceIndex(
                self.agent, folder, [notes], self.worker, self.run, MemoryClock(self.monotonic, lambda: day)
            )
            try:
                yield index
            finally:
                if index.is_open:  # after a worker's death, cleanup happens when it next opens the agent's index
                    with suppress(MemoryUnavailableError):
                        await self.worker.call("discard", folder, {})


def _notice(day: date, notes: EarlierNotes, notice: str) -> str:
    known = f"the notes as they were at the end of {day}, without conversations"
    return "; ".join(filter(None, (notice, known if notes.stamps() else f"the history holds no note of {day}")))
