"""This file orders what the engine found: one pure function of the question and the candidates.

The parts of a candidate's score are scaled and added, the entries beside it lend it some of theirs, and a date that
the question names counts. An entry that holds an identifier of the question word for word comes before all others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import exp2

from workspaces.memory.chunking import without_time
from workspaces.memory.dates import NamedDate, dates_named, relative_dates
from workspaces.memory.engine import Candidate
from workspaces.memory.entry import Entry
from workspaces.memory.tokens import identifiers, normalised, terms

_TURN = re.compile(r"\w[\w .'’-]{0,30}: ")
"""How a turn of a dialogue begins, after its time of day: a name, a colon."""
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


def rank(question: Question, candidates: Sequence[Candidate], weights: Weights, today: date) -> list[Ranked]:
    """Order *candidates*, best first; ties by path and line.

    *candidates* should hold the entries beside each found one as well: those that are missing lend nothing.
    """
    top = tuple(max((max(part, 0.0) for part in leg), default=0.0) for leg in _keyword_legs(candidates))
    own = {_place(c): _own_parts(c, top, weights) for c in candidates}
    spoken = {_place(c): sum(own[_place(c)].values()) for c in candidates if _is_turn(c.entry)}
    ranked = []
    for candidate in candidates:
        parts = own[_place(candidate)] | _earned(question, candidate.entry, weights)
        parts["neighbour"] = weights.neighbour * _borrowed(_place(candidate), spoken, 1)
        parts["second_neighbour"] = weights.second_neighbour * _borrowed(_place(candidate), spoken, 2)
        parts["age"] = -_faded(candidate.entry.date, weights, today) * max(sum(parts.values()), 0.0)
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


def _is_turn(entry: Entry) -> bool:
    return _TURN.match(without_time(entry.text)) is not None


def _borrowed(place: tuple[str, int], spoken: Mapping[tuple[str, int], float], distance: int) -> float:
    path, position = place
    if place not in spoken:
        return 0.0
    return max(spoken.get((path, position - distance), 0.0), spoken.get((path, position + distance), 0.0), 0.0)


def _earned(question: Question, entry: Entry, weights: Weights) -> dict[str, float]:
    is_named = entry.date is not None and any(day.covers(entry.date) for day in question.dates)
    only_asks = _is_turn(entry) and entry.text.endswith(_QUESTION_MARKS)
    return {"date": weights.date * is_named, "question": -weights.question * only_asks}


def _faded(day: date | None, weights: Weights, today: date) -> float:
    """Return the share of its score that an entry of *day* has lost; undated ones lose nothing."""
    age = max((today - day).days, 0) if day else 0
    return (1 - weights.floor) * (1 - exp2(-age / weights.half_life_days))


def _held(question: Question, entry: Entry) -> frozenset[str]:
    if not question.identifiers:
        return frozenset()
    text = normalised(entry.text).casefold()
    return frozenset(name for name in question.identifiers if _exactly(name).search(text))


def _exactly(identifier: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(identifier)}(?![\w-]|\.\w)")


def _order(ranked: Ranked) -> tuple[int, float, str, int]:
    return -len(ranked.identifiers), -ranked.score, ranked.candidate.entry.path, ranked.candidate.entry.position


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
