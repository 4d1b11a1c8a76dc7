"""This file orders what the engine found: one pure function of the question and the candidates.

The parts of a candidate's score are scaled and added, the entries beside it lend it some of theirs, and a date that
the question names counts. An entry that holds an identifier of the question word for word comes before all others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from workspaces.memory.dates import NamedDate, dates_named
from workspaces.memory.engine import Candidate
from workspaces.memory.entry import Entry
from workspaces.memory.tokens import identifiers

_TURN = re.compile(r"(?:\d{1,2}:\d{2}\s+)?\w[\w .'’-]{0,30}: ")
"""How a turn of a dialogue begins: a time of day perhaps, a name, a colon."""
_QUESTION_MARKS = ("?", "？", "؟")


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
    """The better of the entries before and after."""
    second_neighbour: float = 0.3
    """The better of the entries two before and two after."""
    date: float = 0.5
    """The entry's day is one that the question names."""
    question: float = 0.1
    """Taken from an entry that ends with a question mark: it asks what another answers."""
    recency: float = 0.02
    """The bonus of today's entry."""
    half_life_days: float = 30.0
    """After this time half of the bonus is left."""


WITHOUT_LATE = Weights(keyword=0.6, late=0.0, late_context=0.0, dense=0.4, neighbour=0.5, second_neighbour=0.0)
"""For an embedder without token vectors."""
KEYWORDS_ALONE = Weights(keyword=1.0, late=0.0, late_context=0.0, dense=0.0, neighbour=0.5, second_neighbour=0.0)
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


def question_of(text: str) -> Question:
    """Read the identifiers and the dates out of a query."""
    return Question(text, identifiers(text), tuple(dates_named(text)))


def rank(question: Question, candidates: Sequence[Candidate], weights: Weights, today: date) -> list[Ranked]:
    """Order *candidates*, best first; ties by path and line.

    *candidates* should hold the entries beside each found one as well: those that are missing lend nothing.
    """
    top = tuple(max((max(part, 0.0) for part in leg), default=0.0) for leg in _keyword_legs(candidates))
    own = {_place(c): _own_parts(c, top, weights) for c in candidates}
    sums = {place: sum(parts.values()) for place, parts in own.items()}
    ranked = []
    for candidate in candidates:
        parts = own[_place(candidate)] | _earned(question, candidate.entry, weights, today)
        parts["neighbour"] = weights.neighbour * _borrowed(_place(candidate), sums, 1)
        parts["second_neighbour"] = weights.second_neighbour * _borrowed(_place(candidate), sums, 2)
        ranked.append(Ranked(candidate, sum(parts.values()), parts, _held(question, candidate.entry)))
    return sorted(ranked, key=_order)


def _place(candidate: Candidate) -> tuple[str, int]:
    return candidate.entry.path, candidate.entry.position


def _keyword_legs(candidates: Sequence[Candidate]) -> tuple[list[float], list[float]]:
    return [c.bm25 for c in candidates], [c.bm25_context for c in candidates]


def _own_parts(candidate: Candidate, top: tuple[float, ...], weights: Weights) -> dict[str, float]:
    parts = zip((candidate.bm25, candidate.bm25_context), top, strict=True)
    return {
        "keyword": weights.keyword * sum(part / best for part, best in parts if best) / len(top),
        "late": weights.late * (candidate.late - 0.25) / 0.5,
        "late_context": weights.late_context * (candidate.late_context - 0.25) / 0.5,
        "dense": weights.dense * max(candidate.cosine, 0.0) / 0.7,
    }


def _borrowed(place: tuple[str, int], sums: Mapping[tuple[str, int], float], distance: int) -> float:
    path, position = place
    return max(sums.get((path, position - distance), 0.0), sums.get((path, position + distance), 0.0), 0.0)


def _earned(question: Question, entry: Entry, weights: Weights, today: date) -> dict[str, float]:
    named = entry.date is not None and any(day.covers(entry.date) for day in question.dates)
    asks = _TURN.match(entry.text) is not None and entry.text.endswith(_QUESTION_MARKS)
    age = max((today - entry.date).days, 0) if entry.date else 0
    return {
        "date": weights.date * named,
        "question": -weights.question * asks,
        "recency": weights.recency * 0.5 ** (age / weights.half_life_days),
    }


def _held(question: Question, entry: Entry) -> frozenset[str]:
    return identifiers(entry.text) & question.identifiers if question.identifiers else frozenset()


def _order(ranked: Ranked) -> tuple[int, float, str, int]:
    return -len(ranked.identifiers), -ranked.score, ranked.candidate.entry.path, ranked.candidate.entry.position
