"""A household's month: its questions can be answered from its talk, and results are judged as a person would."""

from datetime import date
from pathlib import PurePosixPath

import pytest

from bench.household_month import MONTH, Asked, judge, read_questions, read_talk
from workspaces.access import PRIVATE
from workspaces.memory.hits import Hit


def hit(text: str) -> Hit:
    """Return a result with *text*."""
    return Hit(str(PurePosixPath("memory/2026-03-02.md")), 1, 1, text, "", date(2026, 3, 2), PRIVATE, 0.5, 0, 0, 0, 0)


@pytest.mark.parametrize("name", ["questions.txt", "unseen.txt"])
def test_every_question_has_its_answer_in_the_talk(name: str) -> None:
    """Each piece of an answer, and each outdated value, is in a message that is no question."""
    talk = [each for messages in read_talk(MONTH / "talk.txt").values() for each in messages]
    told = [each.text.casefold() for each in talk if not each.is_question]
    assert len(talk) >= 600
    for asked in read_questions(MONTH / name):
        for piece in filter(None, (*asked.pieces, asked.outdated)):
            assert any(piece in text for text in told), (asked.text, piece)


def test_results_are_judged_by_what_they_say() -> None:
    """An echo of a question and junk are counted, and the outdated value above the current one is."""
    asked = Asked("changed", "garage code?", ("9025",), "4471")
    texts = [
        "Owner (10:00): the code is 4471",
        "10:40 Owner asked: garage code?",
        "Owner (11:00): ha",
        "it changed to 9025",
    ]
    answered = judge(asked, list(map(hit, texts)), "9025", {"garage code?"})
    assert (answered.first, answered.five, answered.recalled) == (0, 1, 1)
    assert (answered.questions, answered.junk, answered.is_outdated_first) == (1, 1, True)
    assert not judge(asked, [hit(texts[3]), hit(texts[0])], "", set()).is_outdated_first
