"""Three gateways whose Redis is a cluster, or behind a sentinel: a gateway dies, then the server that takes writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.redis_server import USUAL, RedisServer
from tests.fakes.redis_several import RedisCluster, cluster, until, watched
from tests.journeys.processes import state
from tests.journeys.several import CHATS, HELD, Kept, Trial, trial

PREFIX = "strandline"


@pytest.fixture
def in_cluster() -> Iterator[tuple[Kept, RedisServer]]:
    """Keep the state in a cluster that the gateways enter by a node that keeps something else."""
    with cluster(USUAL, backed=PREFIX) as slots:
        owner, replica = slots.owner(PREFIX), slots.nodes[-1]
        others = [node for node in slots.nodes if node not in (owner, replica)]
        seen = RedisCluster([*others, owner, replica])
        yield Kept(others[0].url, lambda: seen.owner(PREFIX)), replica


@pytest.fixture
def behind_sentinel() -> Iterator[tuple[Kept, RedisServer]]:
    """Keep the state in a primary that a sentinel watches."""
    with watched(USUAL) as servers:
        yield Kept(servers.url, lambda: servers.named), servers.replica


def fail_over(made: Trial, replica: RedisServer) -> None:
    """Kill a gateway at work, then the server that takes writes, and judge."""
    killed = made.gateways[1]
    state(made.bot, sent=5)
    made.until_at_work(killed)
    killed.kill()
    state(made.bot, sent=12)
    made.until_at_work()
    made.kept.settle_and_kill(replica)
    until(lambda: made.kept.history_writer() is replica)
    made.judge("a kill and a failover", doubled_at_most=HELD + len(CHATS))


def test_messages_come_through_a_kill_and_a_failover_of_a_cluster(
    in_cluster: tuple[Kept, RedisServer], tmp_path: Path
) -> None:
    """The replica of the node that kept everything takes over; each message is answered once and in order."""
    kept, replica = in_cluster
    with trial(tmp_path, kept, burst=20) as made:
        fail_over(made, replica)


def test_messages_come_through_a_kill_and_a_failover_behind_a_sentinel(
    behind_sentinel: tuple[Kept, RedisServer], tmp_path: Path
) -> None:
    """The sentinel names the replica; each message is answered once and in order."""
    kept, replica = behind_sentinel
    with trial(tmp_path, kept, burst=20) as made:
        fail_over(made, replica)


@pytest.mark.nightly
def test_messages_come_through_kills_in_turn_and_a_failover_of_a_cluster(
    in_cluster: tuple[Kept, RedisServer], tmp_path: Path
) -> None:
    """Each gateway is killed once and started again; then one dies for good, and the node that keeps everything."""
    kept, replica = in_cluster
    with trial(tmp_path, kept, burst=60) as made:
        for number, victim in enumerate(made.gateways):
            state(made.bot, sent=5 + 20 * number)
            made.until_at_work(victim)
            victim.kill()
            victim.start()
        fail_over(made, replica)
