"""Operator requests about an agent's memory: search, origins, index, examination, changes of notes."""

import asyncio
from contextlib import suppress
from datetime import tzinfo

from msgspec import Struct, structs

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import UsedMemory, UserEntry, said_text
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.exam import earlier_exams, examination
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder, ExamReport
from gateway.control.notes import NoteEditor
from gateway.control.notes_wire import NotesAnswer, NotesOrder
from gateway.control.order import Progress
from gateway.control.status import memory_status
from gateway.control.status_wire import MemoryOrder, MemoryStatus
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import (
    MemorySearchAnswer,
    MemorySource,
    OriginOrder,
    OriginStep,
    ScoreParts,
    SearchHit,
    SearchOrder,
    UsedHit,
    Why,
    WhyOrder,
)
from gateway.errors import StrandlineError
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.memory_source import FOLDER
from gateway.transcripts.provenance import MemoryOrigin, NoteChange, origin_of
from gateway.transcripts.store import Sessions
from workspaces.access import Grant, SessionType
from workspaces.errors import WorkspaceError
from workspaces.memory.hits import Hit, as_shown
from workspaces.memory.query import Query
from workspaces.memory.text.fingerprint import fingerprint

_MOST_ORIGINS = 20
_PATIENCE_S = 3.0


class MemoryOperator(Struct, frozen=True):
    """Executes requests about memories. Everything raises StrandlineError for an unknown agent."""

    agents: AgentDirectory
    transcripts: Sessions
    zone: tzinfo
    """The owner's."""

    async def search(self, order: SearchOrder) -> MemorySearchAnswer:
        agent = self.agents.named(order.agent)
        asked = Query(order.query, as_of=order.as_of, since=order.since, until=order.until)
        query = asked if order.max_results is None else structs.replace(asked, max_results=order.max_results)
        found = await agent.memory.search(query, terminal_access(agent.id))
        result = await agent.memory.with_languages(found, terminal_access(agent.id))
        return MemorySearchAnswer(
            tuple(map(_search_hit, as_shown(result.hits))), result.mode, result.notice, result.is_clear
        )

    async def why(self, order: WhyOrder) -> Why:
        """Return the memories that an answer in the owner's chat used."""
        transcript = await self.transcripts.open(SessionKey(self.agents.named(order.agent).id, SessionType.MAIN))
        turn_id, asked = transcript.question() or (TurnId(""), None)
        if order.turn is not None:
            turn_id = TurnId(order.turn)
            entries = transcript.entries_of(turn_id)
            asked = next((each for each in entries if isinstance(each, UserEntry)), None)
        agent, used = self.agents.named(order.agent), transcript.used_by(turn_id) if asked else ()
        origins = {each.citation: await self._origin(agent, each.citation) for each in used[:_MOST_ORIGINS]}
        hits = tuple(_used_hit(agent, each, origins.get(each.citation)) for each in used)
        return Why(asked.text if asked else "", hits)

    async def _origin(self, agent: Agent, citation: str) -> MemoryOrigin | None:
        """Return the origin of the lines at *citation*; `None` for lines that are gone, or take too long."""
        with suppress(StrandlineError, WorkspaceError, TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                return await origin_of(agent, self.transcripts, citation, terminal_access(agent.id))
        return None

    async def origin(self, order: OriginOrder) -> MemorySource:
        """Lead from a memory to the message that it came from."""
        agent = self.agents.named(order.agent)
        return _memory_source(await origin_of(agent, self.transcripts, order.citation, terminal_access(agent.id)))

    async def notes(self, order: NotesOrder) -> NotesAnswer:
        """List, read or change notes."""
        agent = self.agents.named(order.agent)
        transcript = await self.transcripts.open(SessionKey(agent.id, SessionType.MAIN))
        means_others = terminal_access(agent.id, Grant.APPROVED)
        return await NoteEditor(agent, terminal_access(agent.id), means_others, transcript).answer(order)

    async def status(self, order: MemoryOrder) -> MemoryStatus:
        """Return the state of an agent's index."""
        agent = self.agents.named(order.agent)
        state = await memory_status(agent)
        foreign = await agent.memory.foreign_notice(terminal_access(agent.id))
        return structs.replace(state, foreign=foreign)

    async def index(self, order: IndexOrder, progress: Progress) -> str:
        """Bring an agent's index up to date."""
        report = await self.agents.named(order.agent).memory.sync(progress, retry=True)
        return (
            f"{report.changed:,} files read, {report.removed:,} removed; {report.stored:,} entries stored, "
            f"{report.embedded:,} texts embedded, {report.reused:,} embeddings reused"
        )

    async def exam(self, order: ExamOrder) -> ExamReport:
        """Examine an agent's memory as its owner."""
        agent = self.agents.named(order.agent)
        folder = self.transcripts.folder(agent.id).parent
        return await (examination if order.act == "examine" else earlier_exams)(agent, folder, self.zone)

    async def accept_change(self, order: AcceptIndexOrder) -> bool:
        """Take a change of an agent's index that was held back into use; tell whether there was one."""
        return await self.agents.named(order.agent).memory.accept_change()


def _used_hit(agent: Agent, used: UsedMemory, found: MemoryOrigin | None) -> UsedHit:
    """Return the passage with its words, if they still stand there: a note may have moved since."""
    text = "\n".join(line.strip().removeprefix("- ") for line in found.text.splitlines()) if found else ""
    stands = used.citation.startswith(f"{FOLDER}/") or used.fingerprint in {None, fingerprint(text)}
    scores = used.score, used.similarity, used.keyword
    return UsedHit(used.citation, used.how, *scores, _in_words(agent, found) if found else "", text if stands else "")


def _in_words(agent: Agent, found: MemoryOrigin) -> str:
    """Return the newest change of the lines *found*; empty while they are not in the history."""
    if not found.steps:
        return ""
    step = _step(found.steps[0])
    session = f", from {step.session}" if step.session else ""
    message = f", message {step.message}" if step.message else ""
    theirs = ", somebody else's words" if agent.history_writer.origins.others_in(found.text) else ""
    return f"{step.at:%Y-%m-%d %H:%M} {step.subject}{session}{message}{theirs}"


def _search_hit(hit: Hit) -> SearchHit:
    return SearchHit(
        hit.path,
        hit.start_line,
        hit.end_line,
        round(hit.score, 4),
        hit.passage,
        hit.citation,
        hit.mark,
        ScoreParts(*(round(each, 4) for each in (hit.similarity, hit.late, hit.keyword, hit.matched))),
        hit.date,
        hit.scope.partition(":")[2],
        hit.is_others,
    )


def _memory_source(origin: MemoryOrigin) -> MemorySource:
    return MemorySource(origin.citation, origin.text, tuple(map(_step, origin.steps)))


def _step(step: NoteChange | Record) -> OriginStep:
    if isinstance(step, Record):
        message = step.entry.message_id if isinstance(step.entry, UserEntry) else None
        return OriginStep(None, step.at, "said in this conversation", None, message, said_text(step.entry))
    origin = step.commit.origin
    return OriginStep(
        revision=step.commit.id,
        at=step.commit.at,
        subject=step.commit.subject,
        session=origin.session if origin else None,
        message=origin.message if origin else None,
        said=said_text(step.said.entry) if step.said else "",
    )
