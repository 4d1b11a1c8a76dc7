"""Operator requests about an agent's memory: search, origins, index, examination, changes of notes."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import UserEntry, said_text
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder, ExamPoint, ExamReport
from gateway.control.notes import NoteEditor
from gateway.control.notes_wire import NotesAnswer, NotesOrder
from gateway.control.operator_api import Progress
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
from gateway.transcripts.provenance import MemoryOrigin, NoteChange, origin_of
from gateway.transcripts.store import Sessions
from gateway.transcripts.writer import Record
from workspaces.access import Grant, SessionType, owner_access
from workspaces.errors import WorkspaceError
from workspaces.memory.exam import ExamAnswer, examine, lost
from workspaces.memory.hits import Hit, as_shown
from workspaces.memory.query import Query

_MOST_ORIGINS = 20
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class MemoryOperator:
    """Executes requests about memories. Everything raises StrandlineError for an unknown agent."""

    agents: AgentDirectory
    transcripts: Sessions
    zone: tzinfo
    """The owner's."""

    async def search(self, order: SearchOrder) -> MemorySearchAnswer:
        agent = self.agents.named(order.agent)
        asked = Query(order.query, as_of=order.as_of, since=order.since, until=order.until)
        query = asked if order.max_results is None else replace(asked, max_results=order.max_results)
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
        origins = {each.citation: await self._origin_in_words(agent, each.citation) for each in used[:_MOST_ORIGINS]}
        hits = tuple(
            UsedHit(each.citation, each.how, each.score, each.similarity, each.keyword, origins.get(each.citation, ""))
            for each in used
        )
        return Why(asked.text if asked else "", hits)

    async def _origin_in_words(self, agent: Agent, citation: str) -> str:
        """Return the newest change of the lines at *citation*; nothing for lines that are gone, or take too long."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await origin_of(agent, self.transcripts, citation, terminal_access(agent.id))
        except (StrandlineError, WorkspaceError, TimeoutError):
            return ""
        if not found.steps:
            return ""
        step = _step(found.steps[0])
        session = f", from {step.session}" if step.session else ""
        message = f", message {step.message}" if step.message else ""
        theirs = ", somebody else's words" if agent.history_writer.origins.others_in(found.text) else ""
        return f"{step.at:%Y-%m-%d %H:%M} {step.subject}{session}{message}{theirs}"

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
        return replace(state, foreign=foreign)

    async def index(self, order: IndexOrder, progress: Progress) -> str:
        """Bring an agent's index up to date."""
        report = await self.agents.named(order.agent).memory.sync(progress, retry=True)
        return (
            f"{report.changed:,} files read, {report.removed:,} gone; {report.stored:,} entries stored, "
            f"{report.embedded:,} texts embedded, {report.reused:,} known before"
        )

    async def exam(self, order: ExamOrder) -> ExamReport:
        """Examine an agent's memory as its owner."""
        agent = self.agents.named(order.agent)
        folder = self.transcripts.folder(agent.id).parent
        return await (examination if order.act == "examine" else earlier_exams)(agent, folder, self.zone)

    async def accept_change(self, order: AcceptIndexOrder) -> bool:
        """Take a change of an agent's index that was held back into use; tell whether there was one."""
        return await self.agents.named(order.agent).memory.accept_change()


def _search_hit(hit: Hit) -> SearchHit:
    return SearchHit(
        hit.path,
        hit.start_line,
        hit.end_line,
        round(hit.score, 4),
        hit.snippet,
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


EXAMS = "exams.jsonl"
"""Beside an agent's workspace: one line an examination. It holds digests of questions, and no text of the notes."""
VIA = "terminal:exam"
"""Way in of an examination: the owner, at the command line."""
SHOWN = 10
"""Earlier examinations that are listed."""


@dataclass(frozen=True, slots=True)
class _PastExam:
    at: datetime
    version: str
    embedder: str
    asked: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def point(self) -> ExamPoint:
        return ExamPoint(self.at, len(self.asked) - len(self.missed), len(self.asked))

    def __str__(self) -> str:
        found = len(self.asked) - len(self.missed)
        share = f"{found / max(len(self.asked), 1):.1%}"
        return f"{self.at:%Y-%m-%d %H:%M}  {found} of {len(self.asked)} ({share}), {self.embedder}, {self.version}"


_PAST_EXAMS = TypeAdapter(_PastExam)


async def earlier_exams(agent: Agent, folder: Path, zone: tzinfo) -> ExamReport:
    """Return the record of earlier examinations alone."""
    known = (await agent.run(_earlier, folder / EXAMS, zone))[-SHOWN:]
    return ExamReport(0, 0, 0, before=tuple(map(str, known)), trend=tuple(each.point for each in known))


async def examination(agent: Agent, folder: Path, zone: tzinfo) -> ExamReport:
    """Examine the memory of *agent* as its owner, and add the outcome to the record in *folder*.

    Raises MemoryUnavailableError, WorkspaceError and OSError.
    """
    file = folder / EXAMS
    answers = await examine(agent.memory, owner_access(agent.id, VIA))
    known = await agent.run(_earlier, file, zone)
    embedder = (await agent.memory.status()).embedder or "keywords alone"
    missed = [each for each in answers if not each.rank]
    ids, missed_ids = (tuple(each.question.id for each in some) for some in (answers, missed))
    if answers:
        here = await agent.run(version, "strandline")  # it is in a file
        await agent.run(_add, file, _PastExam(datetime.now(zone), here, embedder, ids, missed_ids))
    return ExamReport(
        len(answers),
        len(answers) - len(missed),
        sum(each.rank == 1 for each in answers),
        _by_kind(answers),
        tuple(str(each.question) for each in missed),
        lost(answers, known[-1].asked, known[-1].missed) if known else 0.0,
        tuple(map(str, known[-SHOWN:])),
        tuple(each.point for each in known[-SHOWN:]),
    )


def _by_kind(answers: Sequence[ExamAnswer]) -> dict[str, tuple[int, int]]:
    asked = Counter(str(each.question.fact.kind) for each in answers)
    found = Counter(str(each.question.fact.kind) for each in answers if each.rank)
    return {kind: (found[kind], asked[kind]) for kind in sorted(asked)}


def _earlier(file: Path, zone: tzinfo) -> list[_PastExam]:
    """Return the readable records with their times in *zone*, the latest last."""
    records = []
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        with suppress(ValidationError):
            record = _PAST_EXAMS.validate_json(line)
            records.append(replace(record, at=record.at.astimezone(zone)))
    return records


def _add(file: Path, record: _PastExam) -> None:
    line = json.dumps(_PAST_EXAMS.dump_python(record, mode="json"), separators=(",", ":"))
    with file.open("a", encoding="utf-8") as records:
        records.write(f"{line}\n")
