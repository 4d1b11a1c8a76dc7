"""Reads a transcript from its end, as far back as a turn may need it and no further."""

from collections import Counter
from collections.abc import Iterable, Iterator
from os import SEEK_END
from typing import BinaryIO

from gateway.agent.entries import COMMAND, ReplyEntry, SummaryEntry, UserEntry
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Fault, Record, in_line

LEAST_MESSAGES = 30
"""Kept in memory even if they are summarised: the note of a session's end and `/why` look back over so many."""
_BLOCK = 256 * 1024
"""Bytes read at a time."""


class NewestFirst:
    """The records of a file from the last to the first; counts faults on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0
        """Bytes of the lines yielded so far."""
        self.faults: Counter[Fault] = Counter()

    def __iter__(self) -> Iterator[Record]:
        for line in lines_backwards(self._file):
            self.size += len(line)
            for found in reversed(list(in_line(line))):
                if isinstance(found, Record):
                    yield found
                else:
                    self.faults[found] += 1


def needed_records(newest_first: Iterable[Record], *, is_alone: bool = False) -> tuple[list[Record], bool]:
    """Return, in their order, the records that a turn needs, and whether these are all of *newest_first*.

    They begin with the first message that the latest summary keeps: older ones are in that summary, and in the notes.
    The last 30 messages other than commands are included in any case. Without a summary all records are needed; where
    each turn *is_alone*, independent of earlier ones, only the latest.
    """
    kept: list[Record] = []
    has_enough = _Enough(is_alone=is_alone)
    for record in newest_first:
        if has_enough(record):
            return kept[::-1], False
        kept.append(record)
    return kept[::-1], True


class _Enough:
    """Returns at each record, the newest first, whether all needed ones came before."""

    def __init__(self, *, is_alone: bool) -> None:
        self._is_alone = is_alone
        self._kept_from: str | None = None
        self._is_reached = False
        self._commands: set[TurnId] = set()
        self._messages = 0

    def __call__(self, record: Record) -> bool:
        if self._is_alone and self._kept_from is None:
            self._kept_from = record.turn_id
        if self._is_reached and record.turn_id != self._kept_from and self._messages >= LEAST_MESSAGES:
            return True
        match record.entry:
            case SummaryEntry(kept_from=turn) if self._kept_from is None:
                self._kept_from = turn
            case ReplyEntry(model=model) if model == COMMAND:
                self._commands.add(record.turn_id)
            case UserEntry():
                self._is_reached = self._is_reached or record.turn_id == self._kept_from
                self._messages += record.turn_id not in self._commands
        return False


def lines_backwards(file: BinaryIO, block: int = _BLOCK) -> Iterator[bytes]:
    """Yield the lines of *file* without their ends, the last first; an empty one if the file ends with a line's end."""
    end = file.seek(0, SEEK_END)
    pieces: list[bytes] = []
    """Parts of the line whose beginning is not found yet; its end first."""
    while end:
        start = max(end - block, 0)
        file.seek(start)
        first, *others = file.read(end - start).split(b"\n")
        if others:
            yield b"".join([others.pop(), *reversed(pieces)])
            yield from reversed(others)
            pieces = []
        pieces.append(first)
        end = start
    yield b"".join(reversed(pieces))
