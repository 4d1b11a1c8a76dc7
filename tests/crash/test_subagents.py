"""A gateway dies at its first, second, third … durable step while a parent hands out a task and is told of the result.

The parent's answer is one message, what it says of the result another; each is shown once, or twice and listed.
"""

import asyncio
from pathlib import Path

import pytest

from gateway.home import Home
from tests.crash import judge
from tests.crash.faults import Fault
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, telegram, without_receipt
from tests.crash.running import answer_to, prepared, survive, task_of, told_of
from tests.crash.test_every_step import died, enumerate_steps
from tests.journeys.house import OWNER

TOLD = judge.Told(OWNER, "main", [(1, "spawn")])
ANSWER, RESULT = answer_to(1), told_of(task_of(1))
MOST = 0.7
"""More than this share of all steps is not between a call that was begun and the task that it hands out.

Those are few, but other work has steps among them, on a busy machine more than on a quiet one.
"""


def helpers(home: Home) -> list[str]:
    """Return the names of the helpers' sessions."""
    return sorted(path.stem for path in home.agent("main").sessions.glob("subagent:*.jsonl"))


def check(home: Home, platform: Platform) -> int:
    """Fail unless each helper worked once and its parent was told of it once; return how many there were.

    There is none if the call was begun and cut off before the task was taken in: then nobody knows, and it is told so.
    """
    main = judge.transcript(home, "main")
    outcomes = [line["entry"] for line in main if line["type"] == "result"]
    assert [each["name"] for each in outcomes] == ["spawn"]
    names = helpers(home)
    assert len(names) == 1 or (not names and outcomes[0]["is_error"])
    for name in names:
        replies = [line["entry"]["text"] for line in judge.transcript(home, name) if line["type"] == "reply"]
        assert replies == [answer_to(task_of(1))]
    told = [line["entry"]["text"] for line in main if line["type"] == "user"][1:]
    assert len(told) == len(names), told
    assert [text.partition(" has finished")[0] for text in told] == [
        f"Subagent {name.partition(':')[2]}" for name in names
    ]
    said = [line["entry"]["text"] for line in main if line["type"] == "reply" and not line["entry"]["calls"]]
    assert sorted(said) == sorted([ANSWER, *([RESULT] * len(names))])
    shown = [without_receipt(text) for text in platform.shown(OWNER)]
    assert set(shown) == set(said)
    assert len(shown) - len(said) <= platform.doubles
    return len(names)


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", [Fault.KILL, pytest.param(Fault.TORN, marks=pytest.mark.nightly)])
async def test_a_death_while_a_helper_works(
    fault: Fault, every: int, wards: asyncio.Queue[Nursery], tmp_path: Path
) -> None:
    """After one restart the helper has worked once, its parent was told once, and a second restart changes nothing."""
    worked = 0

    async def case(at: int) -> str:
        nonlocal worked
        async with telegram() as platform:
            home = prepared(tmp_path / str(at), platform)
            TOLD.say(platform)
            life = Life(str(home.path), fault, at)
            met = "some step" if await died(home, platform, life, wards, {ANSWER, RESULT}) else ""
            report = await survive(home, platform)
            judge.check_report(report)
            judge.check_files(home)
            worked += check(home, platform)
            before = judge.everything(home, platform, [TOLD], report)
            assert judge.everything(home, platform, [TOLD], await survive(home, platform)) == before
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= (10 if fault.is_about_writes else 50) // every
    assert worked > MOST * len(met)
