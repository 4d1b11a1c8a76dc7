"""Benchmark of search in growing indexes, beside sqlite-vec and FTS5 in the same run, question by question.

python -m bench.sizes 1000 10000 100000      # 100,000 take some five minutes to build

The entries' vectors are random, not computed by the model: an exact search takes as long over random vectors as over
real ones, and a hundred thousand texts would take the model a quarter of an hour. Questions use the real model. The
worker's own classes are called in this process; `bench.search` measures the overhead of the pipe.
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bench.figures import Figure, Goal, at_least, at_most, resident_mb
from bench.made_notes import TODAY, daily_notes, questions
from bench.sqlite_way import SqliteWay
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedding, QueryEmbedding
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.engine import DayRange, FloatArray
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index, layout
from workspaces.memory.text.chunking import entries_of

TOKENS = 16
"""Token vectors per entry: as many as a note of 20 words has after stop words."""
PIECES = 30_000
"""Word pieces of the model's vocabulary."""
WARM = 20
"""Searches before the measurement."""
RESULTS = 6


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of one search, wall-clock and CPU: the second is more reliable on a shared machine."""

    wall_ms: float
    cpu_ms: float


class MadeVectors:
    """A stand-in for the model: random vectors for entries, deterministic by text; the real model for questions."""

    name = "made"
    languages = "none"

    def __init__(self) -> None:
        self._model = LocalEmbedder()
        self.dimension = self._model.dimension

    def is_word(self, text: str) -> bool:
        """Tell what the model does: a query's words that no note holds would count as misspelt otherwise."""
        return self._model.is_word(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return a random unit vector and 16 random token vectors for each of *texts*."""
        return [self._made(np.random.default_rng(zlib.crc32(text.encode()))) for text in texts]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the model's embedding."""
        return self._model.embed_query(text)

    def _made(self, chance: np.random.Generator) -> Embedding:
        tokens = unit_rows(chance, TOKENS, TOKEN_DIMENSION).astype(np.float16)
        pieces = frozenset(chance.integers(1_000, PIECES, TOKENS).tolist())
        return Embedding(unit_rows(chance, 1, self.dimension)[0], tokens, pieces)


def unit_rows(chance: np.random.Generator, rows: int, columns: int) -> FloatArray:
    """Return random rows of length 1."""
    made = chance.standard_normal((rows, columns), dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def figures(entries: int, searches: int) -> list[Figure]:
    """Measure one size in a separate process, so that its memory is that size's alone."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as at the worker's start; inherited by the process
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_figures, entries, searches).result()


def _figures(entries: int, searches: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="strandline-bench-") as name:
        embedder, documents = MadeVectors(), list(made_documents(entries))
        before = resident_mb(os.getpid())
        build_s = _timed(lambda: _build(Path(name) / "ours", embedder, documents))
        opened = time.perf_counter()
        index = Index(Path(name) / "ours", embedder)
        open_ms = 1000 * (time.perf_counter() - opened)
        other = SqliteWay(Path(name) / "sqlite.db", embedder.dimension)
        other.store((e.text, embedder.embed([e.text])[0].pooled) for d in documents for e in entries_of(d))
        ours, theirs = _race(index, embedder, other, searches)
        used = resident_mb(os.getpid()) - before
        disk = _disk_mb(Path(name) / "ours" / layout(embedder)), _disk_mb(Path(name) / "sqlite.db")
        index.close()
        other.close()
    at = f"{entries:,} entries"
    return [
        *_latency(f"search, {at}", ours, at_most(8 if entries <= 10_000 else 25)),
        *_latency(f"sqlite-vec + FTS5, {at}", theirs),
        Figure(
            f"as fast as that, {at}", [_ratio(_wall(theirs), _wall(ours))], "x", at_least(1 if entries < 100_000 else 4)
        ),
        Figure(f"as fast as that by CPU, {at}", [_ratio(_cpu(theirs), _cpu(ours))], "x"),
        Figure(f"opening the index, {at}", [open_ms], "ms"),
        Figure(f"ready vectors stored, {at}", [entries / build_s], "entries/s"),
        Figure(f"memory, both, {at}", [used], "MB"),
        Figure(f"index on disk, {at}", [disk[0]], "MB"),
        Figure(f"sqlite-vec + FTS5 on disk, {at}", [disk[1]], "MB"),
    ]


def made_documents(entries: int) -> Iterator[Document]:
    """Yield daily notes of *entries* lines."""
    for day, text in daily_notes(entries):
        yield Document(f"memory/{day}.md", PRIVATE, text, day, str(day))


def _build(folder: Path, embedder: MadeVectors, documents: Sequence[Document]) -> None:
    index = Index(folder, embedder)
    for document in documents:
        for _ in index.building.put(document, document.digest):
            pass
    index.commit(complete=True)
    index.close()


def _race(index: Index, embedder: MadeVectors, other: SqliteWay, searches: int) -> tuple[list[Spent], list[Spent]]:
    """Run each question on both, so that a busy machine slows both.

    They alternate in going first: the second finds the question and the model in the CPU caches.
    """
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    ours: list[Spent] = []
    theirs: list[Spent] = []
    for number, question in enumerate(questions(WARM + searches)):
        asked = SearchRequest(question, None, DayRange(None, None), RESULTS, None, TODAY)
        both: list[tuple[list[Spent], Callable[[], object]]] = [
            (ours, partial(finder.find, asked)),
            (theirs, partial(_as_they_do, other, embedder, question)),
        ]
        for times, work in both if number % 2 else reversed(both):
            times.append(_spent(work))
    return ours[WARM:], theirs[WARM:]


def _as_they_do(other: SqliteWay, embedder: MadeVectors, question: str) -> Sequence[str]:
    return other.search(question, embedder.embed_query(question).pooled, RESULTS)


def _latency(name: str, spent: Sequence[Spent], goal: Goal | None = None) -> list[Figure]:
    wall, cpu = _wall(spent), _cpu(spent)
    return [
        Figure(f"{name}, median", [statistics.median(wall)], "ms", goal),
        Figure(
            f"{name}, 99th percentile", [_slowest(wall)], "ms", at_most(3 * statistics.median(wall)) if goal else None
        ),
        Figure(f"{name}, CPU, median", [statistics.median(cpu)], "ms"),
        Figure(f"{name}, CPU, 99th percentile", [_slowest(cpu)], "ms"),
    ]


def _wall(spent: Sequence[Spent]) -> list[float]:
    return [each.wall_ms for each in spent]


def _cpu(spent: Sequence[Spent]) -> list[float]:
    return [each.cpu_ms for each in spent]


def _slowest(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def _ratio(theirs: Iterable[float], ours: Iterable[float]) -> float:
    return statistics.median(theirs) / statistics.median(ours)


def _spent(work: Callable[[], object]) -> Spent:
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _disk_mb(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.name}*")
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file()) / 1e6


if __name__ == "__main__":
    for size in map(int, sys.argv[1:]):
        print(*(figure.line() for figure in figures(size, 200)), sep="\n", flush=True)
