"""Examination of a new index before it replaces the old one: another embedder, chunking or version.

Both collections are asked the same questions. Only counts leave it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct

from workspaces.memory.entry import Source
from workspaces.memory.exam_questions import RESULTS, ExamQuestion, questions
from workspaces.memory.file_search import documents_within
from workspaces.memory.hits import hit_of_frame
from workspaces.memory.sync import WorkerCalls
from workspaces.memory.wire import HOUSE, day_out
from workspaces.run_blocking import RunBlocking

LOST = 0.01
"""Share of the questions that may be lost."""
READ_WITHIN_S = 30.0
"""How long notes and conversations are read to make questions; notes come first."""


class Comparison(Struct, frozen=True):
    """The outcome of an examination."""

    asked: int
    before: int
    """Questions that the present collection answers."""
    after: int
    """Questions that the next one answers."""

    @property
    def is_worse(self) -> bool:
        """Whether more than 1 % are lost; a single question is chance."""
        lost = self.before - self.after
        return lost > 1 and lost > LOST * self.asked


class ChangeExam(Struct, frozen=True):
    """The examination of one agent's index."""

    folder: Path
    sources: Sequence[Source]
    worker: WorkerCalls
    run: RunBlocking
    today: Callable[[], date]

    async def losses(self) -> Mapping[str, int] | None:
        """Return the counts if the next collection is worse. Raises MemoryUnavailableError."""
        documents, _ = await documents_within(self.sources, lambda _: True, self.run, READ_WITHIN_S)
        asked = await asyncio.to_thread(questions, documents)
        before = sum([await self._answers(question, is_next=False) for question in asked])
        after = sum([await self._answers(question, is_next=True) for question in asked])
        compared = Comparison(len(asked), before, after)
        counts = {"asked": compared.asked, "before": compared.before, "after": compared.after}
        return counts if compared.is_worse else None

    async def _answers(self, question: ExamQuestion, *, is_next: bool) -> bool:
        """Tell whether the answer is among the best passages of the present or the next collection."""
        arguments = {
            "text": question.fact.question,
            "scopes": None,
            "since": None,
            "until": None,
            "limit": RESULTS,
            "min_score": None,
            "today": day_out(self.today()),
            "stays": self.folder.name == HOUSE,
            "next": is_next,
        }
        found = (await self.worker.call("search", self.folder, arguments))["hits"]
        return any(question.fact.is_in(hit_of_frame(hit).snippet) for hit in found)
