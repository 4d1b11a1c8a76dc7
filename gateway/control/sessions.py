"""Operator requests about stored conversations."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from gateway.agent.entries import (
    EndEntry,
    FlushEntry,
    LogEntry,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    UsedEntry,
    UserEntry,
)
from gateway.agent.tools.tool import Run
from gateway.control.wire import SessionMatch, SessionRecord, SessionRow, SessionsAnswer, SessionsOrder
from gateway.errors import StrandlineError
from gateway.sessions.extractive_summary import OWNER
from gateway.stores.disk import disk_trouble
from gateway.transcripts.archive import Kept, Part, extent, kept_sessions, latest_part, part_at
from gateway.transcripts.codec import Fault, Record
from gateway.transcripts.memory_source import TranscriptNotes
from workspaces.access import Access, readable_scopes
from workspaces.memory.exact_search import ExactQuery, Match, find_exact

PATIENCE_S = 60.0
"""Longest search, in seconds: at the command line all matches are wanted."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Locations of an agent's conversations, and the requester's access to them."""

    access: Access
    folder: Path
    zone: tzinfo
    """The owner's."""

    def named(self, name: str | None) -> Kept:
        """Return the conversation called *name*. Raises StrandlineError."""
        for kept in kept_sessions(self.folder, self.access):
            if kept.name == name:
                return kept
        whose = f"agent {self.access.agent} has"
        raise StrandlineError(f"{whose} no conversation {name!r}; strandline sessions list names them all")


async def answer_sessions(order: SessionsOrder, shelves: Sequence[Shelf], run: Run) -> SessionsAnswer:
    """Execute *order*; apart from a list, on the first shelf. Raises StrandlineError and ExactRefusedError."""
    if order.act == "search":
        return await _found(order, shelves[0], run)
    return await run(_READING[order.act], order, shelves)


def _listed(_: SessionsOrder, shelves: Sequence[Shelf]) -> SessionsAnswer:
    return SessionsAnswer(sessions=tuple(row for shelf in shelves for row in _rows(shelf)))


def _rows(shelf: Shelf) -> Iterator[SessionRow]:
    for kept in kept_sessions(shelf.folder, shelf.access):
        with suppress(FileNotFoundError):  # it has just ended and was moved
            size = extent(kept)
            ended = kept.ended.astimezone(shelf.zone) if kept.ended else None
            last = size.last.astimezone(shelf.zone)
            yield SessionRow(shelf.access.agent, kept.name, ended, size.messages, size.size, last)


def _shown(order: SessionsOrder, shelves: Sequence[Shelf]) -> SessionsAnswer:
    return _read(order, shelves[0], lambda kept: latest_part(kept, order.limit))


def _exported(order: SessionsOrder, shelves: Sequence[Shelf]) -> SessionsAnswer:
    return _read(order, shelves[0], lambda kept: part_at(kept, order.offset))


def _read(order: SessionsOrder, shelf: Shelf, read: Callable[[Kept], Part]) -> SessionsAnswer:
    kept = shelf.named(order.session)
    try:
        part = read(kept)
    except OSError as exc:
        raise disk_trouble(kept.path, exc) from exc
    return SessionsAnswer(
        records=tuple(told for record in part.records for told in _told(record, shelf)),
        lines=tuple(line.decode("utf-8", "replace") for line in part.lines),
        damaged=part.faults[Fault.DAMAGED],
        unknown=part.faults[Fault.UNKNOWN],
        next_offset=part.next_at,
    )


_READING = {"list": _listed, "show": _shown, "export": _exported}


async def _found(order: SessionsOrder, shelf: Shelf, run: Run) -> SessionsAnswer:
    query = ExactQuery(order.query or "", order.since, order.until, order.limit, deadline_s=PATIENCE_S)
    source = TranscriptNotes(shelf.access.agent, shelf.folder, shelf.zone)
    result = await find_exact(query, [source], readable_scopes(shelf.access), run, time.monotonic)
    return SessionsAnswer(matches=tuple(map(_match, result.matches)), notice=result.notice)


def _match(match: Match) -> SessionMatch:
    return SessionMatch(match.citation, match.date, match.before, match.text, match.after)


def _told(record: Record, shelf: Shelf) -> Iterator[SessionRecord]:
    """Yield the readable parts of *record*; marks that only the journal needs have none."""
    at, agent = record.at.astimezone(shelf.zone), shelf.access.agent
    match record.entry:
        case UserEntry(text=text, sender=sender):
            yield SessionRecord(at, "message", sender or OWNER, text)
        case ReplyEntry(text=text, calls=calls):
            if text or not calls:
                yield SessionRecord(at, "reply", agent, text)
            yield from (SessionRecord(at, "call", call.name, call.arguments) for call in calls)
        case ResultEntry(name=name, text=text):
            yield SessionRecord(at, "result", name, text)
        case _:
            if (note := _note(record)) is not None:
                yield SessionRecord(at, "note", *note)


def _note(record: Record) -> tuple[str, str] | None:
    match record.entry:
        case UsedEntry(memories=memories):
            return "memories used", ", ".join(memory.citation for memory in memories)
        case LogEntry(sections=sections):
            return "noted", ", ".join(section.path for section in sections)
        case FlushEntry(citations=citations):
            return "saved before the summary", ", ".join(citations) or "nothing"
        case SummaryEntry(text=text, orders=orders):
            return "summary", "\n".join([text, *(f"- {order}" for order in orders)])
        case EndEntry(reason=reason):
            return "ended", reason
        case _:
            return None
