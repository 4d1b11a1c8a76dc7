"""This file is the one reader and writer of transcripts: a JSONL file a session, append-only, the journal of its turns.

A line is `{"v":1,"type":"user"|"reply"|"start"|"result","turn":…,"at":…,"entry":{…}}`, or one of the marks `"used"`,
`"log"`, `"logged"`, `"flush"`, `"summary"` and `"end"`, which are no part of what was said; the first says `"session"`.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from gateway.agent.entries import (
    COMMAND,
    CallStartEntry,
    EndEntry,
    Entry,
    FlushEntry,
    LogEntry,
    LoggedEntry,
    Mark,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    UsedEntry,
    UsedMemory,
    UserEntry,
)
from gateway.agent.tools.tool import Run
from gateway.conversation.purging import redact_file
from gateway.stores.codec import to_json
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.ports import TurnId
from gateway.timing import utc_now
from workspaces.checkpoint import Checkpoint, unchecked
from workspaces.redaction import Redaction

Now = Callable[[], datetime]
"""Tells the time in UTC."""

_RECORD_START = b'{"v":'
"""Begins every record and can stand nowhere inside one, where its quotation marks would be escaped."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a conversation, with the turn that it belongs to."""

    turn_id: TurnId
    at: datetime
    """When it was written down, in UTC."""
    entry: Entry | Mark


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was wrong with a transcript when it was opened."""

    torn: int = 0
    """1 if the last line was cut short by a crash; its bytes were moved to `<name>.torn`."""
    damaged: int = 0
    """Lines that cannot be read; they stay in the file."""
    unknown: int = 0
    """Lines of a kind or version that this program does not know; they stay in the file."""


class _SessionLine(BaseModel):
    v: Literal[1] = 1
    type: Literal["session"] = "session"
    at: datetime
    session: str


class _Line(BaseModel):
    v: Literal[1] = 1
    turn: TurnId
    at: datetime


class _UserLine(_Line):
    type: Literal["user"] = "user"
    entry: UserEntry


class _ReplyLine(_Line):
    type: Literal["reply"] = "reply"
    entry: ReplyEntry


class _StartLine(_Line):
    type: Literal["start"] = "start"
    entry: CallStartEntry


class _ResultLine(_Line):
    type: Literal["result"] = "result"
    entry: ResultEntry


class _UsedLine(_Line):
    type: Literal["used"] = "used"
    entry: UsedEntry


class _LogLine(_Line):
    type: Literal["log"] = "log"
    entry: LogEntry


class _LoggedLine(_Line):
    type: Literal["logged"] = "logged"
    entry: LoggedEntry


class _FlushLine(_Line):
    type: Literal["flush"] = "flush"
    entry: FlushEntry


class _SummaryLine(_Line):
    type: Literal["summary"] = "summary"
    entry: SummaryEntry


class _EndLine(_Line):
    type: Literal["end"] = "end"
    entry: EndEntry


_Said = _UserLine | _ReplyLine | _StartLine | _ResultLine
_EntryLine = _Said | _UsedLine | _LogLine | _LoggedLine | _FlushLine | _SummaryLine | _EndLine
_AnyLine = Annotated[_SessionLine | _EntryLine, Field(discriminator="type")]


_KINDS = frozenset({"session", "user", "reply", "start", "result", "used", "log", "logged", "flush", "summary", "end"})


class _UnknownLine(BaseModel):
    """A whole record of which no more is known than that it says what it is."""

    v: int
    type: str


class Transcript:
    """The records of one session, in memory and on disk; made by `open`, used by one lane."""

    def __init__(self, path: Path, run: Run, checkpoint: Checkpoint, now: Now) -> None:
        self._path = path
        self._run = run
        self._checkpoint = checkpoint
        self._now = now
        self._leftover_at: int | None = None
        """Where a failed write begins that could not be cut off yet."""
        self._one_write = threading.Lock()
        self.records: list[Record] = []
        self.repairs = Repairs()

    @classmethod
    async def open(cls, path: Path, run: Run, checkpoint: Checkpoint = unchecked, now: Now = utc_now) -> "Transcript":
        """Read the transcript at *path* and mend its end; an absent one is empty, and made when it is written to.

        Raises StoreError if the file cannot be read or mended; damage inside it is skipped and counted in `repairs`.
        """
        transcript = cls(path, run, checkpoint, now)
        await run(transcript._read)
        return transcript

    @property
    def entries(self) -> list[Entry]:
        """The conversation, as a model may see it."""
        return [record.entry for record in self.records if not isinstance(record.entry, Mark)]

    def entries_of(self, turn_id: TurnId) -> list[Entry]:
        """Return what one turn wrote down, without what it noted for who asks why."""
        return [
            record.entry for record in self.records if record.turn_id == turn_id and not isinstance(record.entry, Mark)
        ]

    def question(self, back: int = 1) -> tuple[TurnId, UserEntry] | None:
        """Return the latest message that a model was to answer, or an earlier one: 2 is the one before it."""
        orders = command_turns(self.records)
        asked = (
            (record.turn_id, record.entry)
            for record in reversed(self.records)
            if isinstance(record.entry, UserEntry) and record.turn_id not in orders
        )
        return next(islice(asked, back - 1, None), None)

    def used_by(self, turn_id: TurnId) -> tuple[UsedMemory, ...]:
        """Return the memories that a turn used, each once, the best of its scores, those with the best first."""
        best: dict[str, UsedMemory] = {}
        for record in self.records:
            if record.turn_id == turn_id and isinstance(record.entry, UsedEntry):
                for memory in record.entry.memories:
                    if memory.citation not in best or memory.relevance > best[memory.citation].relevance:
                        best[memory.citation] = memory
        return tuple(sorted(best.values(), key=lambda memory: -memory.relevance))

    async def append(self, turn_id: TurnId, *entries: Entry | Mark) -> None:
        """Write *entries* down, durably, all or none. Raises StoreError; the file is then what it was before."""
        now = self._now()
        await self._run(self._write, [Record(turn_id, now, entry) for entry in entries])

    async def purge(self, redaction: Redaction) -> int:
        """Take a passage out of all lines, for good; return how many held it. Raises StoreError."""
        return await self._run(self._redact, redaction)

    def _read(self) -> None:
        try:
            if self._path.exists():
                self._take(self._path.read_bytes())
        except OSError as exc:
            raise disk_trouble(self._path, exc) from exc

    def _take(self, content: bytes) -> None:
        *lines, tail = content.split(b"\n")
        if tail and _parse(tail):  # the record is whole, only its end of line is missing
            _append_to(self._path, b"\n")
            lines, tail = [*lines, tail], b""
        if tail:
            _append_to(self._path.with_name(f"{self._path.name}.torn"), tail + b"\n")
            os.truncate(self._path, len(content) - len(tail))
        self.records, damaged, unknown = _sort_out(lines)
        self.repairs = Repairs(1 if tail else 0, damaged, unknown)

    def _write(self, records: Sequence[Record]) -> None:
        content = b"".join(_line(record) for record in records)
        with self._one_write:
            try:
                self._store(content)
            except OSError as exc:
                raise disk_trouble(self._path, exc) from exc
            self.records += _sort_out(content.split(b"\n"))[0]  # what is remembered is what was stored

    def _redact(self, redaction: Redaction) -> int:
        with self._one_write:
            if not self._path.exists():
                return 0
            if self._leftover_at is not None:
                os.truncate(self._path, self._leftover_at)
                self._leftover_at = None
            count = redact_file(self._path, redaction)
            if count:
                self.records = _sort_out(self._path.read_bytes().split(b"\n"))[0]
            return count

    def _store(self, content: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            self._cut_leftover(file)
            end = os.fstat(file).st_size
            self._leftover_at = end
            self._write_all(file, content if end else self._header() + content)
            if not end:
                sync_folder(self._path.parent)
            self._leftover_at = None
        except OSError:
            self._cut_leftover(file)
            raise
        finally:
            os.close(file)

    def _cut_leftover(self, file: int) -> None:
        if self._leftover_at is not None:
            os.ftruncate(file, self._leftover_at)
            self._leftover_at = None

    def _write_all(self, file: int, content: bytes) -> None:
        while content:
            size = self._checkpoint("transcript.write", len(content))
            content = content[os.write(file, content[:size]) :]
        self._checkpoint("transcript.sync", 0)
        os.fsync(file)

    def _header(self) -> bytes:
        return f"{to_json(_lines(), _SessionLine(at=self._now(), session=self._path.stem))}\n".encode()


def command_turns(records: Iterable[Record]) -> set[TurnId]:
    """Return the turns among *records* that a command answered."""
    return {
        record.turn_id for record in records if isinstance(record.entry, ReplyEntry) and record.entry.model == COMMAND
    }


def numbered_records(content: bytes) -> Iterator[tuple[int, Record]]:
    """Give every whole record of a transcript's *content* with its line, from 1; what is damaged is passed over."""
    for number, line in enumerate(content.split(b"\n"), 1):
        for record in _sort_out([line])[0]:
            yield number, record


def _append_to(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, content)
        os.fsync(file)
    finally:
        os.close(file)


_LINE_OF: Mapping[type[Entry | Mark], Callable[..., _EntryLine]] = MappingProxyType(
    {
        UserEntry: _UserLine,
        ReplyEntry: _ReplyLine,
        CallStartEntry: _StartLine,
        ResultEntry: _ResultLine,
        UsedEntry: _UsedLine,
        LogEntry: _LogLine,
        LoggedEntry: _LoggedLine,
        FlushEntry: _FlushLine,
        SummaryEntry: _SummaryLine,
        EndEntry: _EndLine,
    }
)
"""How each kind of entry is written down."""


def _line(record: Record) -> bytes:
    line = _LINE_OF[type(record.entry)](turn=record.turn_id, at=record.at, entry=record.entry)
    return f"{to_json(_lines(), line)}\n".encode()


def _sort_out(lines: Iterable[bytes]) -> tuple[list[Record], int, int]:
    """Return the records in *lines*, how many lines are damaged, and how many are of an unknown kind."""
    records: list[Record] = []
    damaged = unknown = 0
    for line in (piece for each in lines if each.strip() for piece in _pieces(each)):
        match _parse(line):
            case None:
                damaged += 1
            case _UnknownLine():
                unknown += 1
            case _SessionLine():
                pass
            case found:
                records.append(Record(found.turn, found.at, found.entry))
    return records, damaged, unknown


def _pieces(line: bytes) -> list[bytes]:
    """Part records that a damaged end of line ran together: it costs the one that lost it, not its neighbour."""
    first, *others = line.split(_RECORD_START)
    return [piece for piece in (first, *(_RECORD_START + other for other in others)) if piece.strip()]


def _parse(line: bytes) -> _AnyLine | _UnknownLine | None:
    """Read one record; `None` if it is damaged."""
    try:
        return _lines().validate_json(line)
    except ValidationError:
        pass
    try:
        other = _UnknownLine.model_validate_json(line)
    except ValidationError:
        return None
    return None if other.v == 1 and other.type in _KINDS else other


@cache
def _lines() -> TypeAdapter[_AnyLine]:
    return TypeAdapter(_AnyLine)
