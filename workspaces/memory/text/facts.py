"""Facts of a text by rule: identifiers, names, numbers, dates and decisions, each with a question for it."""

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.tokens import identifiers, lower_case

_ABBREVIATIONS = "no nr dr mr mrs ms st sr hr fr jr vs ca approx tel ext fig ed prof inc art bzw usw inkl vol".split()  # noqa: SIM905
_NOT_AFTER = "".join(rf"(?<!\b{each}\.)" for each in _ABBREVIATIONS)
_END = lazy_pattern(rf"(?<=[.!?…])(?<!\b[^\W\d_]\.){_NOT_AFTER}\s+|(?<=[。！？])\s*|\n+", re.IGNORECASE)
"""An end mark, unless an abbreviation such as "no." or "Dr.", or an initial, precedes it."""
_DECIDED = lazy_pattern(
    r"\b(we|i|let's|let us)\s+(have\s+)?(decided|agreed|chose|chosen|go with|will go with|settled on)\b"
    r"|\b(decision|decided|agreed):|\bfrom now on\b|\b(?:wir haben (?:uns )?(?:entschieden|beschlossen)|on a décidé"
    r"|(?:hemos )?decidi(?:do|mos)|abbiamo deciso|мы решили)\b",
    re.IGNORECASE,
)
_DAY_WORDS = (
    r"(?:(?:mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun) (?:the )?\d{1,2}(?:st|nd|rd|th)\b|(?:tues?|weds|thu(?:rs?)?|fri)\b"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo"
)
_MONTHS = (
    r"january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai"
    r"|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_DATE = lazy_pattern(
    rf"\b(?=[\djfmasondtwlvé])(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?:{_MONTHS})\b\.?(?:,?\s+\d{{4}}\b)?"
    rf"|(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?"
    rf"|\d{{4}}-\d{{2}}-\d{{2}}\b|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|(?:{_DAY_WORDS})\b"
    rf"|(?!may\b|mar\b|march\b|mars\b|sept?\b|dec\b|jan\b)(?:{_MONTHS})\b"
    r"|(?:(?<=in )|(?<=by )|(?<=till )|(?<=until )|(?<=since )|(?<=next )|(?<=last ))(?:may|march)\b"
    r"|(?:(?<=to )|(?<=from )|(?<=for )|(?<=of ))(?P<capitalised>may|march)\b)"
)
"""For text in lower case."""
_NUMBER = lazy_pattern(r"(?<![\w.,:/-])\+?\d(?:[\d .,:/-]{0,30}\d)?(?![\w/-])")
_NAME = lazy_pattern(
    r"(?:(?:Dr|Mr|Mrs|Ms|Hr|Fr|St|Prof)\.?\s+)?[A-ZÀ-ÖØ-ÞŁŚŻА-ЯЁЄІЇ][^\W\d_]+(?:['’-][A-ZÀ-Þ][^\W\d_]+)?"
    r"(?:\s+(?:[A-ZÀ-ÖØ-ÞŁŚŻА-ЯЁЄІЇ][^\W\d_]+)){0,3}"
)
_KATAKANA = lazy_pattern(r"[ァ-ヴー]{3,}")
_WORDS = lazy_pattern(r"[^\W\d_\u3040-\u9fff]{4,}|[\u3040-\u9fff]{2,}")
SENTENCES_KEPT = 512
"""Sentences of which claims, values and owners are kept, at some 4 kB each: those of a few searches."""
_LEAST_ASKED = 2
"""Longer words of a question; with fewer, the fact itself is asked for."""
_LONGEST_SENTENCE = 2_000
"""In characters; of a longer one, the beginning is read."""
_MOST_FACTS = 12
"""Facts of one sentence; a list has more than anybody asks for."""


class FactKind(StrEnum):
    IDENTIFIER = "identifier"
    DATE = "date"
    NUMBER = "number"
    NAME = "name"
    DECISION = "decision"


class Fact(Struct, frozen=True):
    """A detail that a later question may ask for."""

    kind: FactKind
    value: str
    """As it was written; of a decision the whole sentence."""
    sentence: str

    @property
    def question(self) -> str:
        """The sentence without the value, or without "we decided": the words of somebody who does not know it."""
        is_decided = self.kind is FactKind.DECISION
        rest = _DECIDED.sub(" ", self.sentence) if is_decided else self.sentence.replace(self.value, " ")
        rest = " ".join(rest.split())
        return rest if len(_WORDS.findall(rest)) >= _LEAST_ASKED else self.value

    def is_in(self, text: str) -> bool:
        """Tell whether *text* holds the value; letter case and white space do not count."""
        return folded(self.value) in folded(text)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of *text*, each on one line."""
    return [" ".join(part.split()) for part in _END.split(text) if part and part.strip()]


def gives_value(text: str) -> bool:
    """Tell whether *text* holds a number, a weekday or a month."""
    return any(map(str.isdigit, text)) or gives_date(text)


def gives_date(text: str) -> bool:
    """Tell whether *text* holds a day, a weekday or a month."""
    return any(_dates(text))


def is_decision(sentence: str) -> bool:
    """Tell whether *sentence* states a decision."""
    return _DECIDED.search(sentence) is not None


def facts_in(sentence: str) -> list[Fact]:
    """Return the facts of one *sentence*, at most 12, a decision and identifiers first; nothing counts twice."""
    text = sentence[:_LONGEST_SENTENCE]
    found, rest = [Fact(FactKind.DECISION, text, sentence)] if is_decision(text) else [], text
    for kind, value in _values(text):
        if value in rest:
            found.append(Fact(kind, value, sentence))
            rest = rest.replace(value, " ", 1)
    return found[:_MOST_FACTS]


def _values(text: str) -> Iterator[tuple[FactKind, str]]:
    for name in sorted(identifiers(text), key=lambda name: (-len(name), name)):
        at = text.casefold().find(name)
        if at >= 0 and not _DATE.fullmatch(lower_case(name)):
            yield FactKind.IDENTIFIER, text[at : at + len(name)]
    yield from ((FactKind.DATE, each.rstrip(".")) for each in _dates(text))
    yield from ((FactKind.NUMBER, match[0].strip()) for match in _NUMBER.finditer(text))
    yield from ((FactKind.NAME, name) for name in _names(text))


def _dates(text: str) -> Iterator[str]:
    """Yield the dates as written; "from may on" has none, "from May on" one."""
    for match in _DATE.finditer(lower_case(text)):
        if match["capitalised"] is None or text[match.start()].isupper():
            yield text[match.start() : match.end()]


def _names(text: str) -> Iterator[str]:
    """Yield the names; the first word of a sentence counts only where something else marks it as one."""
    for match in _NAME.finditer(text):
        name = match[0]
        is_first = not text[: match.start()].strip(" \"'“„«([-*")
        if is_first and " " not in name and not re.match(r"['’]s\b", text[match.end() :]):
            continue
        if name not in _NOT_NAMES:
            yield name
    yield from _KATAKANA.findall(text)


_NOT_NAMES = frozenset(
    """OK Ok TODO PS Sie Ihr Ihnen We The My Our Your His Her Their It He She They You This That These Those There An If
    In On At And But So What When Where Who Which How Why Yes No Not Please Remember""".split()  # noqa: SIM905
)


def folded(text: str) -> str:
    """Return *text* with case folded and white space as single blanks."""
    return " ".join(text.casefold().split())
