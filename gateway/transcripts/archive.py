"""Reads stored conversations, ended ones too, within a caller's access."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, field

from gateway.agent.entries import CallStartEntry, LoggedEntry, RecallEntry, TurnNoteEntry
from gateway.transcripts.codec import Fault, Record, in_line, is_whole, to_line
from gateway.transcripts.memory_source import SUFFIX, scope_of_session
from gateway.transcripts.read_tail import NewestFirst
from gateway.transcripts.store import ARCHIVE
from workspaces.access import Access, readable_scopes
from workspaces.lazy_pattern import lazy_pattern

PAGE_BYTES = 1_000_000
"""Size of the parts in which an export is read, approximately."""
_LOOKED_INTO, _LOOKED_AT = 5, 200
"""Latest conversations, and last records of each, among which a receipt is looked for."""
_SAID = lazy_pattern(rb'"type":"(?:user|reply)","entry":\{"text":"(?!")')
"""A message or a reply with some text, in the form that `codec.py` writes."""
_SILENT = CallStartEntry | TurnNoteEntry | LoggedEntry
"""Records of the journal that show nobody anything."""
_ENDED = lazy_pattern(r"(.+)\.(\d{8}T\d{12}Z)")


class ArchivedConversation(Struct, frozen=True):
    name: str
    """File name: the session's name, with the end time for an ended one."""
    ended: datetime | None
    """`None` while it continues."""
    path: Path


class Extent(Struct, frozen=True):
    """The size of a conversation."""

    messages: int
    """Messages and replies with text."""
    size: int
    """In bytes."""
    last: datetime
    """Time of the last write."""


class RecordPage(Struct):
    """Some records of a conversation, in their order, and the faults between them."""

    records: list[Record] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """In their stored form, lines of unknown types included."""
    faults: Counter[Fault] = field(default_factory=Counter)
    next_at: int | None = None
    """The byte at which the part after it begins; `None` after the last one."""


def archived_sessions(folder: Path, access: Access) -> list[ArchivedConversation]:
    """Return the conversations in *folder* that *access* may read: open ones, then ended ones, the latest first."""
    scopes = readable_scopes(access)
    found = [*_conversations(folder, is_over=False), *_conversations(folder / ARCHIVE, is_over=True)]
    readable = [each for each, session in found if scopes is None or scope_of_session(session) in scopes]
    return sorted(readable, key=lambda each: (each.ended is None, each.ended, each.name), reverse=True)


def _conversations(folder: Path, *, is_over: bool) -> Iterator[tuple[ArchivedConversation, str]]:
    """Yield each conversation with the name of its session."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        name = unquote(path.stem)
        if not path.is_file() or path.is_symlink():
            continue
        if not is_over:
            yield ArchivedConversation(name, None, path), name
        elif over := _ENDED.fullmatch(name):
            ended = datetime.strptime(over[2], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
            yield ArchivedConversation(name, ended, path), over[1]


def extent(kept: ArchivedConversation) -> Extent:
    """Return the size of the conversation; the file is scanned and not parsed."""
    facts = kept.path.stat()
    with kept.path.open("rb") as lines:
        messages = sum(len(_SAID.findall(line)) for line in lines)
    return Extent(messages, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))


def latest_part(kept: ArchivedConversation, limit: int) -> RecordPage:
    """Return the last *limit* records with content; no more of the file is read."""
    with kept.path.open("rb") as file:
        newest_first = NewestFirst(file)
        telling = (record for record in newest_first if not isinstance(record.entry, _SILENT))
        records = list(islice(telling, limit))[::-1]
    return RecordPage(records, faults=newest_first.faults)


def latest_receipt(folder: Path, access: Access, zone: tzinfo) -> str:
    """Return the latest recall receipt among the ends of the conversations in *folder*, with its day in *zone*."""
    found = latest_receipts(folder, access, 1, _LOOKED_INTO)
    return f"{found[0][1]} on {found[0][0].astimezone(zone):%Y-%m-%d}" if found else ""


def latest_receipts(
    folder: Path, access: Access, most: int, conversations: int = 60
) -> list[tuple[datetime, RecallEntry]]:
    """Return the latest recall receipts with their times, newest first; only the ends of conversations are read."""
    found: list[tuple[datetime, RecallEntry]] = []
    kept = archived_sessions(folder, access)
    with suppress(OSError):  # a conversation was archived meanwhile
        for each in sorted(kept, key=lambda each: each.path.stat().st_mtime, reverse=True)[:conversations]:
            if len(found) >= most:
                break
            with each.path.open("rb") as file:
                records = islice(NewestFirst(file), _LOOKED_AT)
                found += [(record.at, record.entry) for record in records if isinstance(record.entry, RecallEntry)]
    return sorted(found, key=lambda each: each[0], reverse=True)[:most]


def part_at(kept: ArchivedConversation, offset: int) -> RecordPage:
    """Return the records from the byte *offset* on, about a megabyte of them; damaged lines are counted."""
    part = RecordPage()
    with kept.path.open("rb") as file:
        file.seek(offset)
        for line in file:
            _take(part, line)
            if file.tell() - offset >= PAGE_BYTES:
                part.next_at = file.tell()
                return part
    return part


def _take(part: RecordPage, line: bytes) -> None:
    stored = line.rstrip(b"\n")
    if is_whole(stored):
        part.lines.append(stored + b"\n")
    for found in in_line(stored):
        if isinstance(found, Record):
            part.records.append(found)
            if not is_whole(stored):  # damaged: it runs together with another one
                part.lines.append(to_line(found))
        else:
            part.faults[found] += 1
