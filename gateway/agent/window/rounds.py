"""Incremental view of a conversation for requests: new entries are appended, old ones are not read again."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from gateway.agent.entries import (
    COMMAND,
    Entry,
    ForgottenEntry,
    Mark,
    ReplyEntry,
    SummaryEntry,
    TurnNoteEntry,
    UserEntry,
)
from gateway.agent.window.compact import shown_summary
from gateway.agent.window.count import Scale, entry_tokens


class Dated(Protocol):
    """An item of a conversation with the time at which it was recorded: a transcript's record."""

    @property
    def turn_id(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def entry(self) -> Entry | Mark: ...


class Round(Struct, frozen=True):
    """A message with all replies, calls and results up to the next one; shown whole or not at all."""

    turn_id: str
    entries: Sequence[Entry]


class Rounds:
    """The rounds of one conversation after its latest summary, and that summary.

    Earlier commands are left out: they hold calls of tools that no model has. Pictures of earlier rounds are reduced to
    the lines that describe them: a picture costs hundreds of tokens each time that it is sent, and the model's answer
    holds its reading of it. A provider's prompt cache begins anew at that message, once.
    """

    def __init__(self, records: Iterable[Dated] = ()) -> None:
        self.summary: Sequence[Entry] = ()
        """As a model reads it; one entry, or none."""
        self.entries: list[Entry] = []
        """Entries of all rounds; the very same objects from request to request."""
        self.times: list[datetime] = []
        """When each entry was recorded."""
        self._turns: list[str] = []
        self._begins = array("l")
        """Index in `entries` at which each round begins."""
        self._sizes = array("l")
        """Sizes of the rounds before the last one, in tokens, as far as they were requested."""
        self._scale: Scale | None = None
        """The scale by which the sizes were computed."""
        self._is_command = False
        """The last round is a command, which no language model answers."""
        for record in records:
            self.add(record)

    def __len__(self) -> int:
        return len(self._begins)

    def __iter__(self) -> Iterator[Round]:
        for place, turn in enumerate(self._turns):
            yield Round(turn, self.entries[self.begin(place) : self.begin(place + 1)])

    def begin(self, place: int) -> int:
        """Return the index in `entries` at which the round at *place* begins; behind the last round, its end."""
        return self._begins[place] if 0 <= place < len(self) else len(self.entries)

    def add(self, record: Dated) -> None:
        entry = record.entry
        if isinstance(entry, SummaryEntry):
            self._sum_up(entry, record.at)
        elif isinstance(entry, ForgottenEntry):
            self._forget(entry)
        if isinstance(entry, Mark):
            return
        if isinstance(entry, TurnNoteEntry) and self._begins:
            self._put_note(entry)
            return
        if not self._begins or (isinstance(entry, UserEntry) and not entry.joins):
            self._close()
            self._begins.append(len(self.entries))
            self._turns.append(record.turn_id)
        self.entries.append(entry)
        self.times.append(record.at)
        self._is_command = self._is_command or (isinstance(entry, ReplyEntry) and entry.model == COMMAND)

    def _put_note(self, note: TurnNoteEntry) -> None:
        """Put *note* where it was sent: before the messages of the last round, below an earlier one of the turn."""
        at = begin = self.begin(len(self) - 1)
        while at < len(self.entries) and isinstance(self.entries[at], TurnNoteEntry):
            at += 1
        self.entries.insert(at, note)
        self.times.insert(at, self.times[begin])

    def _forget(self, forgotten: ForgottenEntry) -> None:
        """Leave lines that were to be forgotten out of the notes on earlier turns."""
        for at, entry in enumerate(self.entries):
            if isinstance(entry, TurnNoteEntry):
                self.entries[at] = _without(entry, forgotten.texts)
        self._sizes = array("l")

    def _close(self) -> None:
        """Reduce the last round to the form that later requests show."""
        begin = self.begin(len(self) - 1)
        if self._is_command:
            del self.entries[begin:], self.times[begin:], self._turns[-1], self._begins[-1]
        self.entries[begin:] = without_pictures(self.entries[begin:])
        self._is_command = False

    def _sum_up(self, summary: SummaryEntry, at: datetime) -> None:
        """Drop the rounds that *summary* replaces; none if the first round that it keeps is unknown."""
        said = UserEntry(
            shown_summary(summary), at, "", "", from_outside=summary.from_outside, is_house=summary.is_house
        )
        self.summary = (said,)
        kept = self._turns.index(summary.kept_from) if summary.kept_from in self._turns else 0
        begin = self.begin(kept)
        del self.entries[:begin], self.times[:begin], self._turns[:kept], self._sizes[:kept]
        self._begins = array("l", (each - begin for each in self._begins[kept:]))

    def sizes(self, scale: Scale) -> Sequence[int]:
        """Return how many tokens each round takes by *scale*."""
        if scale != self._scale:
            self._scale, self._sizes = scale, array("l")
        for place in range(len(self._sizes), len(self) - 1):
            self._sizes.append(self._size(place, scale))
        return [*self._sizes, *(self._size(place, scale) for place in range(len(self._sizes), len(self)))]

    def _size(self, place: int, scale: Scale) -> int:
        return sum(entry_tokens(entry, scale) for entry in self.entries[self.begin(place) : self.begin(place + 1)])


def note_place(entries: Sequence[Entry]) -> int:
    """Return the index in *entries* at which the note on the last turn stands: before the messages that it answers."""
    begins = (at for at in range(len(entries) - 1, -1, -1) if isinstance(entries[at], UserEntry))
    return next((at for at in begins if not getattr(entries[at], "joins", False)), len(entries))


def _without(note: TurnNoteEntry, texts: Iterable[str]) -> TurnNoteEntry:
    """Return *note* without the lines that hold one of *texts*."""
    sought = [folded for text in texts if (folded := _folded(text))]

    def kept(lines: str) -> str:
        return "\n".join(line for line in lines.split("\n") if not any(text in _folded(line) for text in sought))

    return replace(note, text=kept(note.text), outside=None if note.outside is None else kept(note.outside))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def without_pictures(entries: Iterable[Entry]) -> list[Entry]:
    """Return *entries* with the lines that describe their pictures alone; text in these may be others' words."""
    return [
        replace(entry, pictures=(), from_outside=True) if isinstance(entry, UserEntry) and entry.pictures else entry
        for entry in entries
    ]
