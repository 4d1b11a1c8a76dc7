"""Scores by token vectors."""

from collections.abc import Iterable, Sequence
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


class Entries(dict[PointId, Texts]):
    """The texts of entries."""

    def among(self, ids: Iterable[PointId]) -> dict[PointId, Texts]:
        return {id_: self[id_] for id_ in ids if id_ in self}


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
    """MaxSim over an entry's own token vectors, and over these with those before, within the error of 4 bits."""
    store, query = Store({1: _rows(7), 2: _rows(1), 3: _rows(300)}), _rows(5)
    entries = Entries({PointId(8): Texts(1, 0), PointId(9): Texts(2, 1), PointId(10): Texts(3, 2)})
    own, both = LateInteraction(entries, store).score(query, list(entries))
    assert own == pytest.approx([_max_sim(query, store[text]) for text in (1, 2, 3)], abs=0.03 * len(query))
    pairs = (store[1],), (store[2], store[1]), (store[3], store[2])
    assert both == pytest.approx([_max_sim(query, *texts) for texts in pairs], abs=0.03 * len(query))
    assert len(store.asked) == len(set(store.asked))


def test_without_token_vectors_the_score_is_zero() -> None:
    """Of a text without meaningful words, of one that is gone; the entry before still counts for both together."""
    store, query = Store({1: _rows(0), 2: _rows(4)}), _rows(3)
    entries = Entries({PointId(1): Texts(1, 0), PointId(2): Texts(7, 8), PointId(3): Texts(1, 2)})
    own, both = LateInteraction(entries, store).score(query, list(entries))
    assert own.tolist() == [0, 0, 0]
    assert both == pytest.approx([0, 0, _max_sim(query, store[2])], abs=0.03 * len(query))


def test_no_bit_of_a_score_depends_on_the_numbers_of_texts() -> None:
    """Private texts shift the numbers of those that a group may read."""
    texts, query = [_rows(count) for count in (3, 9, 1, 30, 12)], _rows(9)
    found = []
    for shift in ([1, 2, 3, 4, 5], [50, 40, 30, 20, 10], [2, 9, 4, 1, 7]):
        store = Store(dict(zip(shift, texts, strict=True)))
        entries = Entries({PointId(n): Texts(shift[n], shift[n - 1] if n else 0) for n in range(5)})
        own, both = LateInteraction(entries, store).score(query, list(entries))
        found.append((own.tolist(), both.tolist()))
    assert found == [found[0]] * 3


@pytest.mark.parametrize("words", [1, 5, 9, 18])
def test_no_bit_of_a_score_depends_on_other_texts(words: int) -> None:
    """However many there are, before it and behind it, and however many words the query has."""
    query, texts = _rows(words), [_rows(7), *(_rows(count) for count in range(60))]
    store = Store(dict(enumerate(texts, 1)))
    entries = Entries({PointId(n): Texts(n, 0) for n in store})
    late, others = LateInteraction(entries, store), list(entries)[1:]
    asked = [PointId(1)], [PointId(1), *others], [*others, PointId(1)], [*others[:13], PointId(1)]
    assert len({late.score(query, ids)[0][ids.index(PointId(1))] for ids in asked}) == 1


def test_token_vectors_of_any_length_are_packed() -> None:
    """In 66 bytes each, whatever the largest number is, with their direction and length; zeros stay zeros."""
    unit = _rows(50)
    for length in (1.0, 0.01, 30.0):
        rows = length * unit
        store = Store(dict(enumerate(rows[:, np.newaxis])))
        assert len(pack(rows)) == 66 * len(rows)
        found = LateInteraction(Entries({PointId(n): Texts(n, n) for n in store}), store).score(
            unit, list(map(PointId, store))
        )
        assert found[0] == pytest.approx(length * (unit @ unit.T).sum(axis=0), abs=0.5 * length)
    zeros = Store({1: np.zeros((1, TOKEN_DIMENSION), np.float32)})
    assert LateInteraction(Entries({PointId(1): Texts(1, 0)}), zeros).score(unit, [PointId(1)])[0] == [0]


def test_packing_spreads_its_error() -> None:
    """Products with other directions are right on average: a bias would move all scores of long texts."""
    rows, queries = _rows(2_000), _rows(40)
    store = Store(dict(enumerate(rows[:, np.newaxis])))
    entries = Entries({PointId(n): Texts(n, n) for n in store})
    late = LateInteraction(entries, store)
    errors = np.array([late.score(query[np.newaxis], list(entries))[0] - rows @ query for query in queries])
    assert abs(errors.mean()) < 1e-3
    assert errors.std() < 0.012
