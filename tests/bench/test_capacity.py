"""The capacity paper: its model and its simulation agree where they must, and its tables are those of the costs."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from bench.capacity import BURST, CHATS, PAPER, SIZES, busy_day, costs_table, model_table, renewed
from bench.capacity_day import Day, Death, Simulation, arrivals, least_gateways, open_at_most, simulate, simulate_burst
from bench.capacity_model import CHOSEN, USUAL, Question, capacity, lane_p95_ms, open_share, wait_p95_ms
from bench.costs import Costs, read_costs, write_costs
from bench.weighing import Sample, weigh
from tests.fakes.redis_server import KINDS, program

EVEN = Costs(
    day="2026-11-22",
    machine="made up",
    load=0.0,
    message_ms=[20.0] * 10,
    burst_ms=20.0,
    burst_a_second=50.0,
    burst_cores=1.0,
    burst_p50_ms=3000.0,
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


def test_the_simulation_is_as_busy_as_the_model_says() -> None:
    """Utilisation within a tenth, the wait for a processor within a factor of two: the formula is a rough one."""
    seen = simulate(EVEN, busy_day(EVEN, 0.5, hours=0.1))
    assert seen.utilisation == pytest.approx(0.5, rel=0.1)
    assert wait_p95_ms(0.5, EVEN) / 2 < seen.queued_ms(0.95) < 2 * wait_p95_ms(0.5, EVEN)


def test_indexes_are_open_as_often_as_the_model_says() -> None:
    """Within a quarter: the simulation counts the most that ever were, the model the mean."""
    said = arrivals(Day(3_000, 1))
    modelled = 3_000 * open_share(USUAL, CHOSEN)
    assert modelled < open_at_most(said, CHOSEN.index_open_s) < 1.25 * modelled


def test_an_index_closes_so_long_after_the_last_message() -> None:
    """Not after the first, and it counts once however often it is used."""
    assert open_at_most([(0.0, 1), (5.0, 1), (9.0, 2), (12.0, 3)], 10) == 3
    assert open_at_most([(0.0, 1), (5.0, 1), (15.0, 2)], 10) == 1


def test_what_people_wait_for_is_mostly_the_answer_before() -> None:
    """On idle gateways 19 of 20 messages get what the model says, within a fifth."""
    seen = simulate(EVEN, Day(1_000, 3))
    assert seen.queued_ms(0.95) < 1
    assert seen.added_ms(0.95) == pytest.approx(20 + lane_p95_ms(USUAL), rel=0.2)


def test_a_burst_takes_as_long_as_its_messages_together() -> None:
    """Fifty a second at 20 ms each, whoever's they are."""
    seen = simulate_burst(EVEN, 300, 30)
    assert seen.messages == 300
    assert seen.messages / seen.seconds == pytest.approx(50, rel=0.02)


def test_the_simulation_comes_out_at_what_was_measured() -> None:
    """The burst that was measured with the costs: within a factor of two, since the machine was not its own."""
    costs = read_costs()
    seen = simulate_burst(costs, BURST, CHATS)
    assert 0.5 < seen.messages / seen.seconds / costs.burst_a_second < 2
    assert 0.5 < seen.added_ms(0.5) / costs.burst_p50_ms < 2


def test_a_death_costs_its_agents_the_lease_and_everybody_a_new_start() -> None:
    """Who takes over begins again what was begun; each survivor starts anew, with as many agents as it has then."""
    day = Day(3, 3, replace(USUAL, model_s=4), death=Death(at_s=101, back_s=300), lease_s=10)
    seen = Simulation(EVEN, day).run([(100.0, 0), (111.5, 2), (200.0, 0)])
    interrupted = 11 + (1.5 + 2 * 0.005) + 0.02
    beside = 1.0 + 0.005 + 0.02
    assert seen.added == pytest.approx([0.02, beside, interrupted])


def test_who_comes_back_gets_its_share() -> None:
    """All start anew; then it works for its agents, at once."""
    day = Day(3, 3, replace(USUAL, model_s=4), death=Death(at_s=101, back_s=50), lease_s=10)
    seen = Simulation(EVEN, day).run([(100.0, 1), (151.1, 0), (151.1, 1), (200.0, 0)])
    start = 1.4 + 0.005 + 0.02
    assert seen.added == pytest.approx([0.02, 0.02, start, start])


def test_a_death_loses_nothing() -> None:
    """Of many thousand messages, some of which were at work."""
    quiet = Day(3_000, 3, replace(USUAL, messages_a_day=200), hours=0.2)
    dying = replace(quiet, death=Death(at_s=300, back_s=60))
    before, after = simulate(EVEN, quiet), simulate(EVEN, dying)
    assert after.messages == before.messages == len(arrivals(quiet))
    assert after.added_ms(0.99) > before.added_ms(0.99)


def test_the_same_seed_gives_the_same_day() -> None:
    """Another seed another one."""
    day = Day(200, 2, hours=0.5)
    assert simulate(EVEN, day) == simulate(EVEN, day)
    assert simulate(EVEN, day) != simulate(EVEN, replace(day, seed=2))


def test_the_fewest_gateways_are_found() -> None:
    """Two for what is one and a half processors of work, none where even those are too few."""
    day = busy_day(EVEN, 1.5, hours=0.02)
    assert least_gateways(EVEN, day, p95_ms=300, most=3) == 2
    assert least_gateways(EVEN, day, p95_ms=300, most=1) is None


def test_costs_are_kept_as_they_were(tmp_path: Path) -> None:
    """Written and read again."""
    write_costs(EVEN, tmp_path / "costs.json")
    assert read_costs(tmp_path / "costs.json") == EVEN


def test_the_papers_tables_are_those_of_the_costs_kept() -> None:
    """`python -m bench.capacity --kept --write` changes neither; what is simulated is not run here."""
    costs, paper = read_costs(), PAPER.read_text("utf-8")
    made = {
        "costs": costs_table(costs),
        "model": model_table(costs, [capacity(costs, Question(agents)) for agents in SIZES]),
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
