"""Records of one conversation, with an index by turn."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from gateway.agent.decisions import UndecidedChanges
from gateway.agent.entries import Entry, Mark, UserEntry
from gateway.agent.house import is_house
from gateway.agent.window.rounds import Rounds
from gateway.stores.rows import InboxId, TurnId
from gateway.transcripts.codec import Record


class Records(Sequence[Record]):
    """The records of one conversation, in their order; append-only."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records: list[Record] = []
        self._first: dict[TurnId, int] = {}
        """Index of the first record of each turn."""
        self._latest: dict[type[Entry | Mark], Record] = {}
        self._joined: set[str] = set()
        """The inbox's ids of the messages that joined a turn of another."""
        self.has_house = False
        """Some of it stays on the owner's machines."""
        self.rounds = Rounds()
        """In the form that requests show."""
        self.undecided = UndecidedChanges()
        self.extend(records)

    def extend(self, records: Iterable[Record]) -> None:
        for record in records:
            self._first.setdefault(record.turn_id, len(self._records))
            self._records.append(record)
            self._latest[type(record.entry)] = record
            if isinstance(record.entry, UserEntry) and record.entry.joins:
                self._joined.add(record.entry.message_id)
            self.has_house = self.has_house or is_house(record.entry)
            self.rounds.add(record)
            self.undecided.add(record.entry)

    def of(self, turn_id: TurnId) -> list[Record]:
        first = self._first.get(turn_id, len(self._records))
        return [record for record in self._records[first:] if record.turn_id == turn_id]

    def knows(self, turn_id: TurnId) -> bool:
        """Return whether a turn has begun."""
        return turn_id in self._first

    def latest(self, kind: type[Entry | Mark]) -> Record | None:
        """Return the last record whose entry is of this *kind*."""
        return self._latest.get(kind)

    def has_joined(self, message_id: InboxId) -> bool:
        """Return whether a message joined the turn of another one."""
        return str(message_id) in self._joined

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __reversed__(self) -> Iterator[Record]:
        return reversed(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._records == list(other)

    __hash__ = None  # type: ignore[assignment]  # they change

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        return self._records[place]


def records_after(records: Sequence[Record], mark: type[Mark]) -> Sequence[Record]:
    """Return the records after the last *mark*."""
    marks = [place for place, record in enumerate(records, 1) if isinstance(record.entry, mark)]
    return records[marks[-1] if marks else 0 :]
