"""A passage is found where it is, and a refusal shows the lines that it is about."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.errors import EditError
from workspaces.find_once import only_place


def test_what_is_not_there_is_told_with_what_is_nearest() -> None:
    """A line that differs in case or spaces is shown as it is; among lines that are nothing like it, none is."""
    text = "# Plans\n\n- Sail  to Ustica\n- Sell the boat\n"
    with pytest.raises(EditError, match=r"^not found: .* in a\.md; .*; the nearest:\nline 3: - Sail  to Ustica$"):
        only_place(text, "- sail to Ustica", "a.md")
    with pytest.raises(EditError, match=r"copy the passage exactly$"):
        only_place(text, "0123456789", "a.md")


def test_many_matches_are_shown_in_part() -> None:
    """Ten lines of two hundred characters at most, and that there are more."""
    with pytest.raises(EditError) as refusal:
        only_place(("x" * 500 + "\n") * 30, "x\n", "a.md")
    first, *lines, last = str(refusal.value).split("\n")
    assert first == "ambiguous: the old text occurs 30 times in a.md; give more of it"
    assert [line.partition(":")[0] for line in lines] == [f"line {number}" for number in range(1, 11)]
    assert {len(line.partition(": ")[2]) for line in lines} == {200}
    assert last == "…"


def test_a_long_text_is_not_compared_for_ever() -> None:
    """The nearest line is looked for among the first two thousand only."""
    with pytest.raises(EditError) as refusal:
        only_place("a different line of some length\n" * 2_000 + "wanted\n", "Wanted", "a.md")
    assert "nearest" not in str(refusal.value)


@given(st.text(alphabet="ab\n", max_size=30), st.text(alphabet="ab\n", max_size=3))
def test_one_place_or_a_refusal(text: str, passage: str) -> None:
    """It returns the only index at which the passage stands, and never anything else."""
    places = [at for at in range(len(text)) if text.startswith(passage, at)] if passage else []
    try:
        assert [only_place(text, passage, "a.md")] == places
    except EditError:
        assert len(places) != 1


def test_no_file_makes_the_nearest_lines_take_long() -> None:
    """Two thousand lines of the passage's own letters, in any other order, took several seconds for each edit."""
    odd, shuffled = [chr(0x4E00 + number) for number in range(99)], random.Random(1)
    lines = ["".join(f"a{each}" for each in shuffled.sample(odd, len(odd))) for _ in range(2_000)]
    began = time.process_time()
    with pytest.raises(EditError, match=r"^not found"):
        only_place("\n".join(lines), "".join(f"a{each}" for each in odd), "a.md")
    assert time.process_time() - began < 3
