"""People whom notes name: an invented one is somebody of whom nobody ever spoke."""

import re
from collections.abc import Iterator, Sequence

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import NotedEntry
from workspaces.memory.text.facts import FactKind, facts_in, folded
from workspaces.memory.text.tokens import STOP_WORDS

_ROLES = (
    r"named|called|user|owner|mr|mrs|ms|miss|dr|prof|herr|frau|wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?"
    r"|son|daughter|brother|sister|mother|father|mum|mom|dad|uncle|aunt|cousin|friend|colleague|coworker|boss|manager"
    r"|neighbou?r|doctor|dentist|therapist|teacher|engineer|developer|designer|student|lawyer|nurse|roommate|landlord"
    r"|married to|engaged to|works for|works with|reports to|met|visited"
    r"|heißt|namens|freund(?:in)?|bruder|schwester|mutter|vater|chef(?:in)?|nachbar(?:in)?|kolleg(?:e|in)|ami|amie"
    r"|frère|sœur|mère|père|amig[oa]|herman[oa]|madre|padre|amic[oa]|fratello|sorella"
)
_ROLE = lazy_pattern(_ROLES, re.IGNORECASE)
_BEFORE = lazy_pattern(
    rf"\b(?:{_ROLES}|(?:user|owner)(?:['’]s)? name)(?:\s(?:is|ist|est|es|è|was))?[:,]?\s$", re.IGNORECASE
)
_AFTER = lazy_pattern(
    r"(?:,\s)?(?:is\s(?:a|an|the|\d|from|married|working)|was\s(?:a|an|born)|works?|lives?|studies|likes?|loves?|hates?|prefers?"
    r"|said|says|told|asked|wants?|thinks|married|speaks|wohnt|arbeitet|lebt|mag|habite|travaille|vive|trabaja|lavora)\b",
    re.IGNORECASE,
)
_WORD = lazy_pattern(r"[^\W\d_]+")
_NEAR = 30
"""Characters beside a name that tell whose it is."""


def people_named(text: str) -> list[str]:
    """Return the names in *text* that stand where a person's would."""
    if not any(map(str.isupper, text)):
        return []
    found = []
    for fact in facts_in(text):
        at = text.find(fact.value) if fact.kind is FactKind.NAME else -1
        if at < 0:
            continue
        before, after = text[max(at - _NEAR, 0) : at], text[at + len(fact.value) : at + len(fact.value) + _NEAR]
        if _BEFORE.search(before) or _AFTER.match(after.lstrip()):
            found.append(fact.value)
    found += [first for first in _first_names(text) if first not in found]
    return found


def _first_names(text: str) -> Iterator[str]:
    """Yield the word that begins *text* if it is followed by an act of a person."""
    first = _WORD.match(text)
    if first and first[0][0].isupper() and first[0].casefold() not in STOP_WORDS and len(first[0]) > 1:
        after = text[first.end() :][:_NEAR].lstrip()
        if _ACTS.match(after):
            yield first[0]


_ACTS = lazy_pattern(r"(?:works|lives|studies|said|told|asked|wants|thinks|married|wohnt|arbeitet|lebt)\b")


def name_words(name: str) -> frozenset[str]:
    """Return the words of *name* by which somebody who spoke of it would have called it."""
    words = frozenset(word for word in map(str.casefold, _WORD.findall(name)) if len(word) > 1)
    return frozenset(word for word in words - _TITLES if not _ROLE.fullmatch(word))


_TITLES = frozenset("dr mr mrs ms hr fr st prof herr frau user owner the".split())  # noqa: SIM905


def words_said(text: str) -> frozenset[str]:
    """Return the words of *text* in lower case."""
    return frozenset(_WORD.findall(folded(text)))


def invented(entries: Sequence[tuple[NotedEntry, str]]) -> Iterator[NoteFinding]:
    """Yield a finding for each entry with the name in it of which nobody ever spoke."""
    for entry, name in entries:
        yield NoteFinding(FindingKind.INVENTED, entry, f"nobody ever spoke of {name}")
