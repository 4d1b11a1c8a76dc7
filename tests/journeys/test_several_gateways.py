"""Three gateways on one Redis, which are killed, stopped and robbed of it; the Bot API server's own record judges."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.processes import state
from tests.journeys.several import CHATS, HELD, LEASE_S, Kept, Trial, Watchers, single, trial


@pytest.fixture
def kept() -> Iterator[Kept]:
    with single() as kept:
        yield kept


def test_messages_come_through_a_kill_a_pause_and_a_restart_of_redis(kept: Kept, tmp_path: Path) -> None:
    """Each is answered once, in the order of its chat; whoever was hit had messages to answer."""
    with trial(tmp_path, kept, burst=20) as made:
        _, killed, paused = made.gateways
        state(made.bot, sent=5)
        made.until_at_work(killed)
        killed.kill()
        state(made.bot, sent=12)
        made.until_at_work(paused)
        assert paused.process is not None
        paused.process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S + 1)  # its lease runs out, and nobody but it can get at its agents' folders
        paused.process.send_signal(signal.SIGCONT)
        made.until_at_work()
        redis = kept.history_writer()
        redis.kill()
        redis.start()
        made.judge("a kill, a pause, a restart of Redis", doubled_at_most=2 * HELD + len(CHATS))


def stand_still(made: Trial, seconds: float) -> None:
    """Let Redis stand still when every gateway has messages to answer."""
    for gateway in made.gateways:
        made.until_at_work(gateway)
    made.kept.history_writer().signal(signal.SIGSTOP)
    time.sleep(seconds)
    made.kept.history_writer().signal(signal.SIGCONT)


def test_messages_come_through_a_redis_that_stands_still_for_longer_than_a_lease(kept: Kept, tmp_path: Path) -> None:
    """Every lease runs out; afterwards all three go on, under new fences."""
    with trial(tmp_path, kept, burst=20) as made:
        fences = set(Watchers(kept).agents())
        state(made.bot, sent=5)
        stand_still(made, 2 * LEASE_S)
        made.judge(f"Redis stood still for {2 * LEASE_S:g} s", doubled_at_most=len(CHATS))
        assert fences.isdisjoint(Watchers(kept).agents())


@pytest.mark.nightly
def test_messages_come_through_a_redis_that_stands_still_for_half_a_minute(kept: Kept, tmp_path: Path) -> None:
    """The same, for as long as a start waits for its server."""
    with trial(tmp_path, kept, burst=40) as made:
        state(made.bot, sent=20)
        stand_still(made, 30)
        made.judge("Redis stood still for 30 s", doubled_at_most=len(CHATS))


@pytest.mark.nightly
def test_messages_come_through_ten_kills(kept: Kept, tmp_path: Path) -> None:
    """One gateway after the other is killed and started again while messages come."""
    with trial(tmp_path, kept, burst=60) as made:
        kills = 0
        for number in range(10):
            state(made.bot, sent=5 + 20 * number)
            victim = made.gateways[number % 3]
            if made.has_work(victim):
                kills += 1
            victim.kill()
            victim.start()
        assert kills >= 5, "most of those that were killed had nothing to do"
        made.judge(f"ten kills, {kills} of them at work", doubled_at_most=10 * HELD)
