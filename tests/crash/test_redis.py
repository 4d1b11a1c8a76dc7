"""A gateway whose state a Redis keeps, alone on it, meets faults at its first, second, third … durable step.

Each request to the Redis is a step, and so is each answer: what was asked for may be done then, and nobody knows.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.home import Home
from tests.crash import judge
from tests.crash.faults import Fault
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, telegram
from tests.crash.running import prepared, survive
from tests.crash.test_every_step import TOLD, died, enumerate_steps, judged, suffered
from tests.crash.test_lost_state import answered
from tests.fakes.redis_server import USUAL, RedisServer, running
from tests.journeys.house import OWNER

AT_ONCE = 3


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running(USUAL) as server:
        yield server


def on_redis(folder: Path, platform: Platform, redis: RedisServer) -> Home:
    """Return a home whose state is in *redis*, under a prefix of its own."""
    home = prepared(folder, platform)
    state = f'[redis]\nurl = "{redis.url}"\nprefix = "{folder.name}"\n'
    home.write(home.config_file, home.config_file.read_text() + state)
    return home


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.nightly)])
async def test_a_death_at_any_step(
    redis: RedisServer, wards: asyncio.Queue[Nursery], tmp_path: Path, every: int
) -> None:
    """After one restart, which waits for no lease, all is answered once, in order; a second one changes nothing."""

    async def case(at: int) -> str:
        async with telegram() as platform:
            home = on_redis(tmp_path / f"death-{every}-{at}", platform, redis)
            TOLD.say(platform)
            met = "some step" if await died(home, platform, Life(str(home.path), Fault.KILL, at), wards) else ""
            report, _ = await judged(home, platform)
            assert len(report.unsure) <= bool(met)
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= 60 // every


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.nightly)])
async def test_an_error_at_any_step(redis: RedisServer, tmp_path: Path, every: int) -> None:
    """A request that did not go out, or whose answer did not come, is made again and done once; it is counted once."""
    of_redis = 0

    async def case(at: int) -> str:
        nonlocal of_redis
        async with telegram() as platform:
            home = on_redis(tmp_path / f"error-{every}-{at}", platform, redis)
            TOLD.say(platform)
            met = await suffered(home, platform, Life(str(home.path), Fault.BROKEN, at))
            report, _ = await judged(home, platform)
            if met.startswith("redis"):
                of_redis += 1
                assert report.reasons.get("store_trouble", 0) == 1, (at, met, report.reasons)
            return met

    met = await enumerate_steps(case, AT_ONCE, every)
    assert len(met) >= 60 // every
    assert of_redis


async def test_a_redis_that_has_lost_everything(redis: RedisServer, tmp_path: Path) -> None:
    """The next message gets an answer of its own, not the one that the conversation has of an earlier message."""
    async with telegram() as platform:
        home = on_redis(tmp_path / "lost", platform, redis)
        await answered(home, platform, 1)
        redis.tell("FLUSHALL")
        await answered(home, platform, 2)
        await survive(home, platform)
        told = judge.Told(OWNER, "main", ((1, ""), (2, "")))
        assert judge.doubles(platform, told) == 0
        judge.check_transcript(home, told)
