"""Discord in the same trials as Telegram: nothing that it told is lost, and no answer comes twice within its nonces.

Each time the bot was online before, so Discord knows its session; what a killed gateway had not taken in is told again.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.home import Home
from tests.crash.faults import Fault, Steps
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, discord
from tests.crash.running import answer_to, prepared, running
from tests.crash.test_every_step import TOLD, died, enumerate_steps, judged
from tests.crash.test_kills import GROUPS, survive_on
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER

FIRST = 1, ""
REST = replace(TOLD, messages=[(2, "write note"), (3, "")])
WHOLE = replace(TOLD, messages=[FIRST, *REST.messages])
ANSWERS = {answer_to(number) for number, _ in REST.messages}


async def introduced(home: Home, platform: Platform) -> None:
    """Let the bot come online for the first time, and answer a first message."""
    stop = asyncio.Event()
    async with running(home, Steps(), stop):
        platform.says(str(FIRST[0]), OWNER)
        await platform.has_shown({answer_to(FIRST[0])}, PATIENCE_S)
        stop.set()


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.nightly)])
async def test_a_death_at_any_step(wards: asyncio.Queue[Nursery], tmp_path: Path, every: int) -> None:
    """After one restart all is answered once, in order: a send in doubt is repeated under its nonce."""
    unsure, in_this_process = 0, asyncio.Lock()  # the SDK keeps one address of the REST API for a whole process

    async def case(at: int) -> str:
        nonlocal unsure
        async with discord() as platform:
            home = prepared(tmp_path / str(at), platform)
            async with in_this_process:
                await introduced(home, platform)
            REST.say(platform)
            life = Life(str(home.path), Fault.KILL, at)
            met = "some step" if await died(home, platform, life, wards, ANSWERS) else ""
            async with in_this_process:
                report, doubles = await judged(home, platform, WHOLE)
            assert doubles == 0
            assert report.reasons.keys() <= {"send_unsure", "send_delayed", "duplicate"}
            unsure += len(report.unsure)
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= 60 // every
    assert unsure or every > 1  # the doubtful moment was among them


async def test_twenty_kills(tmp_path: Path) -> None:
    """Each message is answered once, in the order of its chat, whatever was in doubt."""
    async with discord(GROUPS) as platform:
        home = prepared(tmp_path / "home", platform)
        await introduced(home, platform)
        print(await survive_on(platform, home, 20, [FIRST]))


@pytest.mark.nightly
async def test_a_thousand_kills(tmp_path: Path) -> None:
    """The same, for as long as it takes."""
    async with discord(GROUPS) as platform:
        home = prepared(tmp_path / "home", platform)
        await introduced(home, platform)
        print(await survive_on(platform, home, 1_000, [FIRST]))
