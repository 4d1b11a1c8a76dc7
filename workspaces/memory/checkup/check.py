"""The check-up itself: all detectors over all entries, and one finding an entry."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct, field

from workspaces.memory.checkup.copies import Instructions, copies
from workspaces.memory.checkup.doubles import alike, doubles, said_again
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import Hand, NotedEntry
from workspaces.memory.checkup.people import invented
from workspaces.memory.checkup.promotions import promotions
from workspaces.memory.checkup.quality import EntryUse, Quality, is_weak, quality
from workspaces.memory.checkup.staleness import outdated, past_dates

STEPS = 6
"""Steps that `check` reports."""

Step = Callable[[], None]
"""Called after each step."""


class KnownElsewhere(Struct, frozen=True):
    """Evidence about the notes from instructions and conversations."""

    instructions: Instructions
    looped: Sequence[NoteFinding] = ()
    unspoken: Sequence[tuple[NotedEntry, str]] = ()
    """Notes with the name in each of which nobody ever spoke."""
    uses: Mapping[str, EntryUse] = field(default_factory=dict)
    """By citation."""
    unsaid: Collection[str] = ()
    """Places of the notes that an agent wrote though nobody had said so in that conversation."""


class CheckedNotes(Struct, frozen=True):
    """The outcome of a check-up."""

    findings: tuple[NoteFinding, ...]
    """One an entry at most, in the order of their kinds and places."""
    qualities: Mapping[str, Quality]
    """Of each lasting note, by citation."""
    weak: tuple[str, ...]
    """Lasting notes that are old and vague, and that nobody confirmed or used: worth a look, and no proposal."""
    unknown: int
    """Notes of which nobody knows who wrote them. They are counted, and never guessed at."""


def check(entries: Sequence[NotedEntry], elsewhere: KnownElsewhere, today: date, step: Step) -> CheckedNotes:
    """Return the faults of *entries* on *today*, and the quality of the lasting ones."""
    pairs = list(alike(entries))
    step()
    uses = said_again(elsewhere.uses, pairs)
    lasting = [each for each in entries if each.is_lasting and each.is_note]
    qualities = {each.citation: quality(each, uses.get(each.citation, EntryUse()), today) for each in lasting}
    step()
    found = [*elsewhere.looped, *invented(elsewhere.unspoken)]
    for detected in (
        copies(entries, elsewhere.instructions),
        outdated(entries),
        past_dates(lasting, today),
    ):
        found += detected
        step()
    taken = {each.entry.place for each in found}
    found += doubles((pair for pair in pairs if taken.isdisjoint(each.place for each in pair)), elsewhere.unsaid)
    findings = (*_first_of_each(found), *promotions(_sound(entries, found), pairs, uses, today))
    step()
    is_known = bool(elsewhere.uses)  # where no search is recorded, unused says nothing
    weak = [each.citation for each in lasting if is_known and is_weak(each, qualities[each.citation], today)]
    unknown = sum(each.is_note and each.source.hand is Hand.UNKNOWN for each in entries)
    return CheckedNotes(findings, qualities, tuple(weak), unknown)


def _first_of_each(found: Iterable[NoteFinding]) -> Iterator[NoteFinding]:
    """Yield one finding an entry, that of the first kind; none for one that shares its line with another."""
    kinds = list(FindingKind)
    known: set[str] = set()
    for each in sorted(found, key=lambda each: (kinds.index(each.kind), each.entry.path, each.entry.first_line)):
        if each.entry.place not in known and not each.entry.is_part:
            known.add(each.entry.place)
            yield each


def _sound(entries: Sequence[NotedEntry], found: Iterable[NoteFinding]) -> list[NotedEntry]:
    taken = {each.entry.place for each in found}
    return [each for each in entries if each.place not in taken]
