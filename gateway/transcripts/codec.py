"""Codec of transcripts: each event of a session is a record, one line of JSON.

A line is `{"v":1,"type":"user"|"note"|"reply"|"start"|"result","turn":…,"at":…,"entry":{…}}`, a message's and an
answer's with `"kind"`, the number of its `LineKind`; or one of the marks `"used"`, `"log"`, `"logged"`, `"flush"`,
`"recall"`, `"summary"`, `"forgotten"`, `"enclosed"` and `"end"`, which are not part of the conversation. The first line
has the type `"session"`.

A new type of record is a dataclass in `gateway/agent/entries.py`, one of `Mark` there unless a model is to see it, and
a row of `_EntryLine` here. A new field of an entry has a default, so that older lines can be read. A change in the
meaning of a field takes the next `v`: lines of an unknown version or type are kept, skipped and counted, so that an
older program does no harm to a newer one's lines.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum, auto
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Generic, Literal, TypeVar, get_args

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gateway.agent.authorship import corrects_earlier, own_words
from gateway.agent.entries import (
    COMMAND,
    NO_REPLY,
    OFFLINE,
    UNFINISHED,
    CallStartEntry,
    EnclosedEntry,
    EndEntry,
    Entry,
    FlushEntry,
    ForgottenEntry,
    LogEntry,
    LoggedEntry,
    Mark,
    RecallEntry,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    TurnNoteEntry,
    UsedEntry,
    UserEntry,
    own_answer,
)
from gateway.agent.models.offline_intents import only_forgets, orders_note
from gateway.stores.codec import KEYS_ALONE, to_json
from gateway.stores.rows import TurnId
from workspaces.memory.text.dialogue import LineKind, is_empty_answer, kind_of_speech

K = TypeVar("K", bound=str)
E = TypeVar("E", bound=Entry | Mark)

_RECORD_START = b'{"v":'
"""Begins every record and cannot occur inside one, where its quotation marks would be escaped."""


class Record(Struct, frozen=True):
    """One entry of a conversation, with the turn that it belongs to."""

    turn_id: TurnId
    at: datetime
    """Time of recording, in UTC."""
    entry: Entry | Mark
    kind: LineKind | None = None
    """As it was written; `None` in older lines and for entries without speech. `speech` tells both."""

    @property
    def speech(self) -> LineKind | None:
        """Kind of what was said; `None` if nothing was."""
        return kind_of_entry(self.entry) if self.kind is None else self.kind


def kind_of_entry(entry: Entry | Mark) -> LineKind | None:
    """Return the kind of what *entry* says by its words and its author; `None` if it says nothing of its own."""
    match entry:
        case UserEntry() if text := own_words(entry):
            kind = kind_of_speech(text)
            if kind in _STATED and only_forgets(text):
                return LineKind.SMALL_TALK
            return LineKind.ORDER if kind in _STATED and orders_note(text) else kind
        case ReplyEntry(model=model) if entry.text.strip():
            text = own_answer(entry)
            is_agents = model != OFFLINE and not model.startswith(UNFINISHED) and text.strip().upper() not in _NOTHING
            return kind_of_speech(text) if is_agents and not is_empty_answer(text) else LineKind.NO_ANSWER
        case _:
            return None


_STATED = (LineKind.SAYS, LineKind.ASKS)
_NOTHING = frozenset({NO_REPLY, ""})


class Fault(Enum):
    """A fault in place of a record."""

    DAMAGED = auto()
    """Unreadable."""
    UNKNOWN = auto()
    """Whole, but of an unknown type or version."""


def earlier_versions(records: Iterable[Record]) -> set[str]:
    """Return the sources of messages among *records* that their senders edited later: they say something else now."""
    old, newest = set[str](), dict[str, str]()
    for record in records:
        if isinstance(record.entry, UserEntry) and record.entry.source:
            message = record.entry.source.partition(".")[0]
            if corrects_earlier(record.entry) and message in newest:
                old.add(newest[message])
            newest[message] = record.entry.source
    return old - {*newest.values()}


def is_version(record: Record, sources: Container[str]) -> bool:
    """Return whether *record* is a message whose source is one of *sources*."""
    return isinstance(record.entry, UserEntry) and record.entry.source in sources


def command_turns(records: Iterable[Record]) -> set[TurnId]:
    """Return the turns among *records* that a command answered."""
    return {
        record.turn_id for record in records if isinstance(record.entry, ReplyEntry) and record.entry.model == COMMAND
    }


def header(session: str, at: datetime) -> bytes:
    """Return the first line of the transcript of *session*."""
    return f"{to_json(_lines(), _SessionLine(at=at, session=session))}\n".encode()


def to_line(record: Record) -> bytes:
    kind = {} if record.kind is None else {"kind": record.kind}
    line = _LINE_OF[type(record.entry)](turn=record.turn_id, at=record.at, entry=record.entry, **kind)
    return f"{to_json(_lines(), line)}\n".encode()


def in_line(line: bytes) -> Iterator[Record | Fault]:
    """Yield the record in *line*: none in the first one and in an empty one, several where damage ran them together."""
    for piece in _pieces(line):
        match _parse(piece):
            case None:
                yield Fault.DAMAGED
            case _UnknownLine():
                yield Fault.UNKNOWN
            case _SessionLine():
                pass
            case found:
                yield Record(found.turn, found.at, found.entry, getattr(found, "kind", None))


def is_whole(line: bytes) -> bool:
    """Return whether *line* is a record, or the first line, of this version or another."""
    return _parse(line) is not None


def numbered_records(lines: Iterable[bytes]) -> Iterator[tuple[int, Record]]:
    """Yield every whole record with its line number, from 1; damaged ones are skipped."""
    for number, line in enumerate(lines, 1):
        for record in in_line(line):
            if isinstance(record, Record):
                yield number, record


class _SessionLine(BaseModel):
    model_config = ConfigDict(defer_build=True)

    v: Literal[1] = 1
    type: Literal["session"] = "session"
    at: datetime
    session: str


class _Line(BaseModel, Generic[K, E]):
    model_config = ConfigDict(defer_build=True)

    v: Literal[1] = 1
    turn: TurnId
    at: datetime
    type: K
    entry: E


class _SaidLine(_Line[K, E], Generic[K, E]):
    kind: LineKind | None = None


_EntryLine = (
    _SaidLine[Literal["user"], UserEntry]
    | _SaidLine[Literal["reply"], ReplyEntry]
    | _Line[Literal["note"], TurnNoteEntry]
    | _Line[Literal["start"], CallStartEntry]
    | _Line[Literal["result"], ResultEntry]
    | _Line[Literal["used"], UsedEntry]
    | _Line[Literal["log"], LogEntry]
    | _Line[Literal["logged"], LoggedEntry]
    | _Line[Literal["flush"], FlushEntry]
    | _Line[Literal["recall"], RecallEntry]
    | _Line[Literal["summary"], SummaryEntry]
    | _Line[Literal["forgotten"], ForgottenEntry]
    | _Line[Literal["enclosed"], EnclosedEntry]
    | _Line[Literal["end"], EndEntry]
)
"""The stored form of each kind of entry."""
_AnyLine = Annotated[_SessionLine | _EntryLine, Field(discriminator="type")]


def _kind(line: type[BaseModel]) -> str:
    [kind] = get_args(line.model_fields["type"].annotation)
    return str(kind)


class _UnknownLine(BaseModel):
    """A whole record of unknown type or version."""

    v: int
    type: str


_LINE_OF: Mapping[type[Entry | Mark], Callable[..., _EntryLine]] = MappingProxyType(
    {line.model_fields["entry"].annotation: partial(line, type=_kind(line)) for line in get_args(_EntryLine)}
)


def _pieces(line: bytes) -> list[bytes]:
    """Split records that a damaged line end ran together: the one that lost it is lost, not its neighbour."""
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
    return None if other.v == 1 and other.type in _kinds() else other


@cache
def _lines() -> TypeAdapter[_AnyLine]:
    return TypeAdapter(_AnyLine, config=KEYS_ALONE)


@cache
def _kinds() -> frozenset[str]:
    return frozenset(map(_kind, (_SessionLine, *get_args(_EntryLine))))
