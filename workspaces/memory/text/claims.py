"""Claims of sentences: what each is about and which value it gives, and how two of them relate; by rule alone.

Two claims speak of the same thing if they share the words of their subject and give values of one kind. Whether the
newer value replaces the older one is a narrower question: both must say how something is, not what happened once. Where
that is unclear, both may hold: a true line that is called outdated is worse than two lines beside each other.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from enum import Enum
from functools import cached_property, lru_cache

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.claim_words import (
    ALSO,
    CHANGED,
    COUNTS,
    DENIES,
    EMPTY,
    ENDED,
    FORBIDS,
    HAPPENED,
    MOVED,
    NEVER,
    RECURS,
    SINGLE,
    STATES,
)
from workspaces.memory.text.dates import NamedDate, mentions
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.facts import SENTENCES_KEPT, FactKind, gives_value, sentences
from workspaces.memory.text.owners import are_others
from workspaces.memory.text.tokens import STOP_WORDS, lower_case, query_terms, stem
from workspaces.memory.text.values import CLOCK, TIME, WORD, Value, begun, values_in, without_changes

LONGEST_READ = 4_000
"""Characters of a passage that are read."""
_MOST = 40
"""Claims of a passage that are read."""
_CODE = lazy_pattern(r"```.{0,20000}?(?:```|\Z)", re.DOTALL)
_BULLET = lazy_pattern(r"^[-*+>\s]{1,9}")
_DAY = lazy_pattern(r"(\b\d{1,2})\.(?=\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))")
"""The full stop of a German date ends no sentence."""
_CLAUSE = lazy_pattern(
    r"(?:,|;|\s[–—-])\s+(?=(?:and|but|which|while|so|however|although|aber|und|mais|pero|ma|но|а)\b)"
    r"|(?<!\s)\s++(?=(?:but (?:the|my|our|he|she|it|we|they|i)|aber (?:der|die|das|er|sie|es|wir|ich))\s)",
    re.IGNORECASE,
)
_AND_IT = lazy_pattern(r",\s+(?=(?:they|it|he|she|we|you|I|sie|er|es|wir|ich|ils?|elles?|nous|je)\s)")
"""Begins a statement that may speak of what the one before it names."""
_NAMELESS = lazy_pattern(
    r"(?:if|when|while|once|as|since|after|before|because|unless|until|in|on|at|for|they|it|he|she|we|you|I)\b",
    re.IGNORECASE,
)
"""Begins a condition of what follows, or a statement that names no thing itself."""
_LOWER_VALUES = 2
"""Words of values in small letters that a sentence may have: "friday", "two"; our choice."""
_WORDS = lazy_pattern(r"(?<![^\s(])[^\W\d_]{5,}(?=[\s,;!?)]|\.?(?:\s|\Z))")
"""Whole words of more letters than a unit has."""
_IMPLIED = frozenset({CLOCK, "live", "work"})
"""Heads that a sentence may not say itself."""
_CORRECTED = frozenset({FactKind.DATE, FactKind.NUMBER, FactKind.IDENTIFIER})
"""Kinds of values that a correction names; a person who cannot come is not replaced by another."""


class Relation(Enum):
    """Relation of a newer claim to an older one about the same thing."""

    REPEATS = "repeats"
    """The same, in the same or other words."""
    REPLACES = "replaces"
    """Another value of something that has one at a time."""
    DIFFERS = "differs"
    """Another value; both may hold, each at its time."""
    CONTRADICTS = "contradicts"
    """One says what the other denies."""


class Claim:
    """One sentence, as far as rules read it: each part when it is first asked for."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self.stems = frozenset(query_terms(sentence))
        """Those of all its words, without function words."""

    @cached_property
    def least(self) -> int:
        """Fewest stems of its subject, without reading its values: words in small letters that say something."""
        return len(self.stems - EMPTY) - sum(not word.islower() for word in self.sentence.split()) - _LOWER_VALUES

    @cached_property
    def plain(self) -> frozenset[str]:
        """Stems of words in small letters that its subject holds, without reading its values."""
        words = _WORDS.findall(without_changes(self.sentence) if self.changes else self.sentence)
        return frozenset(map(_plain_stem, words)) & self.stems - EMPTY - _IMPLIED

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that it gives."""
        return tuple(values_in(self.sentence))

    @cached_property
    def given(self) -> frozenset[str]:
        """Its values, each equal for equal ones."""
        return frozenset(each.normal for each in self.values)

    @cached_property
    def words(self) -> frozenset[str]:
        """All its stems, those of its values and their units too."""
        return self.stems | {each.head for each in self.values}

    def held(self, stems: frozenset[str]) -> frozenset[str]:
        """Return those of *stems* that are among its words; its values are only read where they may add one."""
        low = lower_case(self.sentence)
        rest = stems - self.stems
        is_implied = not rest.isdisjoint(_IMPLIED) and (MOVED.search(low) or TIME.search(low))
        is_full = is_implied or any(each in low for each in rest)
        return stems & (self.words if is_full else self.stems)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Stems of what it is about: its words without values and function words."""
        rest = self.sentence
        for each in self.values:
            rest = rest.replace(each.text, " ", 1)
        if self.changes and WORD.search(unchanged := without_changes(rest)):
            rest = unchanged
        if not WORD.search(rest):
            return frozenset()
        names = (each.text for each in self.values if each.kind is FactKind.NAME)
        return frozenset(query_terms(rest)) | {begun(self.sentence, name) for name in names} - {""}

    @cached_property
    def subject(self) -> frozenset[str]:
        """Its terms but for those that say nothing of a subject, unless it has no others."""
        return self.terms - EMPTY or self.terms

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is different from before."""
        return tells_change(self.sentence)

    @cached_property
    def denies(self) -> bool:
        return self._has(DENIES)

    @cached_property
    def is_never(self) -> bool:
        """Whether it denies for all times, "I have never …", and is no order never to do something."""
        return self._has(NEVER) and not self._has(FORBIDS)

    @cached_property
    def is_state(self) -> bool:
        """Whether it says how something is, not what happened once."""
        return self._has(STATES) and (self.changes or not self._has(HAPPENED))

    @cached_property
    def adds(self) -> bool:
        """Whether it says that something comes beside another."""
        return self._has(ALSO)

    @property
    def may_correct(self) -> bool:
        """Whether it can name a value to give another in its place."""
        return self.changes or self.denies

    def _has(self, words: re.Pattern[str]) -> bool:
        return words.search(lower_case(self.sentence)) is not None


def claims_in(text: str, about: frozenset[str] | None = None) -> tuple[Claim, ...]:
    """Return the claims of *text*, a passage of notes or of a conversation, in order; code is left out.

    With *about*, only sentences that hold one of these stems are read.
    """
    return claims_of(sentences_about(text, about) if about is not None else sentences_in(text))


def claims_of(said: Sequence[str], *, is_whole: bool = False) -> tuple[Claim, ...]:
    """Return the claims of sentences from `sentences_in`: several of one with several clauses, or one if *is_whole*."""
    parts = said if is_whole else [part for each in said for part in _parts(each)]
    return tuple(_claim(part) for part in parts[:_MOST] if len(part.split()) > 1 or len(part) > 3)


def sentences_about(text: str, about: frozenset[str]) -> list[str]:
    """Return the sentences of *text* that hold one of the stems *about*."""
    return [each for each in sentences_in(text) if not about.isdisjoint(_claim(each).stems)]


@lru_cache(SENTENCES_KEPT)
def sentences_in(text: str) -> tuple[str, ...]:
    """Return the sentences of *text* without code."""
    plain = _DAY.sub(r"\1", _CODE.sub(" ", text[:LONGEST_READ]))
    lines = (read_line(_BULLET.sub("", line)).text for line in plain.split("\n"))
    return tuple(each for line in lines for each in sentences(line))


def _parts(sentence: str) -> Iterator[str]:
    """Yield the clauses of *sentence*; what speaks of "it" stays together, after the statement that names the thing."""
    for clause in _CLAUSE.split(sentence):
        named = _AND_IT.split(clause, maxsplit=1)[0]
        if named != clause and not _NAMELESS.match(named):
            low = lower_case(named)
            if STATES.search(low) and not DENIES.search(low):
                yield named
        yield clause


def relation(older: Claim, newer: Claim, newer_day: date | None = None) -> Relation | None:
    """Return how *newer*, written on *newer_day*, relates to *older*; `None` if they may speak of different things."""
    may_be_same = older.plain <= newer.stems or newer.plain <= older.stems  # rules most pairs out at once
    if not may_be_same or not _is_same_subject(older, newer) or are_others(older.sentence, newer.sentence):
        return None
    if _plain(older.sentence) == _plain(newer.sentence):
        return Relation.REPEATS
    if older.denies != newer.denies:
        ends = newer.denies and ENDED.search(lower_case(newer.sentence))
        return Relation.REPLACES if ends and not HAPPENED.search(lower_case(older.sentence)) else Relation.CONTRADICTS
    pair = differing(older, newer)
    if pair is None:
        return None
    if older.adds or newer.adds or not older.is_state or not (newer.is_state or newer.changes):
        return Relation.DIFFERS
    return Relation.REPLACES if _has_one_value(older, newer, pair, newer_day) else Relation.DIFFERS


def clauses(claim: Claim) -> Iterator[Claim]:
    """Yield the claims of the clauses of *claim*: one may deny, and another not."""
    return map(_claim, _CLAUSE.split(claim.sentence))


@lru_cache(SENTENCES_KEPT)
def may_correct(text: str) -> bool:
    """Tell whether *text* has a word that a correction needs."""
    return DENIES.search(lower_case(text)) is not None or tells_change(text)


@lru_cache(SENTENCES_KEPT)
def tells_change(text: str) -> bool:
    """Tell whether *text* has a word of change."""
    return CHANGED.search(lower_case(text)) is not None


def corrected(older: Claim, newer: Claim, context: frozenset[str] = frozenset()) -> tuple[Value, ...]:
    """Return the values of *older* that *newer* names to give others in their place: "not Tuesday, Thursday instead".

    That alone shows what it is about: besides, one common word is enough, of *newer* or of its *context* (the words of
    the line before), and none where an identifier is corrected.
    """
    if not newer.may_correct or older.denies:
        return ()
    given = {each.kind for each in newer.values if each.normal not in older.given} & _CORRECTED
    found = tuple(each for each in older.values if each.normal in newer.given and each.kind in given)
    values = frozenset(stem for each in found for stem in query_terms(each.text))
    is_identified = any(each.kind is FactKind.IDENTIFIER for each in found)
    return found if is_identified or older.words & (newer.words | context) - values - EMPTY - {""} else ()


def differing(older: Claim, newer: Claim) -> tuple[Value, Value] | None:
    """Return the first values of one kind, and of one unit or noun, in which the claims differ; `None` without any."""
    pairs = ((before, after) for before in older.values for after in newer.values)
    return next(
        (
            (before, after)
            for before, after in pairs
            if (before.kind, before.head) == (after.kind, after.head)
            and before.normal not in newer.given
            and after.normal not in older.given
        ),
        None,
    )


def _plain(sentence: str) -> list[str]:
    """Return the words of *sentence* without case, marks and the separators of thousands."""
    return re.findall(r"\w+", re.sub(r"(?<=\d)[,' ](?=\d{3}\b)", "", sentence.casefold()))


def _is_same_subject(older: Claim, newer: Claim) -> bool:
    """Return whether one claim's subject holds the other's, and neither names what the other does not."""
    shared = older.stems & newer.stems
    if 2 * len(shared) < max(older.least, newer.least) or not (shared or older.words & newer.words):
        return False
    common = older.given & newer.given
    first, second = (older.subject | common, newer.subject | common) if common else (older.subject, newer.subject)
    return (
        (first <= second or second <= first)
        and bool(first and second)
        and 2 * len(first & second) >= len(first | second)
    )


@lru_cache(2_048)
def _plain_stem(word: str) -> str:
    """Return the stem of *word*; nothing if it is a function word, or may be a value or a part of one."""
    is_other = not word.islower() or word in STOP_WORDS or word in COUNTS or gives_value(f"in {word}")
    return "" if is_other else stem(word)


def _has_one_value(older: Claim, newer: Claim, pair: tuple[Value, Value], newer_day: date | None) -> bool:
    """Return whether the thing has one value at a time: not if it may be an event of another day, or one of several."""
    before, after = pair
    others = [each for each in older.values if each.kind in {FactKind.NAME, FactKind.IDENTIFIER} and each is not before]
    theirs = [each for each in newer.values if each.kind in {FactKind.NAME, FactKind.IDENTIFIER} and each is not after]
    if others and theirs and not {each.normal for each in others} & {each.normal for each in theirs}:
        return False
    if newer.changes:
        return True
    match before.kind:
        case FactKind.NUMBER:
            return bool(before.head)
        case FactKind.DATE if before.head == CLOCK:
            dates = ({each.normal for each in claim.values if each.head != CLOCK} for claim in (older, newer))
            return len({*map(frozenset, dates)}) == 1 and all(
                RECURS.search(lower_case(each.sentence)) for each in (older, newer)
            )
        case FactKind.DATE:
            days = mentions(before.text)
            named = days[0][2] if days else None
            return named is not None and newer_day is not None and _is_ahead(named, newer_day)
        case _:
            is_specific = before.kind is FactKind.NAME or len(older.terms & newer.terms) > 1
            lead = lower_case(older.sentence[: older.sentence.find(before.text)])
            return is_specific and SINGLE.search(lead) is not None


def _is_ahead(named: NamedDate, day: date) -> bool:
    """Return whether *named* is a day after *day*: a plan for it had not happened yet."""
    if named.day is None or named.month is None:
        return False
    try:
        return date(named.year or day.year, named.month, named.day) > day
    except ValueError:
        return False


_claim = lru_cache(SENTENCES_KEPT)(Claim)
