"""Results with the lines that they are understood with."""

from pathlib import Path

import pytest

from tests.workspaces.memory.index.test_finder import matching
from workspaces.memory.index.embeddings.local import LocalEmbedder

TENT = """- 14:20 Owner: the tent bag with Lotta's kite: Nora nearly found it
- 15:00 Owner: {next}
- 15:05 Owner: dinner with Kolb in town at eight
"""


@pytest.mark.parametrize(("line", "has_context"), [("moved it to the car boot", True), ("Kat likes the car", False)])
def test_a_hit_has_the_line_that_it_is_understood_with(tmp_path: Path, line: str, has_context: bool) -> None:
    """The one above, to which it leaves its subject; the best one always with what follows."""
    matches = matching(tmp_path, TENT.format(next=line), "where is Lotta's kite in the car", LocalEmbedder())
    shown = {
        each.entry.start_line: [beside and beside.start_line for beside in (each.before, each.after)]
        for each in matches
    }
    assert (shown[1], shown[2]) == (([None, 2], [1, None]) if has_context else ([None, 2], [None, None]))


@pytest.mark.parametrize(
    ("line", "is_shown"),
    [
        ("the key for the shed is with Kolb", True),
        ("remind me in 2 hours to take the bread out of the oven", False),
        ("ok, please remind me tomorrow at 9 to call Jan", False),
        ("erinnere mich morgen um 9 an die Steuer", False),
        ("1時間後にパンを出すことを思い出させて", False),
        ("the smell reminds me of Kolb's shed", True),
    ],
)
def test_an_order_to_remind_does_not_belong_to_the_best_result(tmp_path: Path, line: str, is_shown: bool) -> None:
    """It begins another thing; a statement that follows is shown with the best result."""
    notes = f"- 14:20 Owner: Lena waters the tomatoes while we are away\n- 14:30 Owner: {line}\n"
    best = matching(tmp_path, notes, "who waters the tomatoes", LocalEmbedder())[0]
    assert (best.entry.start_line, best.after is not None) == (1, is_shown)


ASKED = """- 14:20 Ann: where did you put Lotta's kite?
- 14:21 Ben: {answer}
"""


@pytest.mark.parametrize(
    ("answer", "before"), [("it's in the tent bag", 1), ("Lotta's kite lies in the tent bag", None)]
)
def test_a_short_answer_has_the_question_that_it_answers(tmp_path: Path, answer: str, before: int | None) -> None:
    """One that names its subject needs none."""
    matches = matching(tmp_path, ASKED.format(answer=answer), "Lotta's kite in the tent", LocalEmbedder())
    [found] = [each for each in matches if each.entry.start_line == 2]
    assert (found.before and found.before.start_line, found.after) == (before, None)
