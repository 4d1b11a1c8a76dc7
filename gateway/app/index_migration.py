"""Migration of an agent's index to a Qdrant server: it is rebuilt there from the files, and compared.

Nothing is changed here: the index is a function of the files, so that the settings alone decide which one is used.
"""

import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from gateway.app.agents import memory_sources, open_workspaces
from gateway.app.memory_worker import SERVER_PATIENCE_S, memory_worker
from gateway.config import Config, QdrantSettings, owner_zone
from gateway.home import FOLDER_MODE, Home
from gateway.runtime.threads import Threads
from workspaces.access import Access, AgentId, owner_access
from workspaces.fault_points import unchecked
from workspaces.history import LineOrigins, saved_beside
from workspaces.memory.client import WorkerClient
from workspaces.memory.entry import UnreadableDocumentError
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.workspace_source import WorkspaceNotes

SAMPLES = 200
"""Lines of each agent's notes that are searched for in both indexes."""
LONGEST_SAMPLE = 200
NEAR = 0.001
"""Scores that differ by less are equal: two engines add up in different orders."""
_STORE = "texts.db"

Progress = Callable[[str, int, int], None]
"""Called with the agent, and how many of how many files are indexed on the server."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The outcome for one agent's index."""

    agent: str
    entries_here: int
    entries_there: int
    queries: int
    different: tuple[str, ...]
    """Queries with different answers; none if the migration may be made."""

    @property
    def is_same(self) -> bool:
        """Whether the server answers as this machine does."""
        return self.entries_here == self.entries_there and not self.different


async def build_on_server(
    home: Home, config: Config, server: QdrantSettings, environ: Mapping[str, str], progress: Progress
) -> list[Compared]:
    """Index every agent's notes on *server* and compare; the caller holds the home's lock.

    The new index stays there, and is used once the settings name the server. Raises ConfigError for a missing secret,
    MemoryUnavailableError if one of the indexes is unavailable.
    """
    zone = owner_zone(config.owner.time_zone, environ).zone
    clock = MemoryClock(time.monotonic, lambda: datetime.now(zone).date())
    if (key := server.api_key()) is not None:
        key.read(environ)
    settings = memory_worker(config, environ)
    there = memory_worker(config.model_copy(update={"qdrant": server}), environ)
    patience_s = SERVER_PATIENCE_S if settings.qdrant else None
    place = home.control_file.parent / "moving"
    shutil.rmtree(place, ignore_errors=True)
    async with AsyncExitStack() as stack:
        workspaces = stack.enter_context(open_workspaces(home, config, unchecked))
        here = await stack.enter_async_context(WorkerClient(settings))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        worker = await stack.enter_async_context(WorkerClient(there))
        compared = []
        for name, workspace in workspaces.items():
            run = stack.enter_context(closing(Threads(f"workspace-{name}")))
            sources, index = (
                memory_sources(home, config, workspace, zone, _origins(home.agent(name).history)),
                home.agent(name).index,
            )
            memory = MemoryIndex(name, index, sources, here, run, clock, answers_within_s=patience_s)
            await memory.sync()
            # The server's collection is named after the folder's own name and the one two above it.
            folder = place / name / "index"
            take_embeddings(index, folder)
            other = MemoryIndex(name, folder, sources, worker, run, clock)
            await other.sync(partial(progress, name))
            questions = await run(samples, WorkspaceNotes(workspace.folder))
            compared.append(await _compare(name, memory, other, questions))
        return compared


def take_embeddings(index: Path, folder: Path) -> None:
    """Copy the texts' embeddings: no text is embedded or paid for twice."""
    folder.mkdir(mode=FOLDER_MODE, parents=True)
    if (index / _STORE).exists():
        with closing(sqlite3.connect(index / _STORE)) as known, closing(sqlite3.connect(folder / _STORE)) as copy:
            known.backup(copy)


async def _compare(agent: AgentId, memory: MemoryIndex, other: MemoryIndex, questions: Sequence[str]) -> Compared:
    here, there = await memory.status(), await other.status()
    access = owner_access(agent, "terminal:owner")
    different = [
        question
        for question in questions
        if not is_same(await _scores(memory, question, access), await _scores(other, question, access))
    ]
    return Compared(agent, here.entries, there.entries, len(questions), tuple(different))


def samples(source: WorkspaceNotes) -> list[str]:
    """Return lines of the notes, evenly spread over all of them."""
    lines: list[str] = []
    for path in sorted(source.stamps()):
        try:
            document = source.read(path)
        except UnreadableDocumentError:
            continue
        lines += [line.strip("-*# ")[:LONGEST_SAMPLE] for line in (document.text if document else "").splitlines()]
    lines = [line for line in dict.fromkeys(lines) if len(line.split()) > 1]
    return lines[:: max(1, -(-len(lines) // SAMPLES))]


async def _scores(memory: MemoryIndex, question: str, access: Access) -> tuple[str, dict[str, float]]:
    result = await memory.search(Query(question), access)
    return result.mode, {hit.citation: hit.score for hit in result.hits}


def is_same(one: tuple[str, Mapping[str, float]], other: tuple[str, Mapping[str, float]]) -> bool:
    """Return whether two answers, each a mode and scores by citation, are equal up to rounding.

    At the end of a list, passages of the same score are interchangeable.
    """
    (mode, mine), (other_mode, theirs) = one, other
    if mode != other_mode or len(mine) != len(theirs):
        return False
    last = min(mine.values(), default=0.0)
    kept = [citation for citation, score in mine.items() if score > last + NEAR]
    pairs = zip(sorted(mine.values()), sorted(theirs.values()), strict=True)
    return all(citation in theirs for citation in kept) and all(abs(a - b) <= NEAR for a, b in pairs)


def _origins(git_dir: Path) -> LineOrigins:
    """Return the line origins as the gateway last saved them."""
    origins = LineOrigins()
    origins.load(saved_beside(git_dir))
    return origins
