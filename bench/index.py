"""Benchmark of indexing against the model's own speed: the same texts in the same run, alternating.

strandline bench index [--entries 1000] [--passages 150] [--rounds 3]

The full path is that of `strandline memory index`: files, the gateway's reading, the pipe, splitting, embedding,
storing, the flush, and one search that finds the last entry. The bare model embeds the same texts on as many cores, in
a process that does nothing else. The goal concerns wall-clock time, which means little on a busy machine; the CPU time
of all processes is given beside it.
"""

import asyncio
import itertools
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from bench.figures import Figure, at_least, at_most
from bench.index_size import megabytes
from bench.made_notes import TODAY, daily_notes, note
from bench.search import AGENT, OWNER, in_place
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.text.chunking import CHUNK_TOKENS, entries_of, token_count
from workspaces.memory.text.dialogue import without_time
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.workspace import Workspace

GOAL = at_least(90)
DAYS, LINES_A_DAY, LINE = 365, 192, 86
THREADS = WorkerSettings().threads


@dataclass(frozen=True, slots=True)
class Pace:
    """Time for a number of texts."""

    texts: int
    wall_s: float
    processor_s: float
    """CPU time of all processes and threads."""
    disk_mb: float = 0.0

    @property
    def a_second(self) -> float:
        """Texts a second of wall-clock time."""
        return self.texts / self.wall_s

    @property
    def processor_ms(self) -> float:
        """Milliseconds of CPU time per text."""
        return 1000 * self.processor_s / self.texts


async def run(entries: int = 1_000, passages: int = 150, rounds: int = 3, days: int = 36) -> list[Figure]:
    """Return the figures for daily notes of *entries* short lines, and for *passages* of the maximum chunk length.

    A year of long notes is reckoned from *days* of them.
    """
    kinds = {"lines of 20 words": list(daily_notes(entries)), "passages of 400 tokens": list(long_notes(passages))}
    found = [figure for kind, notes in kinds.items() if notes for figure in await _figures(kind, notes, rounds)]
    if not days:
        return found
    done, name = await _index(list(full_days(days))), f"365 notes of 16 kB, reckoned from {days}"
    return [
        *found,
        Figure(f"index of {name}", [done.wall_s * DAYS / days], "s", at_most(60), "OpenClaw 43"),
        Figure(f"index of {name}, on disk", [done.disk_mb * DAYS / days], "MB", at_most(150), "OpenClaw 69"),
    ]


def full_days(days: int) -> Iterator[tuple[date, str]]:
    """Yield *days* of 192 lines of 86 characters: 6.0 MB in a year."""
    chance, numbers = random.Random(17), itertools.count()
    for back in range(days):
        lines = (note(chance, next(numbers))[: LINE - 2].ljust(LINE - 2, ".") for _ in range(LINES_A_DAY))
        yield TODAY - timedelta(days=back), "".join(f"- {line}\n" for line in lines)


def long_notes(passages: int) -> Iterator[tuple[date, str]]:
    """Yield one note of *passages* paragraphs, each barely short enough not to be split."""
    chance = random.Random(13)
    if passages:
        yield TODAY, "\n\n".join(_passage(chance, number) for number in range(passages)) + "\n"


def _passage(chance: random.Random, number: int) -> str:
    text = note(chance, number)
    while token_count(longer := f"{text}. {note(chance, number)}") <= CHUNK_TOKENS:
        text = longer
    return text


async def _figures(kind: str, notes: Sequence[tuple[date, str]], rounds: int) -> list[Figure]:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in the worker: its threads would wait for each other
    bare, whole = [], []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        for _ in range(rounds):
            done = await _index(notes)
            whole.append(done)
            bare.append(await asyncio.wrap_future(process.submit(_embed, notes)))
            assert bare[-1].texts == done.texts
    pairs = list(zip(whole, bare, strict=True))
    return [
        Figure(f"the bare model, {kind}", [each.a_second for each in bare], "texts/s"),
        Figure(f"indexing, {kind}", [each.a_second for each in whole], "entries/s"),
        Figure(f"share of the model's speed, {kind}", [100 * w.a_second / b.a_second for w, b in pairs], "%", GOAL),
        Figure(f"processor time of the model, {kind}", [each.processor_ms for each in bare], "ms/text"),
        Figure(f"processor time of indexing, {kind}", [each.processor_ms for each in whole], "ms/entry"),
        Figure(
            f"the model's share of it, {kind}", [100 * b.processor_ms / w.processor_ms for w, b in pairs], "%", GOAL
        ),
    ]


async def _index(notes: Sequence[tuple[date, str]]) -> Pace:
    """Index *notes* until the last of them is found; the worker and its model are loaded and warm."""
    with tempfile.TemporaryDirectory(prefix="strandline-bench-") as name:
        home = Path(name)
        (home / "workspace" / "memory").mkdir(parents=True)
        async with WorkerClient(WorkerSettings()) as worker:
            workspace = Workspace.open(home / "workspace", AGENT)
            clock = MemoryClock(time.monotonic, lambda: TODAY)
            sources = [WorkspaceNotes(workspace.folder)]
            index = MemoryIndex(AGENT, home / "index", sources, worker, in_place, clock)
            (home / "workspace" / "MEMORY.md").write_text("- warm enough\n")
            await index.search(Query("Is it warm?"), OWNER)
            for day, text in notes:
                (home / "workspace" / "memory" / f"{day}.md").write_text(text)
            began, used = time.perf_counter(), _processor_s(worker.pid)
            report = await index.sync()
            found = await index.search(Query(notes[-1][1].splitlines()[-1]), OWNER)
            wall_s, processor_s = time.perf_counter() - began, _processor_s(worker.pid) - used
            assert f"memory/{notes[-1][0]}.md" in {hit.path for hit in found.hits}
            return Pace(report.embedded, wall_s, processor_s, megabytes(home / "index"))


def _embed(notes: Sequence[tuple[date, str]]) -> Pace:
    """Embed the same texts alone; the model is loaded and warm."""
    from workspaces.access import PRIVATE
    from workspaces.memory.entry import Document
    from workspaces.memory.index.embeddings.local import LocalEmbedder

    documents = (Document(f"memory/{day}.md", PRIVATE, text, day, text) for day, text in notes)
    texts = list(dict.fromkeys(without_time(entry.text) for each in documents for entry in entries_of(each)))
    model = LocalEmbedder(threads=THREADS)
    model.embed(texts[:2])
    return _paced(len(texts), lambda: model.embed(texts))


def _paced(texts: int, work: Callable[[], object]) -> Pace:
    began, used = time.perf_counter(), time.process_time()
    work()
    return Pace(texts, time.perf_counter() - began, time.process_time() - used)


def _processor_s(worker: int | None) -> float:
    """Return the CPU time of this process and the worker."""
    if worker is None:
        return time.process_time()
    fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
