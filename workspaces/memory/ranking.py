"""This file orders what the engine found: one pure function of the question and the candidates.

The parts of a candidate's score are scaled and added, the entries beside it lend it some of theirs, and a date that
the question names counts. An entry that holds an identifier of the question word for word comes before all others.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from functools import lru_cache
from math import exp2
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from workspaces.memory.chunking import without_time
from workspaces.memory.dates import NamedDate, dates_named, relative_dates
from workspaces.memory.engine import Candidate
from workspaces.memory.entry import Entry
from workspaces.memory.tokens import identifiers, normalised, terms

T = TypeVar("T")
_TURN = re.compile(r"\w[\w .'’-]{0,30}: ")
"""How a turn of a dialogue begins, after its time of day: a name, a colon."""
_QUESTION_MARKS = ("?", "？", "؟")
KINDS_KEPT = 20_000
"""Texts whose kind is remembered, as many as the entries that an engine holds in memory."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part adds to a score; found on half of LoCoMo and rounded by hand (docs/retrieval.md)."""

    keyword: float = 0.2
    """BM25 as a share of the best candidate's."""
    late: float = 0.3
    """MaxSim over the entry's own tokens: 0.25 counts as 0, 0.75 as 1."""
    late_context: float = 0.2
    """The same over its tokens and those of the entry before it."""
    dense: float = 0.3
    """Cosine, 0.7 counting as 1."""
    neighbour: float = 0.3
    """The better of the turns before and after; what stands beside a note that is no dialogue says little about it."""
    second_neighbour: float = 0.3
    """The better of the turns two before and two after."""
    date: float = 0.5
    """The entry's day is one that the question names."""
    question: float = 0.2
    """Taken from an entry that ends with a question mark: it asks what another answers."""
    floor: float = 0.98
    """What age leaves of a score at least; 1 turns decay off, 0 is the unbounded decay of the systems this follows."""
    half_life_days: float = 30.0
    """After this time half of what age may take is taken."""


WITHOUT_LATE = Weights(keyword=0.4, late=0.0, late_context=0.0, dense=0.6)
"""For an embedder without token vectors."""
WITHOUT_DENSE = Weights(keyword=0.3, late=0.4, late_context=0.3, dense=0.0)
"""Where a provider's pooled vectors are missing and the local token vectors are not: the rest in its old proportion."""
KEYWORDS_ALONE = Weights(keyword=1.0, late=0.0, late_context=0.0, dense=0.0)
"""For an agent without an embedder."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, read once."""

    text: str
    identifiers: frozenset[str]
    dates: tuple[NamedDate, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place, with the parts that put it there."""

    candidate: Candidate
    score: float
    """Orders the candidates of one question; not comparable between questions."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """What each part added to `score`, by its name in `Weights`."""
    identifiers: frozenset[str] = frozenset()
    """Identifiers of the question that the entry holds word for word."""


def question_of(text: str, today: date) -> Question:
    """Read the identifiers and the dates out of a query that is asked *today*."""
    return Question(text, identifiers(text), (*dates_named(text), *relative_dates(text, today)))


def rank(question: Question, candidates: Sequence[Candidate], weights: Weights, today: date) -> Iterator[Ranked]:
    """Give *candidates* in order, best first; ties by path and line.

    *candidates* should hold the entries beside each found one as well: those that are missing lend nothing.
    """
    kinds = [_kind(candidate.entry.text) for candidate in candidates]
    parts = _own_parts(candidates, weights)
    speaks = np.array([kind is not _Kind.NOTE for kind in kinds], np.bool_)
    spoken = _total(parts) * speaks
    lenders = _Lenders(candidates, spoken)
    parts |= _earned(question, candidates, kinds, weights)
    parts["neighbour"] = weights.neighbour * speaks * lenders.better(1)
    parts["second_neighbour"] = weights.second_neighbour * speaks * lenders.better(2)
    faded = np.array(_by_day(candidates, lambda day: _faded(day, weights, today)))
    parts["age"] = -faded * np.maximum(_total(parts), 0.0)
    scores: list[float] = _total(parts).tolist()
    held = [_held(question, candidate.entry) for candidate in candidates]

    def order(row: int) -> tuple[int, float, str, int]:
        entry = candidates[row].entry
        return -len(held[row]), -scores[row], entry.path, entry.position

    for row in sorted(range(len(candidates)), key=order):
        shares = {name: float(part[row]) for name, part in parts.items()}
        yield Ranked(candidates[row], scores[row], shares, held[row])


_Column = NDArray[np.float64]
"""One number for each candidate, in their order: adding columns is a tenth of the work of adding row by row."""


def _own_parts(candidates: Sequence[Candidate], weights: Weights) -> dict[str, _Column]:
    legs = [_column([c.bm25 for c in candidates]), _column([c.bm25_context for c in candidates])]
    late, late_context = _column([c.late for c in candidates]), _column([c.late_context for c in candidates])
    cosine = _column([c.cosine for c in candidates])
    return {
        "keyword": weights.keyword * np.mean([leg / (leg.max(initial=0.0) or 1.0) for leg in legs], axis=0),
        "late": weights.late * (late - 0.25) / 0.5,
        "late_context": weights.late_context * (late_context - 0.25) / 0.5,
        "dense": weights.dense * np.maximum(cosine, 0.0) / 0.7,
    }


def _column(numbers: Sequence[float]) -> _Column:
    return np.array(numbers, np.float64)


def _total(parts: Mapping[str, _Column]) -> _Column:
    return np.asarray(np.sum(list(parts.values()), axis=0))


class _Kind(Enum):
    NOTE = "no dialogue"
    SAYS = "a turn of a dialogue"
    ASKS = "a turn that ends with a question mark"


@lru_cache(KINDS_KEPT)
def _kind(text: str) -> _Kind:
    if not _TURN.match(without_time(text)):
        return _Kind.NOTE
    return _Kind.ASKS if text.endswith(_QUESTION_MARKS) else _Kind.SAYS


def is_turn(entry: Entry) -> bool:
    """Whether *entry* is a turn of a dialogue; other entries lend and borrow nothing."""
    return _kind(entry.text) is not _Kind.NOTE


class _Lenders:
    """The candidates by place, and what each has to lend."""

    def __init__(self, candidates: Sequence[Candidate], lent: _Column) -> None:
        files: dict[str, int] = {}
        places = [(files.setdefault(c.entry.path, len(files)) << 32) + c.entry.position for c in candidates]
        self._places = np.array(places, np.int64)
        self._rows = np.argsort(self._places)
        self._lent = lent

    def better(self, distance: int) -> _Column:
        """Return what the better one of those *distance* before and after each candidate lends it, 0 at least."""
        return np.maximum(np.maximum(self._at(-distance), self._at(distance)), 0.0)

    def _at(self, step: int) -> _Column:
        wanted = self._places + step
        nearest = np.searchsorted(self._places, wanted, sorter=self._rows)
        rows = self._rows[np.minimum(nearest, len(self._rows) - 1)]
        return np.where(self._places[rows] == wanted, self._lent[rows], 0.0)


def _earned(
    question: Question, candidates: Sequence[Candidate], kinds: Sequence[_Kind], weights: Weights
) -> dict[str, _Column]:
    is_named = _by_day(candidates, lambda day: day is not None and any(each.covers(day) for each in question.dates))
    only_asks = [kind is _Kind.ASKS for kind in kinds]
    return {"date": weights.date * np.array(is_named), "question": -weights.question * np.array(only_asks)}


def _by_day(candidates: Sequence[Candidate], fact: Callable[[date | None], T]) -> list[T]:
    """Return *fact* for the day of each candidate, asked once a day."""
    known = {day: fact(day) for day in {candidate.entry.date for candidate in candidates}}
    return [known[candidate.entry.date] for candidate in candidates]


def _faded(day: date | None, weights: Weights, today: date) -> float:
    """Return the share of its score that an entry of *day* has lost; undated ones lose nothing."""
    age = max((today - day).days, 0) if day else 0
    return (1 - weights.floor) * (1 - exp2(-age / weights.half_life_days))


def _held(question: Question, entry: Entry) -> frozenset[str]:
    if not question.identifiers:
        return frozenset()
    text = normalised(entry.text).casefold()
    return frozenset(name for name in question.identifiers if name in text and _exactly(name).search(text))


@lru_cache
def _exactly(identifier: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(identifier)}(?![\w-]|\.\w)")


DUPLICATE = 0.8
"""Share of two entries' terms that they have in common, from which they say the same."""


def thinned(ranked: Iterable[Ranked]) -> Iterator[Ranked]:
    """Give *ranked* in order, without those that only repeat a better one.

    A repetition has nearly the same words and the same numbers and identifiers: "paid 50" does not repeat "paid 70",
    and the same habit noted on ten days is found once. Time of day does not count.
    """
    shown: list[tuple[frozenset[str], frozenset[str]]] = []
    for each in ranked:
        words = frozenset(terms(without_time(each.candidate.entry.text)))
        figures = frozenset(word for word in words if any(map(str.isdigit, word)))
        if not any(figures == others and _overlap(words, known) >= DUPLICATE for known, others in shown):
            shown.append((words, figures))
            yield each


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def relevance(cosine: float, late: float, matched: float) -> float:
    """Return how much an entry bears on a question, 0 to 1, whatever else was found: the mean of what is known.

    *cosine* and *late* are those of `Candidate`, *matched* is the share of the question's IDF that the entry's words
    cover. A part that is 0 is unknown: without an embedder only *matched* is left.
    """
    known = [*(part for part in (cosine, late) if part), matched]
    return min(max(sum(known) / len(known), 0.0), 1.0)


CLEAR = 0.45
"""The best hit's relevance below which memory has nothing on the question.

Measured on LoCoMo (docs/retrieval.md): 9 % of the questions that memory can answer fall below it, and 79 % of another
conversation's questions, asked with this one's names.
"""
