"""Claims of sentences: what each is about and which value it gives, and how two of them relate; by rule alone.

Two claims speak of the same thing if they share the words of their subject and give values of one kind. Whether the
newer value replaces the older one is a narrower question: both must say how something is, not what happened once. Where
that is unclear, both may hold: a true line that is called outdated is worse than two lines beside each other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import lru_cache

from workspaces.memory.text.claim_words import (
    ALSO,
    CHANGED,
    COUNTS,
    DENIES,
    EMPTY,
    ENDED,
    HAPPENED,
    MOVED,
    NEVER,
    RECURS,
    SINGLE,
    STATES,
)
from workspaces.memory.text.dates import NamedDate, mentions
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.facts import FactKind, facts_in, folded, sentences
from workspaces.memory.text.owners import are_others
from workspaces.memory.text.tokens import STOP_WORDS, lower_case, query_terms, stem

LONGEST_READ = 4_000
"""Characters of a passage that are read."""
_MOST = 40
"""Claims of a passage that are read."""
SENTENCES_KEPT = 512
"""Sentences whose claims are kept, at some 4 kB each: those of a few searches, which recur within each."""
_CODE = re.compile(r"```.{0,20000}?(?:```|\Z)", re.DOTALL)
_BULLET = re.compile(r"^[-*+>\s]{1,9}")
_DAY = re.compile(r"(\b\d{1,2})\.(?=\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))")
"""The full stop of a German date ends no sentence."""
_CLAUSE = re.compile(
    r"(?:,|;|\s[–—-])\s+(?=(?:and|but|which|while|so|however|although|aber|und|mais|pero|ma|но|а)\b)"
    r"|(?<!\s)\s++(?=(?:but (?:the|my|our|he|she|it|we|they|i)|aber (?:der|die|das|er|sie|es|wir|ich))\s)",
    re.IGNORECASE,
)
_AND_IT = re.compile(r",\s+(?=(?:they|it|he|she|we|you|I|sie|er|es|wir|ich|ils?|elles?|nous|je)\s)")
"""Begins a statement that may speak of what the one before it names."""
_NAMELESS = re.compile(
    r"(?:if|when|while|once|as|since|after|before|because|unless|until|in|on|at|for|they|it|he|she|we|you|I)\b",
    re.IGNORECASE,
)
"""Begins a condition of what follows, or a statement that names no thing itself."""
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥₴₽])?\s?(?<![\w.,:/-])(?P<digits>\d{1,3}(?:[,.' ]\d{3})+(?![\d])|\d+(?:[.,]\d+)?)"
    r"(?:\s?(?P<unit>%|°[CF]?|[€£$₴₽]|[^\W\d_]{1,4}(?![\w-])))?(?![\w:/-]|[.,]\d)"
)
_WORD_NUMBER = re.compile(
    rf"\b(?:{'|'.join(name for name in COUNTS if name != 'one')})\b(?=\s+[^\W\d_])", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_TIME = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s?([ap]\.?m\b\.?)|\b([01]?\d|2[0-3]):([0-5]\d)\b", re.IGNORECASE)
_ORDINAL = re.compile(
    r"\b[0-3]?\d(?:st|nd|rd|th)\b(?=\W*$|\s*[,;:.!?)]|\s+(?:and|at|in|or|by|with|because|not|instead|now|so|of|from|we|i)\b)",
    re.IGNORECASE,
)
"""A day of the month alone: "on the 24th"; not the "4th floor"."""
_NEAR = 60
"""Characters before a value in which its noun or verb is looked for; our choice."""
_CLOCK = "time"
"""Head of a clock time."""
_CORRECTED = frozenset({FactKind.DATE, FactKind.NUMBER, FactKind.IDENTIFIER})
"""Kinds of values that a correction names; a person who cannot come is not replaced by another."""


class Relation(Enum):
    """How a newer claim relates to an older one about the same thing."""

    REPEATS = "repeats"
    """The same, in the same or other words."""
    REPLACES = "replaces"
    """Another value of something that has one at a time."""
    DIFFERS = "differs"
    """Another value; both may hold, each at its time."""
    CONTRADICTS = "contradicts"
    """One says what the other denies."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value that a sentence gives."""

    kind: FactKind
    text: str
    """As it was written."""
    normal: str
    """The same for equal values."""
    head: str
    """The thing that it counts or names, stemmed: the unit, else the noun beside it; may be empty."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence, as far as rules read it."""

    sentence: str
    terms: frozenset[str]
    """Stems of what it is about: its words without values and function words."""
    values: tuple[Value, ...]
    denies: bool
    is_state: bool
    """It says how something is, not what happened once."""
    changes: bool
    """It says that something is different from before."""
    adds: bool
    """It says that something comes beside another."""
    is_never: bool
    """It denies for all times: "I have never …"."""
    words: frozenset[str]
    """All its stems, those of its values and their units too."""
    subject: frozenset[str]
    """Its terms but for those that say nothing of a subject, unless it has no others."""
    given: frozenset[str]
    """Its values, each equal for equal ones."""

    @property
    def may_correct(self) -> bool:
        """Whether it can name a value to give another in its place."""
        return self.changes or self.denies


def claims_in(text: str, about: frozenset[str] | None = None, *, is_whole: bool = False) -> tuple[Claim, ...]:
    """Return the claims of *text*, a passage of notes or of a conversation, in order; code is left out.

    With *about*, only sentences that hold one of these stems are read. A sentence of several clauses is several claims,
    or one if *is_whole*.
    """
    plain = _DAY.sub(r"\1", _CODE.sub(" ", text[:LONGEST_READ]))
    lines = (read_line(_BULLET.sub("", line)).text for line in plain.split("\n"))
    whole = [each for line in lines for each in sentences(line) if about is None or not about.isdisjoint(_stems(each))]
    said = whole if is_whole else [part for each in whole for part in _parts(each)]
    return tuple(_claim(part) for part in said[:_MOST] if len(part.split()) > 1 or len(part) > 3)


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
    if not _is_same_subject(older, newer) or are_others(older.sentence, newer.sentence):
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
    low = lower_case(text)
    return bool(CHANGED.search(low) or DENIES.search(low))


def corrected(older: Claim, newer: Claim, context: frozenset[str] = frozenset()) -> tuple[Value, ...]:
    """Return the values of *older* that *newer* names to give others in their place: "not Tuesday, Thursday instead".

    That alone shows what it is about: besides, one common word is enough, of *newer* or of its *context* (the words of
    the line before), and none where an identifier is corrected.
    """
    if not newer.may_correct or older.denies:
        return ()
    given = {each.kind for each in newer.values if each.normal not in older.given} & _CORRECTED
    found = tuple(each for each in older.values if each.normal in newer.given and each.kind in given)
    values = frozenset(stem for each in found for stem in _stems(each.text))
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
    if older.words.isdisjoint(newer.words):
        return False
    common = older.given & newer.given
    first, second = (older.subject | common, newer.subject | common) if common else (older.subject, newer.subject)
    return (
        (first <= second or second <= first)
        and bool(first and second)
        and 2 * len(first & second) >= len(first | second)
    )


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
        case FactKind.DATE if before.head == _CLOCK:
            dates = ({each.normal for each in claim.values if each.head != _CLOCK} for claim in (older, newer))
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


@lru_cache(SENTENCES_KEPT)
def _stems(sentence: str) -> frozenset[str]:
    return frozenset(query_terms(sentence))


@lru_cache(SENTENCES_KEPT)
def _claim(sentence: str) -> Claim:
    low = lower_case(sentence)
    changes, happened = CHANGED.search(low) is not None, HAPPENED.search(low) is not None
    values = tuple(_values(sentence))
    rest = sentence
    for each in values:
        rest = rest.replace(each.text, " ", 1)
    begun = {_begun(sentence, each.text) for each in values if each.kind is FactKind.NAME} - {""}
    if changes and _WORD.search(unchanged := _without_changes(rest)):
        rest = unchanged
    about = frozenset(query_terms(rest)) | begun if _WORD.search(rest) else frozenset()
    return Claim(
        sentence,
        about,
        values,
        DENIES.search(low) is not None,
        (not happened or changes) and STATES.search(low) is not None,
        changes,
        ALSO.search(low) is not None,
        NEVER.search(low) is not None,
        _stems(sentence) | {each.head for each in values},
        about - EMPTY or about,
        frozenset(each.normal for each in values),
    )


def _without_changes(text: str) -> str:
    """Return *text* with blanks for its words of change, at the same length."""
    blanked = list(text)
    for found in CHANGED.finditer(lower_case(text)):
        blanked[found.start() : found.end()] = " " * len(found[0])
    return "".join(blanked)


def _values(sentence: str) -> Iterator[Value]:
    taken, facts = sentence, facts_in(sentence)
    for fact in facts:
        if fact.kind in {FactKind.DATE, FactKind.IDENTIFIER, FactKind.NAME}:
            if fact.kind is FactKind.NAME:
                continue
            is_date = fact.kind is FactKind.DATE
            normal = _normal(fact.value) if is_date else folded(fact.value)
            yield Value(fact.kind, fact.value, normal, "" if is_date else _before(sentence, fact.value))
            taken = taken.replace(fact.value, " ", 1)
    for found in _ORDINAL.finditer(taken):
        yield Value(FactKind.DATE, found[0], _normal(found[0]), "")
    taken = _ORDINAL.sub(" ", taken)
    for found in _TIME.finditer(taken):
        yield Value(FactKind.DATE, found[0], _clock(found), _CLOCK)
    taken = _TIME.sub(" ", taken)
    for found in _NUMBER.finditer(taken):
        digits = re.sub(r"[,' ](?=\d{3})", "", found["digits"]).replace(",", ".")
        unit = found["sign"] or found["unit"] or ""
        head = _unit(unit) or _noun_after(taken[found.end() :]) or _noun_before(taken[: found.start()])
        yield Value(FactKind.NUMBER, found[0].strip(), digits, head)
    for found in _WORD_NUMBER.finditer(taken):
        yield Value(FactKind.NUMBER, found[0], COUNTS[found[0].casefold()], _noun_after(taken[found.end() :]))
    for fact in facts:
        if fact.kind is FactKind.NAME:
            yield Value(FactKind.NAME, fact.value, folded(fact.value), _before(sentence, fact.value))


def _normal(value: str) -> str:
    words = sorted(
        stem(word[:3]) if word.isalpha() else word.lstrip("0") for word in re.findall(r"\w+", value.casefold())
    )
    return " ".join(re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word) for word in words)


def _clock(found: re.Match[str]) -> str:
    hour, minute = int(found[1] or found[4]), int(found[2] or found[5] or 0)
    if found[3]:
        hour = hour % 12 + 12 * found[3].casefold().startswith("p")
    return f"{hour:02}:{minute:02}"


def _unit(unit: str) -> str:
    return stem(unit.casefold()) if unit and not _is_function(unit) else ""


def _noun_after(text: str) -> str:
    for word in _WORD.findall(text[:40])[:2]:
        if not _is_function(word):
            return stem(word.casefold())
        if word.casefold() not in {"of", "more", "new", "total"}:
            return ""
    return ""


def _noun_before(text: str) -> str:
    near = text[-_NEAR:]
    words = _WORD.findall(_without_changes(near)) or _WORD.findall(near)
    return next((stem(word.casefold()) for word in reversed(words) if not _is_function(word)), "")


def _begun(sentence: str, value: str) -> str:
    """Return the verb of the state that *sentence* says began with *value*, such as `live`; empty without one."""
    at = max(sentence.find(value), 0)
    found = MOVED.search(lower_case(sentence[max(at - _NEAR, 0) : at]))
    return "" if found is None else "live" if found["live"] else "work"


def _before(sentence: str, value: str) -> str:
    return _begun(sentence, value) or _noun_before(sentence[: max(sentence.find(value), 0)])


def _is_function(word: str) -> bool:
    return word.casefold() in STOP_WORDS
