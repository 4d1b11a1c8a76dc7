"""Order of statements about the same thing: the newer one, which may have replaced the older one, comes first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.tokens import STOP_WORDS, query_terms, stem, terms

DEPTH = 12
"""Number of the best results that are compared with each other."""
SIMILAR_SCORE = 0.7
"""Least relevance of the one that moves up, as a share of the other's."""
_VALUE = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"(?:and |but |so )?(?:who|whose|wer|wem|qui|quién|chi|quem|wie is|kto|кто|хто)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\bhow (?:much|many|old|heavy|tall|long|far|big)\b"
    r"|\b(?:numbers?|codes?|prices?|costs?|phone|pay|paid|charges?|weighs?|size|password|pin|iban)\b"
    r"|\b(?:wie ?viele?|wie (?:alt|schwer|lang|teuer)|nummer|kostet|combien|cuánt[oa]s?|quant[oaie]|сколько)\b",
    re.IGNORECASE,
)
"""Of a question for a figure."""
_DIGIT = re.compile(r"\d")
_SHARED = 2
"""Words that two statements about the same thing have in common, one of them in the question."""
_EMPTY = frozenset(map(stem, STOP_WORDS))


@dataclass(frozen=True, slots=True)
class Statement:
    """A result of a search, as far as its order depends on it."""

    text: str
    day: date | None
    score: float


def newest_first(found: Sequence[Statement], question: str) -> list[int]:
    """Return the places of *found*, best first, with each statement before older ones that it seems to replace.

    A statement replaces an older one if it is about the same thing (shares two words with it, one of them in
    *question*), gives a value too, and fits the question nearly as well. If a figure is asked for, those that hold one
    come before others that fit nearly as well.
    """
    asked = frozenset(query_terms(question))
    asks_figure, asks_who = bool(_FIGURE.search(question)), bool(_WHO.match(question.strip()))
    said = [_Said.of(each) for each in found[:DEPTH]]

    def precedes(one: _Said, other: _Said) -> bool:
        if one.score < SIMILAR_SCORE * other.score:
            return False
        if asks_figure and one.has_figure != other.has_figure:
            return one.has_figure and bool(one.words & other.words & asked)
        return not asks_who and _replaces(one, other, asked)

    order: list[int] = []
    for place, statement in enumerate(said):
        at = next((at for at, other in enumerate(order) if precedes(statement, said[other])), len(order))
        order.insert(at, place)
    return [*order, *range(len(order), len(found))]


@dataclass(frozen=True, slots=True)
class _Said:
    words: frozenset[str]
    has_value: bool
    has_figure: bool
    day: date | None
    score: float

    @classmethod
    def of(cls, statement: Statement) -> "_Said":
        line = read_line(statement.text)
        text = line.text if line.time else statement.text  # "guest wifi: tern-77" names no speaker
        words = frozenset(word for word in terms(text) if not any(map(str.isdigit, word))) - _EMPTY
        return cls(
            words, _VALUE.search(text) is not None, _DIGIT.search(text) is not None, statement.day, statement.score
        )


def _replaces(newer: _Said, older: _Said, asked: frozenset[str]) -> bool:
    """Tell whether *newer* speaks of the same thing as *older*, later, and with a value."""
    if newer.day is None or older.day is None or newer.day <= older.day:
        return False
    shared = newer.words & older.words
    return newer.has_value and older.has_value and bool(shared & asked) and len(shared) >= _SHARED
