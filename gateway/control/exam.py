"""The operator's memory examination, and the record of earlier ones."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from gateway.agent.agent import Agent
from gateway.control.exam_wire import ExamPoint, ExamReport
from workspaces.access import owner_access
from workspaces.memory.exam import ExamAnswer, examine, lost

EXAMS = "exams.jsonl"
"""Beside an agent's workspace: one line an examination. It holds digests of questions, and no text of the notes."""
VIA = "terminal:exam"
"""Way in of an examination: the owner, at the command line."""
SHOWN = 10
"""Earlier examinations that are listed."""


class _PastExam(Struct, frozen=True):
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
        with suppress(msgspec.DecodeError):
            record = msgspec.json.decode(line, type=_PastExam)
            records.append(structs.replace(record, at=record.at.astimezone(zone)))
    return records


def _add(file: Path, record: _PastExam) -> None:
    with file.open("ab") as records:
        records.write(msgspec.json.encode(record) + b"\n")
