"""`python -m bench.growth`: the memory and the disk that an index takes while conversations only grow.

The worker's own classes run in this process, with made vectors as in `bench.sizes`; messages of 50 and 90 words arrive
in 30 conversations, fifty at a time. Own memory is measured after unused memory was given back, as the worker does when
it rests, at multiples of 12,000 passages, where the engine has just moved all words into files.
"""

import argparse
import os
import random
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.figures import Figure, at_most, resident_mb
from bench.index_size import megabytes
from bench.sizes import unit_rows
from bench.talk import prose
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedding, QueryEmbedding
from workspaces.memory.index.index import Index
from workspaces.memory_trim import avoid_holes, give_back

CHATS = 30
AT_ONCE = 25
"""Messages, and answers, of a conversation between two rounds of indexing."""
STEP = 12_000
"""A multiple of `collection.FRESH`."""
GOAL_KB, GOAL_DISK_KB = 0.14, 8.0


class SpokenVectors:
    """Random vectors, one token vector a word up to 50, deterministic by text."""

    name = "made"
    languages = "none"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return random unit vectors for each of *texts*."""
        return [self._made(text) for text in texts]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Not needed: nothing is searched."""
        raise NotImplementedError

    def _made(self, text: str) -> Embedding:
        words = text.split()[:50]
        chance = np.random.default_rng(zlib.crc32(text.encode()))
        pieces = frozenset(zlib.crc32(word.encode()) % 30_000 for word in words)
        tokens = unit_rows(chance, len(words), TOKEN_DIMENSION).astype(np.float16)
        return Embedding(unit_rows(chance, 1, self.dimension)[0], tokens, pieces)


def figures(passages: int) -> list[Figure]:
    """Measure in a separate process, whose memory is the index's alone."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as at the worker's start; inherited by the process
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_figures, passages).result()


def _figures(passages: int) -> list[Figure]:
    avoid_holes()
    with tempfile.TemporaryDirectory(prefix="strandline-bench-") as name:
        folder = Path(name)
        index = Index(folder / "index", SpokenVectors())
        own: list[float] = []
        for document in _talk(folder / "talk", passages):
            for _ in index.building.put(document, document.digest):
                pass
            index.commit(complete=True)
            if len(index.building.manifest.points) >= STEP * (len(own) + 1):
                own.append(_own_mb())
        held = len(index.building.manifest.points)
        index.close()
        disk_kb = 1000 * megabytes(folder / "index") / held
        del index
        before = _own_mb()
        index = Index(folder / "index", SpokenVectors())
        opened_kb = 1024 * (_own_mb() - before) / held
        index.close()
    grown = [1024 * (later - earlier) / STEP for earlier, later in pairwise(own)]
    return [
        Figure(f"own memory a passage while {held:,} are indexed", grown, "kB", at_most(GOAL_KB)),
        Figure(f"own memory a passage, {held:,} opened again", [opened_kb], "kB", at_most(GOAL_KB)),
        Figure("disk a passage", [disk_kb], "kB", at_most(GOAL_DISK_KB)),
    ]


def _talk(folder: Path, passages: int) -> Iterator[Document]:
    """Yield conversations as they grow; they are files, so that they take no memory here."""
    folder.mkdir()
    dice, day, chats = random.Random(1), date(2026, 3, 7), [folder / f"{number}.md" for number in range(CHATS)]
    for file in chats:
        file.write_text(f"## {day}\n\n")
    for number in range(passages // (2 * AT_ONCE)):
        file = chats[number % CHATS]
        with file.open("a") as talk:
            for minute in range(AT_ONCE):
                talk.write(f"[10:{minute:02d}] Owner: {prose(dice, 50)}\n[10:{minute:02d}] main: {prose(dice, 90)}\n")
        yield Document(f"sessions/{file.name}", PRIVATE, file.read_text(), day, str(number))


def _own_mb() -> float:
    give_back()
    return resident_mb(os.getpid(), "RssAnon")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.growth")
    parser.add_argument("--passages", type=int, default=36_000)
    for figure in figures(parser.parse_args().passages):
        print(figure.line())


if __name__ == "__main__":
    main()
