"""Values that a sentence gives: days, times, numbers with what they count, identifiers and names; by rule alone."""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.claim_words import CHANGED, COUNTS, MOVED
from workspaces.memory.text.facts import SENTENCES_KEPT, FactKind, facts_in, folded, gives_date
from workspaces.memory.text.tokens import STOP_WORDS, lower_case, stem

_NUMBER = lazy_pattern(
    r"(?P<sign>[$€£¥₴₽])?\s?(?<![\w.,:/-])(?P<digits>\d{1,3}(?:[,.' ]\d{3})+(?![\d])|\d+(?:[.,]\d+)?)"
    r"(?:\s?(?P<unit>%|°[CF]?|[€£$₴₽]|[^\W\d_]{1,4}(?![\w-])))?(?![\w:/-]|[.,]\d)"
)
_WORD_NUMBER = lazy_pattern(
    rf"\b(?:{'|'.join(name for name in COUNTS if name != 'one')})\b(?=\s+[^\W\d_])", re.IGNORECASE
)
WORD = lazy_pattern(r"[^\W\d_][\w'’-]*")
TIME = lazy_pattern(r"\b(\d{1,2})(?::(\d{2}))?\s?([ap]\.?m\b\.?)|\b([01]?\d|2[0-3]):([0-5]\d)\b", re.IGNORECASE)
_HOUR = lazy_pattern(
    r"\b(?:a las?|às|alle|um|at|à|om)\s(?P<hour>[01]?\d|2[0-3])"
    r"(?:\s?(?:h|uhr)\b|(?=\s*(?:$|[,;.!?)]|(?:y|e|et|und|and|en)\b)))"
    r"|\b(?P<uhr>[01]?\d|2[0-3])\s?uhr\b",
    re.IGNORECASE,
)
"""An hour without minutes: "a las 9", "às 15h", "18 Uhr"; not "at 9 euros", nor "2h of work"."""
_ORDINAL = lazy_pattern(
    r"\b[0-3]?\d(?:st|nd|rd|th)\b(?=\W*$|\s*[,;:.!?)]|\s+(?:and|at|in|or|by|with|because|not|instead|now|so|of|from|we|i)\b)",
    re.IGNORECASE,
)
"""A day of the month alone: "on the 24th"; not the "4th floor"."""
_DATED = lazy_pattern(
    r"\d(?::\d\d|\s?(?:[ap]\.?m|h|uhr)|st|nd|rd|th)|\b(?:a las?|às|alle|um|at|à|om)\s\d", re.IGNORECASE
)
"""What each time, hour and day of the month without a month has."""
_ENDINGS = frozenset({"st", "nd", "rd", "th"})
"""Of "90th", which counts nothing."""
_NEAR = 60
"""Characters before a value in which its noun or verb is looked for; our choice."""
CLOCK = "time"
"""Head of a clock time."""


class Value(Struct, frozen=True):
    """A value that a sentence gives."""

    kind: FactKind
    text: str
    """As it was written."""
    normal: str
    """The same for equal values."""
    head: str
    """The thing that it counts or names, stemmed: the unit, else the noun beside it; may be empty."""


def values_in(sentence: str) -> Iterator[Value]:
    """Yield the values of *sentence*: days and identifiers, times, numbers, names."""
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
    yield from (Value(FactKind.DATE, found[0], _clock(found), CLOCK) for found in TIME.finditer(taken))
    taken = TIME.sub(" ", taken)
    yield from (Value(FactKind.DATE, found[0], _hour(found), CLOCK) for found in _HOUR.finditer(taken))
    taken = _HOUR.sub(" ", taken)
    for found in _NUMBER.finditer(taken):
        if found["unit"] in _ENDINGS:
            continue
        digits = re.sub(r"[,' ](?=\d{3})", "", found["digits"]).replace(",", ".")
        unit = found["sign"] or found["unit"] or ""
        head = _unit(unit) or _noun_after(taken[found.end() :]) or _noun_before(taken[: found.start()])
        yield Value(FactKind.NUMBER, found[0].strip(), digits, head)
    for found in _WORD_NUMBER.finditer(taken):
        yield Value(FactKind.NUMBER, found[0], COUNTS[found[0].casefold()], _noun_after(taken[found.end() :]))
    for fact in facts:
        if fact.kind is FactKind.NAME:
            yield Value(FactKind.NAME, fact.value, folded(fact.value), _before(sentence, fact.value))


@lru_cache(SENTENCES_KEPT)
def may_give(kind: FactKind, sentence: str) -> bool:
    """Tell whether *sentence* may give a value of *kind*, without reading its values."""
    has_digit = any(map(str.isdigit, sentence))
    if kind is FactKind.DATE:
        return gives_date(sentence) or (has_digit and _DATED.search(sentence) is not None)
    return kind is not FactKind.NUMBER or has_digit or _WORD_NUMBER.search(sentence) is not None


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


def _hour(found: re.Match[str]) -> str:
    return f"{int(found['hour'] or found['uhr']):02}:00"


def _unit(unit: str) -> str:
    return stem(unit.casefold()) if unit and not _is_function(unit) else ""


def _noun_after(text: str) -> str:
    for word in WORD.findall(text[:40])[:2]:
        if not _is_function(word):
            return stem(word.casefold())
        if word.casefold() not in {"of", "more", "new", "total"}:
            return ""
    return ""


def _noun_before(text: str) -> str:
    near = text[-_NEAR:]
    words = WORD.findall(without_changes(near)) or WORD.findall(near)
    return next((stem(word.casefold()) for word in reversed(words) if not _is_function(word)), "")


def begun(sentence: str, value: str) -> str:
    """Return the verb of the state that *sentence* says began with *value*, such as `live`; empty without one."""
    at = max(sentence.find(value), 0)
    near = lower_case(sentence[max(at - _NEAR, 0) : at])
    found = next((each for each in MOVED.finditer(near) if near[each.end() :].isspace()), None)
    return "" if found is None else "live" if found["live"] else "work"


def _before(sentence: str, value: str) -> str:
    return begun(sentence, value) or _noun_before(sentence[: max(sentence.find(value), 0)])


def _is_function(word: str) -> bool:
    return word.casefold() in STOP_WORDS


def without_changes(text: str) -> str:
    """Return *text* with blanks for its words of change, at the same length."""
    blanked = list(text)
    for found in CHANGED.finditer(lower_case(text)):
        blanked[found.start() : found.end()] = " " * len(found[0])
    return "".join(blanked)
