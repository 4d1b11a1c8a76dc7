"""Memory examination: questions made from an agent's own notes and conversations, asked of its search."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from workspaces.access import Access
from workspaces.memory.exam_questions import QUESTIONS, RESULTS, ExamQuestion, questions
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import QueryRefusedError


class ExamAnswer(Struct, frozen=True):
    """The outcome of a question."""

    question: ExamQuestion
    rank: int
    """Place of the first hit with the answer, from 1; 0 if none of the first six has it."""


async def examine(index: MemoryIndex, access: Access, most: int = QUESTIONS) -> list[ExamAnswer]:
    """Return the outcomes of at most *most* questions about the text that *access* may read. Raises WorkspaceError."""
    answers = []
    for question in questions(await index.documents(access), most):
        try:
            result = await index.search(Query(question.fact.question, RESULTS), access)
        except QueryRefusedError:
            continue
        holding = (place for place, hit in enumerate(result.hits, 1) if question.fact.is_in(hit.passage))
        answers.append(ExamAnswer(question, next(holding, 0)))
    return answers


def lost(answers: Sequence[ExamAnswer], asked_before: Iterable[str], missed_before: Iterable[str]) -> float:
    """Return the share of the questions of before, asked again, that are no longer answered; negative for a gain."""
    before, missed = set(asked_before), set(missed_before)
    again = [answer for answer in answers if answer.question.id in before]
    found_before = sum(answer.question.id not in missed for answer in again)
    return (found_before - sum(answer.rank > 0 for answer in again)) / max(len(again), 1)
