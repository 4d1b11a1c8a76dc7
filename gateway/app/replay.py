"""Replay of the last turns of a home with their recorded replies: requests, memories, receipts; no model is asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, structs

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from adapters.spoken import CHAT
from adapters.terminal import CHANNEL as TERMINAL
from gateway.admission.routing import SessionKey, is_session, is_unasked, session_access
from gateway.agent.agent import Agent
from gateway.agent.entries import (
    COMMAND,
    CallStartEntry,
    Entry,
    Mark,
    ReplyEntry,
    TurnNoteEntry,
    UsedEntry,
    UserEntry,
    said_text,
)
from gateway.agent.models.port import ModelRequest, OnText, WrappedModel, reader_of
from gateway.agent.receipts import READING, ReceiptLevel, receipt_line
from gateway.app.app import App
from gateway.app.trial import RecordedClock
from gateway.backup.inventory import SAID, Lines, said_line, transcripts_of
from gateway.errors import ModelUnavailableError, StrandlineError
from gateway.sessions.turn_request import Plan, TurnRequest
from gateway.stores.rows import InboxId, InboxRow
from gateway.transcripts.codec import Record, numbered_records
from gateway.transcripts.records import Records
from gateway.transcripts.writer import Transcript
from gateway.turns.planning import Planner
from workspaces.access import Access, AgentId, SessionType, owner_access, read_by
from workspaces.errors import WorkspaceError
from workspaces.history import Origin
from workspaces.memory.entry import UnreadableDocumentError
from workspaces.memory.exact_search import ExactQuery
from workspaces.memory.query import Query
from workspaces.memory.text.dialogue import EVIDENCE, read_line
from workspaces.memory.workspace_source import WorkspaceNotes

TURNS = 50
QUESTIONS = 10
LONGEST_LINE = 200
PATIENCE_S = 60.0
"""How long a turn waits for memories."""
REQUESTS, MEMORIES, RECEIPTS, ANSWERS = "requests to the model", "memories", "receipts", "questions about the notes"
_ANEW = READING - {"git_bundle", "summarize_conversation"}
"""Tools that are called anew: the rest would change the copy."""


class MutedModel(WrappedModel):
    """A model that nobody asks."""

    async def reply(self, _: ModelRequest, __: OnText) -> ReplyEntry:
        raise ModelUnavailableError("a replay asks no model")


class RecordedTurn(Struct, frozen=True):
    """A turn with its conversation before it."""

    key: SessionKey
    before: Sequence[Record]
    records: Sequence[Record]
    question: UserEntry
    """Its first message."""

    @property
    def at(self) -> datetime:
        return self.records[0].at

    @property
    def entries(self) -> list[Entry]:
        return [each.entry for each in self.records if not isinstance(each.entry, Mark)]

    def __str__(self) -> str:
        return f"{self.key}, turn {self.records[0].turn_id} at {self.at:%Y-%m-%d %H:%M} UTC"


async def replay(app: App, clock: RecordedClock) -> dict[str, dict[str, Lines]]:
    """Return what this version reads, finds and would send for the last turns of the copy that *app* has open."""
    resources = app.parts.resources
    files = dict(transcripts_of(resources.home.files))
    conversations = {name: list(_records(path)) for name, path in files.items()}
    found: dict[str, dict[str, Lines]] = {REQUESTS: {}, MEMORIES: {}, RECEIPTS: {}, ANSWERS: {}}
    found[SAID] = {name: tuple(map(_said, filter(_is_said, each))) for name, each in conversations.items()}
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(agent.history_writer.work()) for agent in resources.agents.values()]
        for agent in resources.agents.values():
            await agent.memory.sync()
            found[ANSWERS] |= await answered(agent)
        for turn in latest_turns(conversations):
            if turn.key.agent in resources.agents:
                clock.go_to(turn.at)
                await _replay_turn(app, turn, found)
        clock.go_to(None)
        for each in work:
            each.cancel()
    return found


async def answered(agent: Agent) -> dict[str, Lines]:
    """Return for ten statements of the notes of *agent*, evenly spread, whether its memory finds them."""
    lines = await agent.run(_lines_of, WorkspaceNotes(agent.workspace.folder))
    lines = [line for line in lines if read_line(line).kind in EVIDENCE]
    access, found = owner_access(agent.id, "terminal:drill"), dict[str, Lines]()
    for line in lines[:: max(1, -(-len(lines) // QUESTIONS))]:
        ranked = await agent.memory.search(Query(line), access)
        has_it = any(line in hit.passage for hit in ranked.hits)
        has_it = has_it or bool((await agent.memory.find_exact(ExactQuery(line), access)).matches)
        found[f"{agent.id}: {line}"] = ("found" if has_it else "not found",)
    return found


def latest_turns(conversations: dict[str, list[Record]]) -> list[RecordedTurn]:
    """Return the latest turns of conversations with people that a model answered, oldest first."""
    found = [turn for name, records in conversations.items() for turn in _turns(name, records)]
    return sorted(found, key=lambda turn: turn.at)[-TURNS:]


def _turns(name: str, records: Sequence[Record]) -> Iterator[RecordedTurn]:
    agent, _, rest = name.partition("/sessions/")
    session = unquote(rest.removeprefix("archive/").removesuffix(".jsonl"))
    session = session.rpartition(".")[0] if rest.startswith("archive/") else session
    if not is_session(session) or is_unasked(key := SessionKey(AgentId(agent), session)):
        return
    places = {record.turn_id: place for place, record in reversed(list(enumerate(records)))}
    for turn_id, place in places.items():
        own = [each for each in records[place:] if each.turn_id == turn_id]
        models = {each.entry.model for each in own if isinstance(each.entry, ReplyEntry)}
        question = own[0].entry
        if isinstance(question, UserEntry) and question.message_id.isdecimal() and models and COMMAND not in models:
            yield RecordedTurn(key, records[:place], own, question)


async def _replay_turn(app: App, turn: RecordedTurn, found: dict[str, dict[str, Lines]]) -> None:
    agent = app.parts.resources.agents[turn.key.agent].with_models(MutedModel)
    is_house = any(isinstance(each, UserEntry) and each.is_house for each in turn.entries)
    access = read_by(session_access(turn.key), reader_of(agent.model), is_house=is_house)
    found[RECEIPTS][str(turn)] = (receipt_line(turn.entries, access, ReceiptLevel.FULL),)
    try:
        plan, used = await _planned(app, turn, agent, access)
    except (StrandlineError, WorkspaceError) as exc:
        found[REQUESTS][str(turn)] = (f"cannot be made: {exc}",)
        return
    found[REQUESTS][str(turn)] = tuple(_request_lines(plan.request, _later(turn.entries)))
    found[MEMORIES][str(turn)] = (*used, *[line async for line in _found_again(plan, turn.entries)])


async def _planned(app: App, turn: RecordedTurn, agent: Agent, access: Access) -> tuple[Plan, list[str]]:
    """Return the plan of *turn* as of its time, and the places of the memories brought up for it."""
    resources, question = app.parts.resources, turn.question
    place = resources.home.files.control_file.parent / "replayed.jsonl"
    place.unlink(missing_ok=True)
    transcript = await Transcript.open(place, resources.sessions.run, now=lambda: turn.at)
    asked = takewhile(lambda each: isinstance(each.entry, UserEntry), turn.records)
    transcript.records = Records([*turn.before, *asked])
    kind = ChatKind.GROUP if access.session_type is SessionType.GROUP else ChatKind.DIRECT
    address = Address(TERMINAL, turn.key.agent, CHAT)
    message = InboundMessage(
        address,
        question.message_id,
        Sender(CHAT, question.sender),
        kind,
        question.text,
        is_for_us=True,
        sent_at=turn.at,
    )
    row = InboxRow(InboxId(int(question.message_id)), message, turn.at)
    origin = Origin(str(turn.key), str(row.id), turn.records[0].turn_id)
    now = turn.at.astimezone(resources.home.zone.zone)
    plan = await _patient(app.parts.planner).plan(TurnRequest(row, access, agent, transcript, origin, now))
    used = (entry for entry in plan.unrecorded if isinstance(entry, UsedEntry))
    return plan, [f"recalled {memory.citation}" for entry in used for memory in entry.memories]


def _patient(planner: Planner) -> Planner:
    """Return a planner that waits for memories: a busy machine is no difference between two versions."""
    recall = structs.replace(planner.settings.recall, deadline_s=PATIENCE_S, start_s=PATIENCE_S)
    return structs.replace(planner, settings=structs.replace(planner.settings, recall=recall))


def _later(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that follow the messages at the beginning of a turn, each in its model's next request."""
    first = next((place for place, each in enumerate(entries) if not isinstance(each, UserEntry)), len(entries))
    return [each for each in entries[first:] if not isinstance(each, CallStartEntry | TurnNoteEntry)]


def _request_lines(request: ModelRequest, later: Sequence[Entry]) -> Iterator[str]:
    yield from request.stable.split("\n")
    yield from (request.outside or "").split("\n")
    for tool in request.tools:
        yield _json({"tool": tool.name, "description": tool.description, "parameters": dict(tool.parameters)})
    for entry in (*request.entries, *later):
        yield _json({"entry": type(entry).__name__, **asdict(entry)})


async def _found_again(plan: Plan, entries: Sequence[Entry]) -> AsyncIterator[str]:
    """Yield the lines that each reading call of the turn returns now."""
    for reply in entries:
        for call in reply.calls if isinstance(reply, ReplyEntry) else ():
            if call.name in _ANEW:
                for line in (await plan.toolbox.call(call)).text.split("\n"):
                    yield f"{call.name} {line}"


def _records(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        yield from (record for _, record in numbered_records(file))


def _is_said(record: Record) -> bool:
    return isinstance(record.entry, UserEntry | ReplyEntry)


def _said(record: Record) -> str:
    kind = "user" if isinstance(record.entry, UserEntry) else "reply"
    return said_line(record.at, kind, said_text(record.entry))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _lines_of(source: WorkspaceNotes) -> list[str]:
    """Return the lines of the notes, each once and without its mark."""
    texts: list[str] = []
    for path in sorted(source.stamps()):
        with suppress(UnreadableDocumentError):
            texts += [document.text] if (document := source.read(path)) else []
    lines = (line.strip("-*# ")[:LONGEST_LINE] for text in texts for line in text.splitlines())
    return [line for line in dict.fromkeys(lines) if len(line.split()) > 1]
