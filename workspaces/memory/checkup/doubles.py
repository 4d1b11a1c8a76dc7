"""Doubles among notes: entries with the same words, or with all words of another one and hardly more.

Another number, name or word in the place of one is another value, and no double. An event that happened twice is
noted twice, and a statement that somebody repeats is a confirmation: neither is a double.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date

from msgspec import structs

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import Hand, NotedEntry
from workspaces.memory.checkup.quality import EntryUse
from workspaces.memory.text.claims import claims_in
from workspaces.memory.text.day_spans import dated
from workspaces.memory.text.dialogue import EVIDENCE

OVERLAP = 0.75
"""Share of common words from which two entries may say the same; our choice."""
_NAME = lazy_pattern(r"\b[^\W\d_a-z]\w+")
FEWEST = 2
"""Words of an entry that is compared: "Gym." on two days is no double."""
_MOST_ALIKE = 50
"""Entries with one rare word that are compared with each other; more share a template."""


Pair = tuple[NotedEntry, NotedEntry]
"""Two entries that say the same, in the order of their places."""


def alike(entries: Sequence[NotedEntry]) -> Iterator[Pair]:
    """Yield the pairs of *entries* that say the same, notes and lines of conversations alike."""
    telling = [each for each in entries if each.kind in EVIDENCE and len(each.stems) >= FEWEST]
    for one, other in _near(telling):
        if _says_the_same(telling[one], telling[other]):
            yield telling[one], telling[other]


def doubles(pairs: Iterable[Pair], unsaid: Collection[str] = ()) -> Iterator[NoteFinding]:
    """Yield a finding for each note that another one of its pair makes needless; the other one stays.

    *unsaid* are the places of notes that an agent wrote though nobody had said so again.
    """
    gone: set[str] = set()
    for one, other in pairs:
        if not (one.is_note and other.is_note) or one.place in gone or other.place in gone:
            continue
        kept, double = (one, other) if _stays(one, other) else (other, one)
        if _is_needless(double, kept, unsaid):
            gone.add(double.place)
            yield NoteFinding(FindingKind.DOUBLE, double, f"it says what {kept.citation} says", kept)


def said_again(uses: Mapping[str, EntryUse], pairs: Iterable[Pair]) -> dict[str, EntryUse]:
    """Return *uses*, by citation, with the further days on which each entry of *pairs* was said."""
    found = dict(uses)
    for one, other in pairs:
        for entry, again in ((one, other), (other, one)):
            if again.since is not None and again.since != entry.since:
                known = found.get(entry.citation, EntryUse())
                found[entry.citation] = structs.replace(known, days=known.days | {again.since})
    return found


def repeats(entry: NotedEntry, shown: NotedEntry) -> bool:
    """Return whether *entry* says the same as *shown*, or a part of it."""
    return entry.figures <= shown.figures and (
        _says_the_same(entry, shown) or (len(entry.stems) > FEWEST and entry.stems <= shown.stems)
    )


def _near(notes: Sequence[NotedEntry]) -> Iterator[tuple[int, int]]:
    """Yield pairs of notes that share enough words, each once, the earlier place first.

    Two sets with a share of common words share one of their rarest already (prefix filtering; Bayardo, Ma and Srikant,
    2007), so that a hundred thousand notes take no ten thousand million comparisons.
    """
    count = Counter(word for note in notes for word in note.stems)
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for place, note in enumerate(notes):
        size = len(note.stems)
        rarest = sorted(note.stems, key=lambda word: (count[word], word))[: size - math.ceil(OVERLAP * size) + 1]
        near = {other for word in rarest for other in holding[word][-_MOST_ALIKE:]}
        yield from ((other, place) for other in sorted(near) if _overlap(note, notes[other]) >= OVERLAP)
        for word in rarest:
            holding[word].append(place)


def _overlap(one: NotedEntry, other: NotedEntry) -> float:
    return len(one.stems & other.stems) / max(len(one.stems | other.stems), 1)


def _says_the_same(one: NotedEntry, other: NotedEntry) -> bool:
    if one.plain == other.plain:
        return True
    if one.figures != other.figures or not (one.stems <= other.stems or other.stems <= one.stems):
        return False
    return _overlap(one, other) >= OVERLAP and _denies(one) == _denies(other) and _names_alike(one.text, other.text)


def _names_alike(one: str, other: str) -> bool:
    """Return whether the names in both texts come in one order: "Ann thanks Bo" is not "Bo thanks Ann"."""
    first, second = ([word.casefold() for word in _NAME.findall(text)] for text in (one, other))
    common = {*first} & {*second}
    return [word for word in first if word in common] == [word for word in second if word in common]


def _denies(entry: NotedEntry) -> bool:
    return any(claim.denies for claim in claims_in(entry.text))


def _stays(first: NotedEntry, second: NotedEntry) -> bool:
    """Return whether *first* stays: the lasting one, the owner's, the longer, the older."""
    return _weight(first) >= _weight(second)


def _weight(entry: NotedEntry) -> tuple[bool, bool, int, bool]:
    return entry.is_lasting, entry.source.hand is Hand.OWNER, len(entry.stems), entry.source.hand is not Hand.UNKNOWN


def _is_needless(double: NotedEntry, kept: NotedEntry, unsaid: Collection[str]) -> bool:
    """Return whether *double* is needless beside *kept*, which says the same.

    Two of one file are. One of another day is if its agent wrote it without being told again, word for word, or if
    `MEMORY.md` said it by then: a day's note may have become a lasting one, and events happen twice.
    """
    if double.path == kept.path:
        return True
    if double.place not in unsaid or not _came_first(kept, double):
        return False
    return kept.is_lasting or (double.plain == kept.plain and is_state([double.text]))


def _came_first(one: NotedEntry, other: NotedEntry) -> bool:
    known = one.source.day or one.day
    return known is not None and other.since is not None and known < other.since


def is_state(texts: Iterable[str]) -> bool:
    """Return whether all claims of *texts* say how something is, and none tells of an event or a change."""
    claims = [claim for text in texts for claim in claims_in(text)]
    return bool(claims) and all(each.is_state and not each.changes for each in claims) and not _names_its_day(texts)


def _names_its_day(texts: Iterable[str]) -> bool:
    return any(dated(text, date(2000, 1, 1)) != text for text in texts)
