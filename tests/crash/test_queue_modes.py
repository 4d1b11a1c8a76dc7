"""A gateway dies at its first, second, third … durable step while messages are collected, or steer a turn.

Three messages are there when it starts; they are answered together or one by one, as the steps fell. Nothing is lost,
and nothing is answered twice.
"""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from gateway.home import Home
from gateway.stores.rows import StoreReport
from tests.crash import judge
from tests.crash.faults import Fault
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, telegram
from tests.crash.running import prepared, survive
from tests.crash.test_every_step import died, enumerate_steps
from tests.journeys.house import OWNER

TOLD = judge.Told(OWNER, "main", [(1, "write"), (2, ""), (3, "")])
LAST = {"Done with 3."}
SAID = [f"{number} {orders}".strip() for number, orders in TOLD.messages]


def with_mode(home: Home, mode: str) -> None:
    """Configure the queue mode of a home."""
    home.write(home.config_file, home.config_file.read_text() + f'[queue]\nmode = "{mode}"\n')


def turns(home: Home) -> list[list[judge.Line]]:
    """Return the transcript's records of each turn, in order; the marks between turns belong to none."""
    found: dict[str, list[judge.Line]] = {}
    for line in judge.transcript(home, TOLD.session):
        if line["type"] in {"user", "reply", "start", "result"}:
            found.setdefault(line["turn"], []).append(line)
    return list(found.values())


def check(home: Home, platform: Platform, report: StoreReport) -> int:
    """Fail unless each message stands in one turn, and each turn has one answer, shown once, or twice and listed.

    Return how many turns answered more than one message.
    """
    judge.check_report(report)
    judge.check_files(home)
    every = turns(home)
    said = [line["entry"]["text"] for turn in every for line in turn if line["type"] == "user"]
    assert said == SAID
    answered = []
    for turn in every:
        replies = [line["entry"]["text"] for line in turn if line["type"] == "reply" and not line["entry"]["calls"]]
        assert len(replies) == 1, turn
        answered += replies
        calls = Counter(call["id"] for line in turn if line["type"] == "reply" for call in line["entry"]["calls"])
        begun = Counter(line["entry"]["call_id"] for line in turn if line["type"] == "start")
        assert begun == Counter(line["entry"]["call_id"] for line in turn if line["type"] == "result") == calls
    shown = judge.answers(platform, TOLD)
    assert list(dict.fromkeys(shown)) == answered
    assert len(shown) - len(answered) <= min(platform.doubles, len(report.unsure))
    return sum(sum(line["type"] == "user" for line in turn) > 1 for turn in every)


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("mode", ["collect", "steer"])
@pytest.mark.parametrize("fault", [Fault.KILL, pytest.param(Fault.TORN, marks=pytest.mark.nightly)])
async def test_a_death_while_messages_join(
    mode: str, fault: Fault, every: int, wards: asyncio.Queue[Nursery], tmp_path: Path
) -> None:
    """After one restart each message has been answered once, by its own turn or together with another."""
    together = 0

    async def case(at: int) -> str:
        nonlocal together
        async with telegram() as platform:
            home = prepared(tmp_path / str(at), platform)
            with_mode(home, mode)
            TOLD.say(platform)
            met = "some step" if await died(home, platform, Life(str(home.path), fault, at), wards, LAST) else ""
            together += check(home, platform, report := await survive(home, platform))
            before = judge.everything(home, platform, [TOLD], report)
            assert judge.everything(home, platform, [TOLD], await survive(home, platform)) == before
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= (6 if fault.is_about_writes else 40) // every
    assert together  # or nothing was tried here
