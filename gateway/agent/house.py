"""What a model that runs elsewhere is shown of a conversation in which some texts stay on the owner's machines."""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from gateway.agent.entries import Entry, Mark, ReplyEntry, ResultEntry, SummaryEntry, TurnNoteEntry, UserEntry
from workspaces.access import Locality, may_know

WITHHELD = "(withheld: marked house; only models on the owner's own machines may read it)"
"""Stands for each such text, whatever it says."""
_IS_HOUSE = attrgetter("is_house")


def is_house(entry: Entry | Mark) -> bool:
    """Return whether *entry*, or some of it, stays on the owner's machines."""
    return entry.is_house if isinstance(entry, Entry | SummaryEntry) else False


def is_any_house(entries: Iterable[Entry]) -> bool:
    """Return whether one of *entries* stays there; each request asks it of a whole conversation."""
    return any(map(_IS_HOUSE, entries))


def shown_entries(entries: Iterable[Entry], reader: Locality) -> list[Entry]:
    """Return *entries* as *reader* may know them; those that are withheld keep their mark."""
    return [_shown_entry(entry, reader) for entry in entries]


def shown_mark(mark: Mark, reader: Locality) -> Mark:
    """Return *mark* of a transcript as *reader* may know it."""
    if not isinstance(mark, SummaryEntry) or may_know(reader, is_house=mark.is_house):
        return mark
    return replace(mark, text=WITHHELD, orders=())


def _shown_entry(entry: Entry, reader: Locality) -> Entry:
    if may_know(reader, is_house=is_house(entry)):
        return entry
    match entry:
        case UserEntry():
            return replace(entry, text=WITHHELD, sender="", pictures=())
        case ReplyEntry():
            calls = tuple(replace(call, arguments="{}") for call in entry.calls)
            return replace(entry, text=WITHHELD if entry.text else "", calls=calls)
        case ResultEntry():
            return replace(entry, text=WITHHELD)
        case TurnNoteEntry(outside=str(outside)):
            return replace(entry, text=outside, outside=None)
        case _:
            return entry
