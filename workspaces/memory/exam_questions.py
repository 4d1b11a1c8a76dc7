"""Questions made by rule from an agent's own notes and conversations, each with its answer."""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from workspaces.memory.entry import Document, cited_path
from workspaces.memory.text.dialogue import TOLD, is_question, read_line
from workspaces.memory.text.facts import Fact, FactKind, facts_in, folded, sentences

QUESTIONS = 200
"""Of one examination: some seconds. The same notes give the same questions, and most stay as notes are added."""
RESULTS = 6
"""As many as `memory_search` returns unless told otherwise."""


class ExamQuestion(Struct, frozen=True):
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
    for place, text in _told_lines(document.text):
        number = document.lines[place] if place < len(document.lines) else place + 1
        for sentence in sentences(text):
            for fact in [] if is_question(sentence) else facts_in(sentence):
                if fact.kind is not FactKind.DECISION and fact.question != fact.value:
                    yield ExamQuestion(fact, f"{cited_path(document.path)}#L{number}")


def _told_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of *text*, from 0, that people told or that hold notes; none of an agent's answer."""
    answer: int | None = None
    """Indentation of the answer that goes on until a line is no deeper."""
    for place, line in enumerate(text.split("\n")):
        depth = len(line) - len(line.lstrip())
        if not line.strip() or (answer is not None and depth > answer):
            continue
        entry = read_line(line.strip().removeprefix("- ").strip())
        answer = depth if entry.is_answer else None
        if not line.startswith("#") and entry.kind in TOLD:
            yield place, entry.text
