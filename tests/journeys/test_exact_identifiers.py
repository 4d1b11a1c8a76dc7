"""Search for sixty identifiers of one shape in a year of notes, with the real engine."""

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding, QueryEmbedding
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index

FIRST_DAY = date(2025, 3, 8)
DAYS = 365
PREFIXES = ("GLYPH", "RUNE", "SIGIL", "MARK", "SEAL")
ASKED = ("{}", "what was {} about?", "where did I note down {} in the garden list", "{} status".lower())


class UselessEmbedder:
    """Gives every text vectors that have nothing to do with it."""

    name = "useless"
    dimension = 8
    languages = "none"

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return noise."""
        return [
            Embedding(self._rows(1, 8)[0], self._rows(4, TOKEN_DIMENSION).astype(np.float16), frozenset({1}))
            for _ in texts
        ]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return noise."""
        return QueryEmbedding(self._rows(1, 8)[0], self._rows(2, TOKEN_DIMENSION), (1, 2))

    def _rows(self, count: int, dimension: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        rows = self._random.normal(size=(count, dimension)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def planted() -> dict[str, date]:
    """Sixty ids over the year, a fifth of them with each prefix, numbers that differ by one digit."""
    days = random.Random(1).sample(range(DAYS), 60)
    return {f"{PREFIXES[n % 5]}-{12_340 + n // 5}": FIRST_DAY + timedelta(day) for n, day in enumerate(days)}


def year_of_notes() -> Iterator[Document]:
    ids = {day: name for name, day in planted().items()}
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(number)
        lines = [f"- watered the garden and the {word} on the list" for word in ("roses", "beans")]
        lines += [f"- status of the list: {number} points, GLYPH of the day"]
        lines += [f"- {ids[day]} goes into the blue box"] if day in ids else []
        yield Document(f"memory/{day}.md", PRIVATE, "\n".join(lines), day, f"digest {number}")


@pytest.mark.parametrize("embedder", [None, UselessEmbedder()], ids=["keywords alone", "useless vectors"])
def test_an_identifier_is_found_first_at_any_age(embedder: Embedder | None, tmp_path: Path) -> None:
    """Sixty of sixty, bare, in a question, among words of other notes, and in small letters."""
    index = Index(tmp_path, embedder)
    for document in year_of_notes():
        for _ in index.building.put(document, document.digest):
            pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
    today = FIRST_DAY + timedelta(DAYS)
    missed = []
    for number, name in enumerate(planted()):
        query = ASKED[number % len(ASKED)].format(name if number % 2 else name.lower())
        [best] = finder.find(SearchRequest(query, None, DayRange(None, None), 1, None, today))
        missed += [] if name in best.entry.text else [query]
    index.close()
    assert missed == []
