"""A long conversation stays cheap, and what was said in it is found."""

from pathlib import Path

import pytest

from bench.talk import PLANTED, TURNS, replay


async def test_requests_begin_alike_and_every_planted_fact_is_found(tmp_path: Path) -> None:
    """Through a whole gateway, over two summaries: a provider's cache holds, and memory has what was summarised."""
    done = await replay(tmp_path, turns=120, facts=12)
    assert done.summaries >= 2
    assert done.prefix_share >= 0.99
    assert done.found == done.planted == 12


@pytest.mark.nightly
async def test_three_hundred_turns_cost_less_than_half_of_sending_everything(tmp_path: Path) -> None:
    """The goals of the bench."""
    done = await replay(tmp_path, TURNS, PLANTED)
    assert done.prefix_share >= 0.99
    assert done.sent <= 0.4 * done.everything
    assert done.found >= 0.95 * done.planted
