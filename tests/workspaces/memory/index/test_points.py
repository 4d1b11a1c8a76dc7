"""Statements by which the points of a collection are read."""

import pytest

from workspaces.memory.index.points import portions


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 500, 501, 1_234])
def test_statements_have_few_lengths_and_name_every_point(count: int) -> None:
    """Each id is asked for, at most 500 at once, and the last one repeated up to a multiple of 50."""
    ids = list(range(count))
    asked = list(portions(ids))
    assert sorted({id_ for some in asked for id_ in some}) == ids
    assert all(len(some) % 50 == 0 and len(some) <= 500 for some in asked)
