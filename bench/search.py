"""Benchmark of memory search as used by a turn: through the worker's pipe, the query's embedding included.

python -m bench.search [--entries 5000] [--searches 200] [--sizes 1000 10000 100000] [--locomo FILE]

`--sizes` measures the search itself at other sizes beside sqlite-vec + FTS5 (bench/sizes.py); 100,000 entries take some
five minutes to build, so they are optional.
"""

import argparse
import asyncio
import json
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


def write_locomo(folder: Path, file: Path) -> int:
    """Write the first conversation of *file*, in LoCoMo's format, as daily notes; return its turns."""
    conversation = json.loads(file.read_text())[0]["conversation"]
    (folder / "memory").mkdir(parents=True)
    turns = 0
    for number in range(1, 100):
        session = conversation.get(f"session_{number}")
        if session:
            lines = "".join(f"{turn['speaker']}: {turn['text']}\n\n" for turn in session)
            (folder / "memory" / f"2023-01-{number % 28 + 1:02d}-{number}.md").write_text(lines)
            turns += len(session)
    return turns


async def search_figures(entries: int, searches: int) -> list[Figure]:
    """Index *entries* generated lines and search them in five runs of *searches*, warm."""
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


async def locomo_figures(file: Path) -> list[Figure]:
    """Index one conversation of *file*."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        turns = write_locomo(home / "workspace", file)
        async with WorkerClient(WorkerSettings()) as worker:
            seconds = await _timed(_index(home, worker).sync())
    return [Figure(f"indexing {turns} turns, worker's start included", [seconds], "s")]


async def run(entries: int = 5_000, searches: int = 200) -> list[Figure]:
    """Return the figures of this bench."""
    return await search_figures(entries, searches)


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


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.search")
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--locomo", type=Path)
    options = parser.parse_args()
    figures = asyncio.run(run(options.entries, options.searches))
    from bench import sizes  # after measuring the gateway's side: this loads the engine and the model

    for size in options.sizes:
        figures += sizes.figures(size, options.searches)
    if options.locomo:
        figures += asyncio.run(locomo_figures(options.locomo))
    for figure in figures:
        print(figure.line())


if __name__ == "__main__":
    main()
