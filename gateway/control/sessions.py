"""Operator requests about stored conversations."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct

from gateway.agent.authorship import without_overheard
from gateway.agent.entries import (
    EndEntry,
    Entry,
    FlushEntry,
    LogEntry,
    Mark,
    RecallEntry,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    UsedEntry,
    UserEntry,
)
from gateway.agent.receipts import LEAD, ReceiptLevel, receipt_line
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.wire import SessionMatch, SessionRecord, SessionRow, SessionsAnswer, SessionsOrder
from gateway.errors import StrandlineError
from gateway.sessions.extractive_summary import OWNER
from gateway.stores.disk import disk_trouble
from gateway.stores.rows import TurnId
from gateway.transcripts.archive import (
    ArchivedConversation,
    RecordPage,
    archived_sessions,
    extent,
    latest_part,
    part_at,
)
from gateway.transcripts.codec import Fault, Record
from gateway.transcripts.memory_source import TranscriptNotes
from gateway.transcripts.store import Sessions
from workspaces.access import Access, readable_scopes
from workspaces.memory.exact_search import ExactQuery, Match, find_exact
from workspaces.run_blocking import RunBlocking

PATIENCE_S = 60.0
"""Longest search, in seconds: at the command line all matches are wanted."""


class ConversationList(Struct, frozen=True):
    """Locations of an agent's conversations, and the requester's access to them."""

    access: Access
    folder: Path
    zone: tzinfo
    """The owner's."""

    def named(self, name: str | None) -> ArchivedConversation:
        """Return the conversation called *name*. Raises StrandlineError."""
        for kept in archived_sessions(self.folder, self.access):
            if kept.name == name:
                return kept
        whose = f"agent {self.access.agent} has"
        raise StrandlineError(f"{whose} no conversation {name!r}; strandline sessions list names them all")


class SessionsOperator(Struct, frozen=True):
    """Lists, shows and searches the agents' stored conversations."""

    agents: AgentDirectory
    transcripts: Sessions
    zone: tzinfo
    """The owner's."""

    async def answer(self, order: SessionsOrder) -> SessionsAnswer:
        """Execute *order*; a list may be of all agents. Raises StrandlineError and ExactRefusedError."""
        is_of_all = order.act == "list" and order.agent is None
        asked = [*self.agents] if is_of_all else [self.agents.named(order.agent)]
        lists = [
            ConversationList(terminal_access(agent.id), self.transcripts.folder(agent.id), self.zone) for agent in asked
        ]
        return await answer_sessions(order, lists, self.transcripts.run)


async def answer_sessions(order: SessionsOrder, lists: Sequence[ConversationList], run: RunBlocking) -> SessionsAnswer:
    """Execute *order*; apart from a list, on the first shelf. Raises StrandlineError and ExactRefusedError."""
    if order.act == "search":
        return await _search(order, lists[0], run)
    return await run(_READING[order.act], order, lists)


def _list(_: SessionsOrder, lists: Sequence[ConversationList]) -> SessionsAnswer:
    return SessionsAnswer(sessions=tuple(row for conversations in lists for row in _rows(conversations)))


def _rows(conversations: ConversationList) -> Iterator[SessionRow]:
    for kept in archived_sessions(conversations.folder, conversations.access):
        with suppress(FileNotFoundError):  # it has just ended and was moved
            size = extent(kept)
            ended = kept.ended.astimezone(conversations.zone) if kept.ended else None
            last = size.last.astimezone(conversations.zone)
            yield SessionRow(conversations.access.agent, kept.name, ended, size.messages, size.size, last)


def _show(order: SessionsOrder, lists: Sequence[ConversationList]) -> SessionsAnswer:
    return _read(order, lists[0], lambda kept: latest_part(kept, order.limit))


def _export(order: SessionsOrder, lists: Sequence[ConversationList]) -> SessionsAnswer:
    return _read(order, lists[0], lambda kept: part_at(kept, order.offset))


def _read(
    order: SessionsOrder, conversations: ConversationList, read: Callable[[ArchivedConversation], RecordPage]
) -> SessionsAnswer:
    kept = conversations.named(order.session)
    try:
        part = read(kept)
    except OSError as exc:
        raise disk_trouble(kept.path, exc) from exc
    return SessionsAnswer(
        records=tuple(_readable(part.records, conversations)),
        lines=tuple(line.decode("utf-8", "replace") for line in part.lines),
        damaged=part.faults[Fault.DAMAGED],
        unknown=part.faults[Fault.UNKNOWN],
        next_offset=part.next_at,
    )


_READING = {"list": _list, "show": _show, "export": _export}


async def _search(order: SessionsOrder, conversations: ConversationList, run: RunBlocking) -> SessionsAnswer:
    query = ExactQuery(order.query or "", order.since, order.until, order.limit, deadline_s=PATIENCE_S)
    source = TranscriptNotes(conversations.access.agent, conversations.folder, conversations.zone)
    result = await find_exact(query, [source], readable_scopes(conversations.access), run, time.monotonic)
    return SessionsAnswer(matches=tuple(map(_match, result.matches)), notice=result.notice)


def _match(match: Match) -> SessionMatch:
    return SessionMatch(match.citation, match.date, match.before, match.text, match.after)


def _readable(records: Sequence[Record], conversations: ConversationList) -> Iterator[SessionRecord]:
    """Yield the readable parts of *records*, with a receipt of its turn behind each last answer."""
    turns: dict[TurnId, list[Entry]] = {}
    for record in records:
        if not isinstance(record.entry, Mark):
            turns.setdefault(record.turn_id, []).append(record.entry)
    for record in records:
        yield from _readable_parts(record, conversations)
        if isinstance(record.entry, ReplyEntry) and not record.entry.calls:
            line = receipt_line(turns[record.turn_id], conversations.access, ReceiptLevel.FULL)
            if line:
                yield SessionRecord(
                    record.at.astimezone(conversations.zone), "note", "receipt", line.removeprefix(LEAD)
                )


def _readable_parts(record: Record, conversations: ConversationList) -> Iterator[SessionRecord]:
    """Yield the readable parts of *record*; marks that only the journal needs have none."""
    at, agent = record.at.astimezone(conversations.zone), conversations.access.agent
    match record.entry:
        case UserEntry(text=text, sender=sender, message_id=message):
            heard, own = without_overheard(text)
            if heard:
                yield SessionRecord(at, "note", "overheard before", heard)
            yield SessionRecord(at, "message", sender or OWNER, own, message)
        case ReplyEntry(text=text, calls=calls):
            if text or not calls:
                yield SessionRecord(at, "reply", agent, text)
            yield from (SessionRecord(at, "call", call.name, call.arguments) for call in calls)
        case ResultEntry(name=name, text=text):
            yield SessionRecord(at, "result", name, text)
        case RecallEntry() as receipt:
            yield SessionRecord(at, "note", "recall checked", str(receipt))
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
