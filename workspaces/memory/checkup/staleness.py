"""Lasting notes that no longer hold: past their date, or replaced by a later value."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import OWNER, NotedEntry
from workspaces.memory.text.claims import Claim, Relation, claims_in, relation
from workspaces.memory.text.dates import NamedDate, mentions
from workspaces.memory.text.day_spans import DaySpan, dated, days_named
from workspaces.memory.text.known_lines import with_until

GRACE = timedelta(days=7)
"""How long a note may outlive its date."""
FLEETING = timedelta(days=14)
"""The same for one with a word such as "tomorrow", whose day is in no text."""
_YEAR_MONTHS, _HALF = 12, 6
_MOST_ALIKE = 60
"""Lasting claims with one word that a later one is compared with; more share a word of every line."""
_RECURS = lazy_pattern(
    r"\b(?:every|each|annual\w*|yearly|monthly|weekly|daily|birthday|anniversary|born|name ?day|always|usually"
    r"|season\w*|since|jede[nrsm]?|jährlich|monatlich|wöchentlich|täglich|geburtstag|geboren|hochzeitstag|immer|seit|chaque|anniversaire"
    r"|depuis|cada|cumpleaños|desde|ogni|compleanno|каждый|родил\w*)\b|\b\w+days\b",
    re.IGNORECASE,
)
"""Words of something that comes again, or began then and lasts."""


def recurs(text: str) -> bool:
    """Return whether *text* speaks of something that comes again, or began on its date and lasts."""
    return _RECURS.search(text) is not None


def past_dates(entries: Sequence[NotedEntry], today: date) -> Iterator[NoteFinding]:
    """Yield a finding for each lasting note whose last date lay ahead when it was written, and is over now.

    A date that was past already when it was noted is a fact, and one that comes again is never over. A note whose
    day is unknown is left alone.
    """
    for entry in entries:
        written = entry.source.day
        if not (entry.is_lasting and entry.is_note) or written is None or recurs(entry.text):
            continue
        last = max((span.last for span in _spans(entry.text, written)), default=None)
        if last is not None and written < last < today - GRACE:
            yield NoteFinding(FindingKind.STALE, entry, f"its date, {last}, is past")
        elif written < today - FLEETING and dated(entry.text, written) != entry.text:
            yield NoteFinding(FindingKind.STALE, entry, f"it speaks of a day around {written}, when it was written")


def _spans(text: str, written: date) -> Iterator[DaySpan]:
    """Yield the days that *text* names: as they stand there, for "until May" ends in May; else in other languages."""
    for named in [each for _, _, each in mentions(text)] or days_named(text, written):
        if isinstance(named, DaySpan):
            yield named
        elif named.month is not None:
            yield _nearest(named, written)


def _nearest(named: NamedDate, written: date) -> DaySpan:
    """Return the day or month that was meant on *written*: without a year, the one within six months."""
    month = named.month or 1
    year = named.year or written.year
    if named.year is None and written.month - month > _HALF:
        year += 1
    elif named.year is None and month - written.month > _HALF:
        year -= 1
    next_month = date(year + month // _YEAR_MONTHS, month % _YEAR_MONTHS + 1, 1)
    if named.day is None:
        return DaySpan(date(year, month, 1), next_month - timedelta(days=1))
    day = date(year, month, min(named.day, (next_month - timedelta(days=1)).day))
    return DaySpan(day, day)


def outdated(entries: Sequence[NotedEntry]) -> Iterator[NoteFinding]:
    """Yield a finding for each lasting note of which a later entry gives another value, by `claims.relation`.

    The change that it proposes removes nothing: it notes until when the line held, and its successor.
    """
    lasting = [each for each in entries if each.is_lasting and each.is_note and not each.is_part]
    known = [(place, claim) for place, each in enumerate(lasting) for claim in claims_in(each.text)]
    having = _by_word([claim for _, claim in known])
    words = frozenset(having)
    found: dict[int, NoteFinding] = {}
    for later in entries:
        if not (later.is_note or _is_owners_word(later)) or later.stems.isdisjoint(words):
            continue
        for claim in claims_in(later.text, words):
            for number in _near(claim, having):
                place, before = known[number]
                if later is not lasting[place] and _replaces(before, claim, lasting[place], later):
                    found[place] = mended(lasting[place], later)
    yield from (found[place] for place in sorted(found))


def _is_owners_word(entry: NotedEntry) -> bool:
    return entry.speaker == OWNER


def _by_word(claims: Sequence[Claim]) -> dict[str, list[int]]:
    count = Counter(word for claim in claims for word in claim.words)
    having: dict[str, list[int]] = {}
    for number, claim in enumerate(claims):
        for word in claim.words:
            if count[word] <= _MOST_ALIKE:
                having.setdefault(word, []).append(number)
    return having


def _near(claim: Claim, having: dict[str, list[int]]) -> Collection[int]:
    return {number for word in claim.words for number in having.get(word, ())}


def _replaces(before: Claim, after: Claim, older: NotedEntry, newer: NotedEntry) -> bool:
    day = newer.since
    if day is None or older.since is None or newer.is_part:
        return False
    is_later = older.since < day or (
        older.since == day and older.path == newer.path and older.first_line < newer.first_line
    )
    if not is_later:
        return False
    how = relation(before, after, day)
    return how is Relation.REPLACES or (how is Relation.CONTRADICTS and newer.is_lasting)


def mended(older: NotedEntry, newer: NotedEntry) -> NoteFinding:
    """Return the finding that *newer* holds instead of *older*."""
    first, *more = older.raw.split("\n")
    after = "\n".join([with_until(first, newer.since or date.min, newer.citation), *more])
    reason = f"{newer.citation} says since {newer.since}: {' '.join(newer.text.split())}"
    return NoteFinding(FindingKind.OUTDATED, older, reason, newer, after)
