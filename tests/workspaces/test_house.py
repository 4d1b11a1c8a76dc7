"""Tests of the mark `house` in texts and folders."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.house import (
    HouseFolders,
    blanked,
    has_tag,
    house_lines,
    is_whole,
    restored,
    tagged,
    tagged_file,
    unmarks,
)

TEXTS = {
    "- tea\n- the code is 7 #house\n- cake\n": {2},
    "- tea\n- the code #house\n  is 7\n\n    and 8\n- cake\n": {2, 3, 4, 5},
    "- the code\n  is 7 #house\n- cake\n": {1, 2},
    "One\nparagraph #house\nof three.\n\nAnother.\n": {1, 2, 3, 4},
    "# Life\n\n## Health #house\n\nIll.\n\n### Since\n\nMay\n\n## Work\n\nFine.\n": {3, 4, 5, 6, 7, 8, 9, 10},
    "## Work\n\n1. tea #HOUSE\n2. cake\n": {3},
    "no mark: #household, a#house, /#house, #house-warming, https://x/#house, ##house, &#house, -#house\n": set[int](),
    "#house (#house)\n\ntea": {1, 2},
    "---\nhouse: true\n---\n\nAll of it.\n": {1, 2, 3, 4, 5, 6},
    "---\ntitle: x\nHouse: yes\n---\nAll.": {1, 2, 3, 4, 5},
    "---\nhouse: false\n---\nNone.": set[int](),
    "house: true\n\nNone: it is no front matter.\n": set[int](),
}


@pytest.mark.parametrize(("text", "lines"), TEXTS.items())
def test_a_mark_covers_what_it_stands_in(text: str, lines: set[int]) -> None:
    """An item with what is indented below it, a paragraph, a section, or the file; nothing that only looks so."""
    assert house_lines(text) == lines


LINES = st.lists(
    st.sampled_from(
        ["", "- tea", "- code #house", "  more", "plain", "plain #house", "# Head", "## Sub #house", "\tx"]
    ),
    max_size=14,
).map("\n".join)


@given(LINES)
def test_without_them_no_mark_is_left_and_no_line_moves(text: str) -> None:
    """The other lines keep their numbers."""
    covered = house_lines(text)
    shown = blanked(text, covered)
    assert not has_tag(shown)
    assert shown.count("\n") == text.count("\n")
    assert all(line == text.split("\n")[n] for n, line in enumerate(shown.split("\n")) if n + 1 not in covered)
    assert restored(text, shown, covered) == text


@given(LINES, LINES)
def test_whatever_somebody_else_makes_of_a_file_its_marked_lines_stay(text: str, after: str) -> None:
    """Each in its order, and each with its mark; nothing of the new text is lost either."""
    covered = house_lines(text)
    lines = restored(text, blanked(after, house_lines(after)), covered).split("\n")
    kept = iter(lines)
    stood = [line for n, line in enumerate(text.split("\n"), 1) if n in covered and line.strip()]
    assert all(any(each in {line, tagged(line)} for each in kept) for line in stood)
    shown = blanked("\n".join(lines), house_lines("\n".join(lines))).split("\n")
    assert {*shown} <= {*blanked(after, house_lines(after)).split("\n"), *blanked(text, covered).split("\n"), ""}
    assert {line for line in blanked(after, house_lines(after)).split("\n") if line.strip()} <= {*lines}


def test_lines_stay_where_they_stood() -> None:
    """A change above or below them moves them with their neighbours."""
    before = "- tea\n- the code is 7 #house\n- cake\n"
    assert restored(before, "- milk\n- tea\n\n- cake\n- jam\n", {2}) == (
        "- milk\n- tea\n- the code is 7 #house\n- cake\n- jam\n"
    )
    assert restored(before, "", {2}) == "- the code is 7 #house\n"


@pytest.mark.parametrize(
    ("before", "place", "new"),
    [
        ("# Life\n\n## Health #house\nthe diagnosis\n", 3, "## Other"),
        ("One secret\nand another #house\n", 1, ""),
        ("- the code #house\n  is 7\n", 1, "- milk"),
    ],
)
def test_no_line_put_between_them_parts_a_line_from_its_mark(before: str, place: int, new: str) -> None:
    """Else whoever may not know a line could write a heading, an item or nothing above it, and read it then."""
    shown = blanked(before, house_lines(before))
    lines = shown.split("\n")
    made = restored(before, "\n".join([*lines[:place], new, *lines[place:]]), house_lines(before))
    assert not any(word in blanked(made, house_lines(made)) for word in ("diagnosis", "secret", "7"))


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        ("- the code is 7 #house\n", "- the code is 7\n", True),
        ("- tea\n- the code is 7 #house\n", "- The code is 7.\n- tea\n", True),
        ("## Health #house\n\n- pills\n", "## Health\n\n- pills\n", True),
        ("## Health #house\n\n- pills\n", "## Health #house\n\n## Work\n\n- pills\n", True),
        ("---\nhouse: true\n---\n- pills\n", "- pills\n", True),
        ("- the code is 7 #house\n", "- tea\n", False),
        ("- the code is 7 #house\n", "- the code is 7, or 8 #house\n- tea\n", False),
        ("- the code is 7 #house\n- the code is 7\n", "- the code is 7\n", False),
        ("- tea\n", "- milk\n", False),
    ],
)
def test_a_text_loses_the_mark_if_a_line_of_it_stays_without(before: str, after: str, takes: bool) -> None:
    """Wherever it stands then, and whether the mark was its own, its heading's or the file's."""
    assert unmarks(before, after) is takes


def test_a_text_is_marked_line_by_line_and_a_file_as_a_whole() -> None:
    """Once, however often it is done."""
    assert tagged("one\n\n  two #house\n") == "one #house\n\n  two #house\n"
    assert is_whole(tagged_file("# A\n"))
    assert tagged_file(tagged_file("# A\n")) == tagged_file("# A\n")
    assert is_whole(tagged_file("---\ntitle: x\n---\n# A\n"))


@pytest.mark.parametrize(
    ("path", "is_held"),
    [
        ("Private/plan.md", True),
        ("private", True),
        ("privateer/plan.md", False),
        ("attachments/house/scan.pdf", True),
        ("memory/shared/telegram.home.-100/attachments/house/scan.pdf", True),
        ("attachments/scan.pdf", False),
        ("notes/private/plan.md", False),
    ],
)
def test_a_folder_carries_the_mark_for_all_in_it(path: str, is_held: bool) -> None:
    """In any letter case, and so does the folder for files of marked conversations."""
    assert HouseFolders((PurePosixPath("private"),)).hold(PurePosixPath(path)) is is_held
