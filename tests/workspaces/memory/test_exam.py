"""The memory examination: its questions are made from the notes, and its outcome is that of the search."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.memory import HandlerWorker, WordsEmbedder
from tests.fakes.notes import IndexedNotes
from tests.workspaces.turns import GROUP, MAIN, OWN
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.exam import ExamAnswer, examine, lost
from workspaces.memory.exam_questions import questions
from workspaces.memory.search import MemoryIndex

NOTES = """# 2026-03-01

- 14:05 Owner: The boiler has the serial number BX-7741-Q.
- 14:06 Owner asked: Which boat has the number AB-1234?
- 14:07 Owner: ok thanks
- 14:08 Owner: The ferry with Mira leaves at 19:30.
"""


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[MemoryIndex]:
    """Private notes and a group's, both with facts."""
    worker = HandlerWorker(WordsEmbedder())
    home = IndexedNotes(tmp_path, worker)
    home.write("memory/2026-03-01.md", NOTES)
    home.note(f"{OWN}/2026-03-01.md", "The tent costs 312 euros.")
    yield home.index
    worker.handler.close()


def told(answers: list[ExamAnswer]) -> set[tuple[str, str]]:
    return {(each.question.fact.value, each.question.citation) for each in answers}


async def test_each_fact_of_the_notes_is_asked_for(index: MemoryIndex) -> None:
    """By the words around it, with its true line; questions and small talk are none."""
    answers = await examine(index, MAIN)
    day = "memory/2026-03-01.md"
    facts = {
        ("BX-7741-Q", f"{day}#L3"),
        ("Mira", f"{day}#L6"),
        ("19:30", f"{day}#L6"),
        ("312", f"{OWN}/2026-03-01.md#L1"),
    }
    assert told(answers) == facts
    assert all(each.rank > 0 for each in answers)


async def test_each_audience_is_examined_on_its_own(index: MemoryIndex) -> None:
    """A group is asked for nothing private."""
    assert told(await examine(index, GROUP)) == {("312", f"{OWN}/2026-03-01.md#L1")}


def test_the_same_notes_give_the_same_questions_whatever_their_order() -> None:
    """And most stay when notes are added, so that two examinations can be compared."""
    documents = [
        Document(f"memory/{n}.md", PRIVATE, f"- The code of door {n} is XQ-{n}77.", None, "") for n in range(300)
    ]
    asked = [each.id for each in questions(documents)]
    assert asked == [each.id for each in questions(reversed(documents))]
    assert len(asked) == len(set(asked)) == 200
    assert len({*asked} & {each.id for each in questions(documents[:280])}) > 180


async def test_only_questions_of_both_examinations_are_compared(index: MemoryIndex) -> None:
    """New notes are no gain and removed ones no loss."""
    answers = await examine(index, MAIN)
    ids = [each.question.id for each in answers]
    failed = [ExamAnswer(each.question, 0) for each in answers]
    assert lost(answers, ids, []) == 0
    assert lost(failed, ids[:2], []) == 1
    assert lost(answers, ids[:2], ids[:1]) == -0.5
    assert lost(failed, ["gone"], []) == 0


RECIPE = """# Conversation, 2026-03-01 14:05 to 14:09

- 14:05 Owner: The oven of the cabin takes 25 minutes to get warm.
- 14:06 main answered: Here is a recipe:

  Take 300 grams of flour.
  - Add 120 ml of milk.
- 14:08 Owner: The cabin belongs to Mira.
- 14:09 Conversation until 14:09
  - main answered (14:09): The flight of Louis Blériot took 36 minutes.
  - Owner (14:09): The ferry costs 48 euros.
- The shed has 2 windows.
"""


def test_an_agents_own_answers_are_not_asked_for() -> None:
    """Recipes and essays are no knowledge of the owner's: neither their first line nor those below it."""
    asked = questions([Document("memory/2026-03-01-talk.md", PRIVATE, RECIPE, None, "")])
    assert {(each.fact.value, each.citation.rpartition("#")[2]) for each in asked} == {
        ("25", "L3"),
        ("Mira", "L8"),
        ("48", "L11"),
        ("2", "L12"),
    }
