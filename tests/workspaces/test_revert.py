"""One change of a text is taken back, or reworded, and everything else stays."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.errors import EditError
from workspaces.revert import corrected_text, passages, reverted_text

DAY = "# 2026-11-22\n\n- 10:00 the boat is green\n"
LATER = f"{DAY}- 10:05 Ann likes tea\n  and coffee\n"
ITEMS = st.lists(st.text("abcdefghij", min_size=3, max_size=12), max_size=8, unique=True)


def items(*texts: str) -> str:
    return "".join(f"- {text}\n" for text in texts)


@given(ITEMS, ITEMS, ITEMS, st.integers(0, 8))
def test_what_was_added_goes_and_all_that_others_wrote_stays(
    old: list[str], above: list[str], below: list[str], at: int
) -> None:
    """Wherever it was put, and whatever came before and after it since."""
    before, after = items(*old), items(*old[:at], "Added", *old[at:])
    now = items(*(f"A{each}" for each in above), *old[:at], "Added", *old[at:], *(f"B{each}" for each in below))
    expected = items(*(f"A{each}" for each in above), *old, *(f"B{each}" for each in below))
    assert (reverted_text(before, after, now) or "") == expected


@given(ITEMS.filter(bool), ITEMS, st.data())
def test_what_was_replaced_or_deleted_comes_back(old: list[str], more: list[str], data: st.DataObject) -> None:
    """In its place, with what others added at the ends."""
    at = data.draw(st.integers(0, len(old) - 1))
    extra = items(*(f"M{each}" for each in more))
    for put in ([], ["Put"]):
        after = items(*old[:at], *put, *old[at + 1 :])
        if put or not more or at + 1 < len(old):
            assert reverted_text(items(*old), after, after + extra) == items(*old) + extra


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        (DAY, LATER, LATER.replace("tea", "milk")),
        (DAY, LATER, LATER.replace("  and coffee\n", "")),
        (DAY, LATER, f"{LATER}  or milk\n"),
        (DAY, LATER, LATER.replace("  and", "- 10:06 between\n  and")),
        (DAY, LATER, None),
        (DAY, LATER, DAY),
        ("- a\n- b\n- c\n", "- a\n- c\n", "- a\n- x\n- c\n"),
        ("- a\n- b\n- c\n", "- a\n- c\n", "- c\n"),
        ("- a\n", "- b\n", "- c\n"),
    ],
)
def test_where_somebody_has_changed_it_since_nothing_is_taken_back(before: str, after: str, now: str | None) -> None:
    """The very lines, the place that they were taken from, and the whole file."""
    with pytest.raises(EditError):
        reverted_text(before, after, now)


def test_a_file_that_the_change_made_goes_if_nobody_wrote_more_into_it() -> None:
    """Else its heading and what others wrote stay."""
    assert reverted_text(None, DAY, DAY) is None
    assert reverted_text(None, DAY, f"{DAY}- 11:00 more\n") == "# 2026-11-22\n\n- 11:00 more\n"


def test_a_heading_stays_for_what_stands_below_it_now() -> None:
    """An entry that somebody put into the new section does not fall into the one above."""
    before, after = "# Memory\n", "# Memory\n\n## Notes\n\n- tea\n"
    assert reverted_text(before, after, f"{after}- coffee\n") == "# Memory\n\n## Notes\n\n- coffee\n"


def test_words_are_corrected_in_their_place_with_their_time_and_shape() -> None:
    """An item stays an item, prose stays prose, line ends stay as they are; no line forges another note."""
    now = f"{LATER}- 10:06 more\n"
    assert corrected_text(DAY, LATER, now, "Ann likes milk") == f"{DAY}- 10:05 Ann likes milk\n- 10:06 more\n"
    assert corrected_text(DAY, LATER, now, "a\n- 11:11 b") == f"{DAY}- 10:05 a\n  \\- 11:11 b\n- 10:06 more\n"
    assert corrected_text("tea\n", "tea and milk\n", "tea and milk\nrest\n", "milk") == "milk\nrest\n"
    assert corrected_text("", "- x\r\n", "- x\r\n- y\r\n", "z") == "- z\r\n- y\r\n"


@pytest.mark.parametrize(
    ("before", "after"), [("", "- a\n- b\n"), ("- a\n", ""), ("", "# heading\n"), ("- a\n", "- a\n")]
)
def test_only_one_passage_alone_is_corrected(before: str, after: str) -> None:
    """Which of several is meant nobody can tell."""
    with pytest.raises(EditError, match=r"passages were written"):
        corrected_text(before, after, after, "new")


def test_words_that_are_none_correct_nothing() -> None:
    """As no empty note is written."""
    with pytest.raises(ValueError, match="empty"):
        corrected_text(DAY, LATER, LATER, " \n ")


def test_what_was_written_is_told_passage_by_passage() -> None:
    """Without headings and blank lines; an item has all its lines."""
    assert passages(None, LATER) == ("- 10:00 the boat is green", "- 10:05 Ann likes tea\n  and coffee")
    assert passages("- a\n- b\n", "- a\n") == ()


def test_like_lines_without_end_are_not_compared_each_with_each() -> None:
    """What stands between the first change and the last counts as changed then: what is there is not taken back."""
    many = items(*["same"] * 7_000)
    after = f"- a\n{many}"
    begun = time.process_time()
    assert reverted_text(many, after, f"{after}- c\n") == f"{many}- c\n"
    with pytest.raises(EditError, match="changed there since"):
        reverted_text(many, after, f"- x\n{after}- c\n")
    assert passages(f"- a\n{many}- b\n", f"- x\n{many}- y\n")[-1] == "- y"
    assert time.process_time() - begun < 2
