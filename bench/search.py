"""Benchmark of memory search as used by a turn: through the worker's pipe, the query's embedding included.

strandline bench search [--entries 5000] [--searches 200]
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bench.figures import Figure, at_most, resident_mb
from bench.made_notes import TODAY, daily_notes, questions
from workspaces.access import PRIVATE, Access, AgentId, SessionType
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.workspace import Workspace

AGENT = AgentId("bench")
OWNER = Access(AGENT, SessionType.MAIN, PRIVATE, "terminal:0", 0, frozenset())
RUNS = 5

P = ParamSpec("P")
T = TypeVar("T")


async def in_place(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run *function* here: a benchmark keeps nobody else waiting."""
    return function(*args, **kwargs)


def write_notes(folder: Path, entries: int) -> None:
    """Fill *folder* with daily notes of *entries* lines."""
    (folder / "memory").mkdir(parents=True)
    for day, text in daily_notes(entries):
        (folder / "memory" / f"{day}.md").write_text(text)


async def run(entries: int = 5_000, searches: int = 200) -> list[Figure]:
    """Index *entries* generated lines and search them in five runs of *searches*, warm; return the figures."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_notes(home / "workspace", entries)
        async with WorkerClient(WorkerSettings()) as worker:
            index = _index(home, worker)
            indexing_s = await _timed(index.sync())
            runs = [await _search_times(index, searches) for _ in range(RUNS)]
            status = await index.status()
            at = f"at {status.entries:,} entries"
            medians = [statistics.median(times) * 1000 for times in runs]
            worst = [statistics.quantiles(times, n=100)[98] * 1000 for times in runs]
            return [
                Figure(f"indexing, {at}", [status.entries / indexing_s], "entries/s"),
                Figure(f"memory search, {at}, median", medians, "ms", at_most(10), "OpenClaw 183"),
                Figure(f"memory search, {at}, 99th percentile", worst, "ms"),
                Figure("memory worker, resident", [resident_mb(worker.pid or os.getpid())], "MB"),
                Figure("gateway's side of memory, resident", [resident_mb(os.getpid())], "MB"),
                Figure("index on disk", [_disk_mb(home / "index")], "MB"),
            ]


def _index(home: Path, worker: WorkerClient) -> MemoryIndex:
    workspace = Workspace.open(home / "workspace", AGENT)
    clock = MemoryClock(time.monotonic, lambda: TODAY)
    return MemoryIndex(AGENT, home / "index", [WorkspaceNotes(workspace.folder)], worker, in_place, clock)


async def _timed(work: Any) -> float:
    start = time.perf_counter()
    await work
    return time.perf_counter() - start


async def _search_times(index: MemoryIndex, searches: int) -> Sequence[float]:
    for question in questions(20):
        await index.search(Query(question), OWNER)
    return [await _timed(index.search(Query(question), OWNER)) for question in questions(searches)]


def _disk_mb(folder: Path) -> float:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
