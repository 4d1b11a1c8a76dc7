"""Scores by token vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from workspaces.memory.index.embeddings import TOKEN_DIMENSION
from workspaces.memory.index.engine import FloatArray, PointId
from workspaces.memory.index.late_interaction import LateInteraction, TextId, pack

CHANCE = np.random.default_rng(1)


@dataclass(frozen=True)
class Texts:
    """The texts of an entry."""

    own: TextId
    before: TextId


class Store(dict[TextId, FloatArray]):
    """Token vectors by text, which remembers what it was asked for."""

    def __init__(self, texts: dict[TextId, FloatArray]) -> None:
        super().__init__(texts)
        self.asked: list[TextId] = []

    def tokens(self, ids: Sequence[TextId]) -> dict[TextId, bytes]:
        self.asked += ids
        return {id_: pack(self[id_]) for id_ in ids if id_ in self}


def _rows(count: int) -> FloatArray:
    rows = CHANCE.standard_normal((count, TOKEN_DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _max_sim(query: FloatArray, *texts: FloatArray) -> float:
    return float((query @ np.concatenate(texts).T).max(axis=1).sum())


def test_scores_are_those_of_the_whole_vectors() -> None:
    """MaxSim over an entry's own token vectors, and over these with those before, within a thousandth a query's row."""
    store, query = Store({1: _rows(7), 2: _rows(1), 3: _rows(300)}), _rows(5)
    entries = {PointId(8): Texts(1, 0), PointId(9): Texts(2, 1), PointId(10): Texts(3, 2)}
    own, both = LateInteraction(entries, store).score(query, list(entries))
    assert own == pytest.approx([_max_sim(query, store[text]) for text in (1, 2, 3)], abs=5e-3)
    pairs = (store[1],), (store[2], store[1]), (store[3], store[2])
    assert both == pytest.approx([_max_sim(query, *texts) for texts in pairs], abs=5e-3)
    assert len(store.asked) == len(set(store.asked))


def test_without_token_vectors_the_score_is_zero() -> None:
    """Of a text without meaningful words, of one that is gone; the entry before still counts for both together."""
    store, query = Store({1: _rows(0), 2: _rows(4)}), _rows(3)
    entries = {PointId(1): Texts(1, 0), PointId(2): Texts(7, 8), PointId(3): Texts(1, 2)}
    own, both = LateInteraction(entries, store).score(query, list(entries))
    assert own.tolist() == [0, 0, 0]
    assert both == pytest.approx([0, 0, _max_sim(query, store[2])], abs=5e-3)


def test_no_bit_of_a_score_depends_on_the_numbers_of_texts() -> None:
    """Private texts shift the numbers of those that a group may read."""
    texts, query = [_rows(count) for count in (3, 9, 1, 30, 12)], _rows(9)
    found = []
    for shift in ([1, 2, 3, 4, 5], [50, 40, 30, 20, 10], [2, 9, 4, 1, 7]):
        store = Store(dict(zip(shift, texts, strict=True)))
        entries = {PointId(n): Texts(shift[n], shift[n - 1] if n else 0) for n in range(5)}
        own, both = LateInteraction(entries, store).score(query, list(entries))
        found.append((own.tolist(), both.tolist()))
    assert found == [found[0]] * 3


def test_token_vectors_of_any_length_are_packed() -> None:
    """Whatever the largest number is; zeros stay zeros."""
    rows = np.concatenate([_rows(2), 0.01 * _rows(1), np.zeros((1, TOKEN_DIMENSION), np.float32)])
    store = Store({1: rows})
    for row, query in zip(rows, np.eye(TOKEN_DIMENSION, dtype=np.float32)[:4], strict=True):
        store[1] = row[np.newaxis]
        [own], _ = LateInteraction({PointId(1): Texts(1, 0)}, store).score(query[np.newaxis], [PointId(1)])
        assert own == pytest.approx(float(row @ query), abs=max(2e-3 * float(np.abs(row).max()), 1e-9) * 3)
