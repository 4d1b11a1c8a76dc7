"""The capacity paper: its model, and its tables, which are those of the costs."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from bench.capacity import PAPER, SIZES, costs_table, model_table, renewed
from bench.capacity_model import USUAL, Question, capacity, wait_p95_ms
from bench.costs import Costs, read_costs, write_costs
from bench.weighing import Sample, weigh
from tests.fakes.redis_server import KINDS, program

EVEN = Costs(
    day="2026-11-22",
    machine="made up",
    load=0.0,
    message_ms=[20.0] * 10,
    burst_ms=20.0,
    redis_ms=0.2,
    redis_bytes=1500.0,
    transcript_bytes=500.0,
    state_bytes=500.0,
    history_bytes=0.0,
    commits=0.0,
    gateway_mb=100.0,
    agent_mb=0.5,
    agent_files=1.0,
    agent_threads=2.0,
    agent_disk=200_000.0,
    agent_start_ms=5.0,
    worker_mb=150.0,
    index_mb=10.0,
    index_disk=7e6,
    chunk_mb=0.05,
    chunk_disk=50_000.0,
    chunk_ms=5.0,
    search_ms=8.0,
)


def test_what_binds_a_gateway_is_found() -> None:
    """Memory for young agents with large indexes, a processor for much talk, the start for agents at rest."""
    usual = capacity(EVEN, Question(1_000))
    assert usual.binding == "memory"
    talkative = replace(USUAL, messages_a_day=5_000, chunks_a_day=0)
    assert capacity(EVEN, Question(1_000, talkative)).binding == "processor"
    at_rest = replace(USUAL, messages_a_day=0.1)
    found = capacity(EVEN, Question(1_000, at_rest))
    assert (found.binding, found.agents_a_gateway) == ("time of a start", 2_000)


def test_everything_grows_with_the_agents_and_with_their_talk() -> None:
    """Twice the messages are twice the rate, and never less of anything."""
    one, many = capacity(EVEN, Question(1_000)), capacity(EVEN, Question(1_000_000))
    assert (one.shards, one.gateways, round(one.redis_gb, 2)) == (1, 3, 0.42)
    assert many.shards == math.ceil(1e6 / (8e9 / (1500 * 20 * 14)))
    assert many.messages_a_second == pytest.approx(1_000 * one.messages_a_second)
    louder = capacity(EVEN, Question(1_000_000, replace(USUAL, messages_a_day=40)))
    assert louder.gateways > many.gateways
    assert louder.money > many.money
    assert louder.disk_gb > many.disk_gb


def test_a_processor_that_is_always_busy_is_never_reached() -> None:
    """And one with nothing to do at once."""
    assert wait_p95_ms(1.0, EVEN) == math.inf
    assert wait_p95_ms(0.01, EVEN) == 0
    assert 0 < wait_p95_ms(0.5, EVEN) < wait_p95_ms(0.9, EVEN)


def test_costs_are_kept_as_they_were(tmp_path: Path) -> None:
    """Written and read again."""
    write_costs(EVEN, tmp_path / "costs.json")
    assert read_costs(tmp_path / "costs.json") == EVEN


def test_the_papers_tables_are_those_of_the_costs_kept() -> None:
    """`python -m bench.capacity --kept --write` changes neither."""
    costs, paper = read_costs(), PAPER.read_text("utf-8")
    made = {
        "costs": costs_table(costs),
        "model": model_table([capacity(costs, Question(agents)) for agents in SIZES]),
    }
    assert renewed(paper, made) == paper


def test_a_paper_without_a_tables_marks_is_refused() -> None:
    """Nothing is put anywhere else."""
    assert renewed("a\n<!-- t -->\nold\n<!-- /t -->\nb", {"t": "new"}) == "a\n<!-- t -->\nnew\n<!-- /t -->\nb"
    with pytest.raises(KeyError):
        renewed("a\n<!-- t -->\nold", {"t": "new"})


@pytest.mark.nightly
async def test_every_cost_can_be_weighed() -> None:
    """A short run of the whole: everything that takes something is above nothing."""
    if not any(map(program, KINDS)):
        pytest.skip("no Redis or Valkey server is installed here")
    size = Sample(singles=5, burst=30, chats=6, agents=10, stored=128, indexes=2, chunks=300, searches=10)
    costs = await weigh(size)
    assert len(costs.message_ms) == 5
    for cost in ("mean_ms", "burst_ms", "redis_ms", "redis_bytes", "transcript_bytes", "agent_disk", "gateway_mb"):
        assert getattr(costs, cost) > 0, cost
    for cost in ("worker_mb", "index_mb", "index_disk", "chunk_disk", "chunk_ms", "search_ms"):
        assert getattr(costs, cost) > 0, cost
