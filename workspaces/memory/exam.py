"""Memory examination: questions made by rule from an agent's own notes and conversations, asked of its search."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workspaces.access import Access
from workspaces.memory.entry import Document
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex, QueryRefusedError
from workspaces.memory.text.dialogue import EVIDENCE, is_question, read_line
from workspaces.memory.text.facts import Fact, FactKind, facts_in, folded, sentences

QUESTIONS = 200
"""Of one examination: some seconds. The same notes give the same questions, and most stay as notes are added."""
RESULTS = 6
"""As many as `memory_search` returns unless told otherwise."""


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """A question with its answer."""

    fact: Fact
    citation: str
    """Where the answer stands, as `path#Ln`."""

    def __str__(self) -> str:
        """Return it with its answer and place."""
        return f"{self.citation}: {self.fact.question} → {self.fact.value}"

    @property
    def id(self) -> str:
        """Identifies it in later examinations; nothing of its words can be read from it."""
        return hashlib.sha256(f"{folded(self.fact.question)}\0{folded(self.fact.value)}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """The outcome of a question."""

    question: ExamQuestion
    rank: int
    """Place of the first hit with the answer, from 1; 0 if none of the first six has it."""


async def examine(index: MemoryIndex, access: Access, most: int = QUESTIONS) -> list[ExamAnswer]:
    """Return the outcomes of at most *most* questions about what *access* may read. Raises WorkspaceError."""
    answers = []
    for question in questions(await index.documents(access), most):
        try:
            result = await index.search(Query(question.fact.question, RESULTS), access)
        except QueryRefusedError:
            continue
        holding = (place for place, hit in enumerate(result.hits, 1) if question.fact.is_in(hit.snippet))
        answers.append(ExamAnswer(question, next(holding, 0)))
    return answers


def questions(documents: Iterable[Document], most: int = QUESTIONS) -> list[ExamQuestion]:
    """Return at most *most* questions about *documents*, each once, in an order that does not depend on theirs.

    Decisions are left out: their questions have the answer's own words.
    """
    found: dict[str, ExamQuestion] = {}
    for document in documents:
        for question in _of(document):
            found.setdefault(question.id, question)
    return [found[id_] for id_ in sorted(found)][:most]


def _of(document: Document) -> Iterator[ExamQuestion]:
    for place, line in enumerate(document.text.split("\n")):
        entry = read_line(line.strip().removeprefix("- ").strip())
        if line.startswith("#") or entry.kind not in EVIDENCE:
            continue
        number = document.lines[place] if place < len(document.lines) else place + 1
        for sentence in sentences(entry.text):
            for fact in [] if is_question(sentence) else facts_in(sentence):
                if fact.kind is not FactKind.DECISION and fact.question != fact.value:
                    yield ExamQuestion(fact, f"{document.path}#L{number}")


def lost(answers: Sequence[ExamAnswer], asked_before: Iterable[str], missed_before: Iterable[str]) -> float:
    """Return the share of the questions of before, asked again, that are no longer answered; negative for a gain."""
    before, missed = set(asked_before), set(missed_before)
    again = [answer for answer in answers if answer.question.id in before]
    found_before = sum(answer.question.id not in missed for answer in again)
    return (found_before - sum(answer.rank > 0 for answer in again)) / max(len(again), 1)
