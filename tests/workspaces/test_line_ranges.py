"""Comparing texts takes a bounded time, and yields ranges that make the new text of the old one."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.line_ranges import line_ranges

LINES = st.lists(st.sampled_from(["a", "b", "", "one line", "another line"]), max_size=30)
MOST_S = 10.0
"""More than ten times what each takes; without a bound one took minutes."""


def made_new(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return *new*, made of equal ranges of *old* and differing ones of *new*."""
    parts = ([*old[a.start : a.stop]] if same else [*new[b.start : b.stop]] for same, a, b in line_ranges(old, new))
    return [line for part in parts for line in part]


@given(LINES, LINES)
def test_equal_ranges_and_differing_ones_make_the_new_text(old: list[str], new: list[str]) -> None:
    """Each line belongs to one range, whatever repeats."""
    assert made_new(old, new) == new


@pytest.mark.parametrize("repeated", ["a", "{number}"], ids=["one line repeats", "every second line differs"])
def test_no_text_takes_long(repeated: str) -> None:
    """Lines that repeat between others took minutes, and held up every chat of the agent."""
    old, new = (
        [line for number in range(1_900) for line in (repeated.format(number=number), f"{name} {number}")]
        for name in ("was", "is")
    )
    began = time.process_time()
    assert made_new(["first", *old], ["another", *new]) == ["another", *new]
    assert time.process_time() - began < MOST_S
