"""Ranking of the engine's candidates: one pure function of the question and the candidates.

The parts of a candidate's score are scaled and added, neighbouring entries lend it a share of theirs, and a date in the
question counts. An entry with an identifier of the question, verbatim, precedes all others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Protocol

import numpy as np
from msgspec import Struct, structs

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.index.engine import Column, Ids, Scores
from workspaces.memory.index.settings import GENTLE, Blend
from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.day_spans import DaySpan, days_named
from workspaces.memory.text.dialogue import EVIDENCE, OWNERS, LineKind, read_line
from workspaces.memory.text.tokens import identifiers, identifiers_held, query_terms, stem


class Weights(Struct, frozen=True):
    """Weight of each part of a score, fitted on two kinds of talk and rounded (docs/measurements/retrieval.md)."""

    keyword: float = 0.0
    """BM25 as a share of the best candidate's."""
    keyword_context: float = 0.15
    """The same for the entry together with the previous one."""
    late: float = 0.34
    """MaxSim over the entry's own tokens: 0.25 counts as 0, 0.75 as 1."""
    late_context: float = 0.18
    """The same over its tokens and those of the previous entry."""
    dense: float = 0.4
    """Cosine, 0.7 counting as 1."""
    neighbour: float = 0.25
    """The best of the two turns before and the two after, except questions; those of a note say little about it, and
    those of one's own log neither."""
    subject: float = 0.35
    """What a line of the owner's that leaves its subject to the two before lacks of the better one's score."""
    answer: float = 0.15
    """Additional weight for a turn after a question: it answers."""
    speaker: float = 0.05
    """The question names the speaker: enough to decide between near equals; more hurts."""
    date: float = 0.27
    """The question names the entry's day."""
    conversation: float = 0.1
    """Subtracted from transcripts: a note of the same fact ranks first."""
    agent: float = 0.2
    """Subtracted from an agent's answers, unless they are asked for: what people said ranks first."""
    floor: float = GENTLE.floor
    half_life_days: float = GENTLE.half_life_days
    """Both as in `settings.Decay`."""


COSINE_OF_ONE = 0.7
"""Cosine that counts as 1 among the measured weights."""
DAY_ALONE = 1.25
"""In place of `Weights.date` for a question such as "what did we do on 3 March?": other days do not matter."""
_DAY_WORDS = frozenset(
    stem(word)
    for word in """
    do did done happen happened go went going plan plans planned say said talk talked write wrote note noted
    make made be on day days week weeks month months year weekend morning evening afternoon night last past
    previous this ago today yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december jan feb mar apr
    jun jul aug sep oct nov dec early late end beginning start middle good easter st nd rd th wir ich haben
    habe gemacht war los passiert gestern heute letzte letzten letztes woche montag dienstag mittwoch
    donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember am im den nous
    fait hier semaine dernière hicimos hice ayer semana pasada
    """.split()  # noqa: SIM905 # reads as text
)


KEYWORDS_ALONE = Weights(
    keyword=0.5,
    keyword_context=0.5,
    late=0.0,
    late_context=0.0,
    dense=0.0,
    neighbour=0.5,
    answer=0.1,
    speaker=0.03,
    date=0.5,
)
"""For an agent without an embedder. Neighbours matter more if little is known of the entry: with the weights above
LoCoMo's R@10 by keywords is 2.1 points lower, and that without token vectors 0.9.
"""
WITHOUT_LATE = structs.replace(KEYWORDS_ALONE, keyword=0.2, keyword_context=0.2, dense=0.6)
"""For an embedder without token vectors."""
WITHOUT_DENSE = Weights(keyword_context=0.3, late=0.4, late_context=0.3, dense=0.0)
"""For missing provider vectors with local token vectors: the other weights in their old proportion."""


def blended(blend: Blend) -> Weights:
    """Return the weights of a *blend*: cosine and BM25 alone, and 0 for every other part."""
    own = Weights(keyword=blend.keyword, dense=COSINE_OF_ONE * blend.vector)
    rest = set(Weights.__struct_fields__) - {"keyword", "dense", "floor", "half_life_days"}
    return structs.replace(own, **dict.fromkeys(rest, 0.0))


class ParsedQuery(Struct, frozen=True):
    """A parsed query."""

    text: str
    identifiers: frozenset[str]
    dates: tuple[NamedDate | DaySpan, ...]

    @property
    def asks_day_alone(self) -> bool:
        """Whether it asks for what happened on a day, and for nothing else."""
        words = (word for word in query_terms(self.text) if not any(map(str.isdigit, word)))
        return bool(self.dates) and all(word in _DAY_WORDS for word in words)


_ASKS_AGENT = lazy_pattern(
    r"\byou (?:\w+ )?(?:said|told|suggested|recommended|advised|mentioned|proposed|explained|wrote)\b"
    r"|\b(?:did|have|had) you (?:\w+ )?(?:say|said|t[eo]ll?d?|suggest|recommend|advise|mention|propose|explain|writ)"
    r"|\byour (?:answer|advice|suggestion|recommendation|proposal)"
    r"|\b(?:hast du|du hast|as-tu|tu as|has|hai|ты)\b.{1,40}\b(?:gesagt|empfohlen|vorgeschlagen|geraten|dit|conseillé"
    r"|recommandé|proposé|dicho|recomendado|aconsejado|detto|consigliato|сказал|посоветовал)",
    re.IGNORECASE,
)


def asks_agent(question: str) -> bool:
    """Tell whether *question* asks for something that the agent said, such as "what did you recommend?"."""
    return _ASKS_AGENT.search(question) is not None


def kind_of(text: str) -> LineKind:
    """Return the kind of an entry of *text*."""
    return read_line(text).kind


def speaker_of(text: str) -> str:
    """Return the name of an entry's speaker; empty without one, or for a role (`owner`) without a name."""
    name = read_line(text).speaker
    return "" if name[:1].islower() else name


class EntryFacts(Protocol):
    """The ranking's data of an entry, known without reading it."""

    @property
    def path(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def date(self) -> date | None: ...
    @property
    def kind(self) -> LineKind: ...
    @property
    def speaker(self) -> str: ...


class Pool(Struct, frozen=True):
    """The candidates of one question: `entries` and `identifiers_in_text` have one item for each row of `scores`."""

    scores: Scores
    entries: Sequence[EntryFacts]
    held: Sequence[frozenset[str]]
    """Identifiers of the question contained in each, verbatim."""


class Ranked(Struct, frozen=True):
    """A candidate with its rank and the parts of its score."""

    row: int
    """Row in the pool."""
    score: float
    """Sort key of the candidates of one question; not comparable between questions."""
    columns: Mapping[str, Column]
    """Contribution of each part to the candidates' scores, by its name in `Weights`."""

    def part(self, name: str) -> float:
        """Return the contribution of a part to `score`."""
        return float(self.columns[name][self.row])


@lru_cache(8)
def question_of(text: str, today: date) -> ParsedQuery:
    """Parse the identifiers and the dates of a query asked *today*."""
    return ParsedQuery(text, identifiers(text), tuple(days_named(text, today)))


def rank(question: ParsedQuery, pool: Pool, weights: Weights, today: date) -> Iterator[Ranked]:
    """Yield the candidates of *pool*, best first; ties by path and line.

    It should include the neighbours of each match as well: missing ones lend nothing.
    """
    kinds = np.array([entry.kind for entry in pool.entries], np.int8)
    days = np.array([entry.date.toordinal() if entry.date else UNDATED for entry in pool.entries], np.int64)
    places = _places(pool.entries)
    parts = _own_parts(pool.scores, weights)
    speaks = (kinds != LineKind.NOTE).astype(np.float64)
    asks = _IS_ASKING[kinds]
    own = _total(parts)
    telling = speaks * _IS_EVIDENCE[kinds]
    speakers = [entry.speaker for entry in pool.entries]
    lenders, asking = (_Lenders(places, own * some, speakers) for some in (telling, asks))
    parts["date"] = (DAY_ALONE if question.asks_day_alone else weights.date) * _named_days(question, days)
    parts["conversation"] = -weights.conversation * np.array(
        [entry.path.startswith(TRANSCRIPTS) for entry in pool.entries], np.float64
    )
    parts["agent"] = -weights.agent * (kinds == LineKind.ANSWER) * (not asks_agent(question.text))
    is_log = _are_owners(speakers)
    beside = np.where(is_log, lenders.best(BESIDE, from_others=True), lenders.best(BESIDE))
    parts["neighbour"] = weights.neighbour * speaks * beside
    parts["subject"] = weights.subject * is_log * np.maximum(lenders.best(BEFORE) - own, 0.0)
    parts["answer"] = weights.answer * speaks * asking.before()
    parts["speaker"] = weights.speaker * _named_speakers(question, speakers)
    parts["age"] = -_age_loss(days, weights, today) * np.maximum(_total(parts), 0.0)
    scores = _total(parts)
    held = np.array([len(names) for names in pool.held], np.int64)
    for row in np.lexsort((places, -scores, -held)).tolist():
        yield Ranked(row, float(scores[row]), parts)


def _own_parts(scores: Scores, weights: Weights) -> dict[str, Column]:
    return {
        "keyword": weights.keyword * _share(scores.bm25),
        "keyword_context": weights.keyword_context * _share(scores.bm25_context),
        "late": weights.late * (scores.late - 0.25) / 0.5,
        "late_context": weights.late_context * (scores.late_context - 0.25) / 0.5,
        "dense": weights.dense * np.maximum(scores.cosine, 0.0) / COSINE_OF_ONE,
    }


def _share(bm25: Column) -> Column:
    return bm25 / (bm25.max(initial=0.0) or 1.0)


def _total(parts: Mapping[str, Column]) -> Column:
    return np.asarray(np.sum(list(parts.values()), axis=0))


def _places(entries: Sequence[EntryFacts]) -> Ids:
    """Return a number for each entry that sorts them by path and position; neighbours differ by one."""
    files = {path: number << 32 for number, path in enumerate(sorted({entry.path for entry in entries}))}
    return np.array([files[entry.path] + entry.position for entry in entries], np.int64)


class _Lenders:
    """The candidates by position, and the score that each can lend."""

    def __init__(self, places: Ids, lent: Column, speakers: Sequence[str]) -> None:
        self._places = places
        names = {name: number for number, name in enumerate(sorted(set(speakers)))}
        self._speakers = np.array([names[name] for name in speakers], np.int64)
        self._rows = np.argsort(places)
        self._lent = lent

    def best(self, steps: Sequence[int], *, from_others: bool = False) -> Column:
        """Return the best loan from the entries *steps* away from each candidate, at least 0."""
        return np.asarray(np.maximum(np.max([self._at(step, from_others) for step in steps], axis=0), 0.0))

    def before(self) -> Column:
        """Return the loan from the previous entry of each candidate, by somebody else, at least 0."""
        return np.maximum(self._at(-1, from_others=True), 0.0)

    def _at(self, step: int, from_others: bool) -> Column:
        wanted = self._places + step
        nearest = np.searchsorted(self._places, wanted, sorter=self._rows)
        rows = self._rows[np.minimum(nearest, len(self._rows) - 1)]
        lends = self._places[rows] == wanted
        if from_others:
            lends &= self._speakers[rows] != self._speakers
        return np.where(lends, self._lent[rows], 0.0)


REACH = 2
"""Distance of the entries that lend; third neighbours gain nothing."""
BEFORE = range(-REACH, 0)
"""Places of the lines that may name the subject of a line of the owner's."""
BESIDE = (*BEFORE, *range(1, REACH + 1))
"""Places of the turns that lend."""
UNDATED = 0
"""No day has this ordinal."""
TRANSCRIPTS = "sessions/"
"""Path prefix of conversations."""
ASKING = (LineKind.ASKS, LineKind.QUESTION)
"""Kinds of lines that the next line may answer."""
_IS_ASKING, _IS_EVIDENCE = (np.array([kind in some for kind in LineKind], np.float64) for some in (ASKING, EVIDENCE))
"""1 for these kinds and 0 for others, by a kind's number."""


def answers(asking: EntryFacts, entry: EntryFacts) -> bool:
    """Tell whether *entry*, which follows *asking*, may answer it: somebody asks, and somebody else speaks next."""
    return entry.kind != LineKind.NOTE and asking.kind in ASKING and asking.speaker != entry.speaker


def _named_days(question: ParsedQuery, days: Ids) -> Column:
    """Return 1 for each of *days* named by the question, tested once a day, less for one close by, 0 for the others."""
    if not question.dates:
        return np.zeros(len(days))
    near = {UNDATED: 0.0}
    for day in set(days.tolist()) - {UNDATED}:
        at = date.fromordinal(day)
        near[day] = max(each.nearness(at) for each in question.dates)
    return np.array([near[day] for day in days.tolist()], np.float64)


def _are_owners(speakers: Sequence[str]) -> Column:
    """Return 1 for each of *speakers* that is the owner, and 0 for the others."""
    owners = {name for name in set(speakers) if name.casefold() in OWNERS}
    return np.array([name in owners for name in speakers], np.float64)


def _named_speakers(question: ParsedQuery, speakers: Sequence[str]) -> Column:
    """Return 1 for each of *speakers* named by the question, by full or first name, and 0 for the others."""
    text = question.text.casefold()
    named = {name for name in set(speakers) if name and _name(name.casefold()).search(text)}
    return np.array([name in named for name in speakers], np.float64)


@lru_cache
def _name(name: str) -> re.Pattern[str]:
    first = name.partition(" ")[0]
    return re.compile(rf"(?<!\w)(?:{re.escape(name)}|{re.escape(first)})(?!\w)")


def _age_loss(days: Ids, weights: Weights, today: date) -> Column:
    """Return the share of its score lost by an entry of each of *days*; undated ones lose nothing."""
    ages = np.maximum(today.toordinal() - days, 0) * (days != UNDATED)
    return np.asarray((1 - weights.floor) * (1 - np.exp2(-ages / weights.half_life_days)), np.float64)


def identifiers_in_text(question: ParsedQuery, text: str) -> frozenset[str]:
    """Return the identifiers of *question* contained in an entry of *text*, verbatim."""
    return identifiers_held(question.identifiers, text)


LEAST = 0.15
"""Relevance below which a hit is left out by default, where vectors are known: it fits nothing.

Measured (docs/measurements/retrieval.md): of the evidence among the first ten 0.1 % is below it on LoCoMo, none on real
chats and on ordinary notes; of all hits 1.4, 1.7 and 14.8 %.
"""

FITTING, LEAST_BESIDE = 0.4, 0.1
"""Relevance from which on a hit clearly fits, as `hits.CLEAR`, and the least of the others where one does.

Further items of a list, and what was said later, fit less than the best (docs/measurements/retrieval.md).
"""


def relevance(cosine: Column, late: Column, matched: Column) -> Column:
    """Return each entry's relevance to a question, 0 to 1, independent of other results: the mean of the known parts.

    *cosine* and *late* are those of `Candidate`, *matched* is the share of the question's IDF covered by the entry's
    words. A part of 0 is unknown: without an embedder only *matched* is left.
    """
    known = 1.0 + (cosine != 0.0) + (late != 0.0)
    return np.asarray(np.clip((cosine + late + matched) / known, 0.0, 1.0), np.float64)
