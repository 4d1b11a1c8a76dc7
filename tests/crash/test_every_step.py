"""A conversation meets a fault at its first, second, third … durable step, whatever that is; nothing is lost by it.

Two messages are taken in from Telegram, the first with a file to write and a note to add; they are answered, sent,
and recorded in the history, and the gateway stops.
"""

import asyncio
import itertools
import signal
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.home import Home
from gateway.stores.rows import StoreReport
from tests.crash import judge
from tests.crash.faults import Fault, Steps
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, telegram
from tests.crash.running import answer_to, prepared, running, survive
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER

TOLD = judge.Told(OWNER, "main", [(1, "write note"), (2, "")])
ANSWERS = {answer_to(number) for number, _ in TOLD.messages}
REFUSED = "refused"
AT_ONCE = 6
TROUBLE = {
    "store": {"store_trouble"},
    "transcript": {"postponed.StoreError", "session_not_logged"},
    "file": {"files_unusable"},
    "history": {"history_unusable"},
    "send.begin": {"send_delayed"},
    "send.end": {"send_unsure"},
}
"""Under which reason an error at a step is counted, by how the step's name begins."""

Case = Callable[[int], Awaitable[str]]
"""Meets the step of that number with a fault, and judges; returns the step, or nothing if there was none."""


async def enumerate_steps(case: Case, at_once: int, every: int = 1) -> list[str]:
    """Run *case* for 1, 2, 3 … until one comes to its end without a fault; return the steps that met theirs.

    With *every*, for so much more each time.
    """
    numbers, met = itertools.count(1, every), list[str]()

    async def run_some() -> None:
        while step := await case(next(numbers)):
            met.append(step)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(run_some())
    return met


async def judged(home: Home, platform: Platform, told: judge.Told = TOLD) -> tuple[StoreReport, int]:
    """Recover, judge, recover once more; return what is reported and how many answers came twice."""
    report = await survive(home, platform)
    judge.check_report(report)
    doubles = judge.doubles(platform, told)
    assert doubles <= min(platform.doubles, len(report.unsure))
    judge.check_transcript(home, told)
    judge.check_effects(home, [told])
    judge.check_files(home)
    judge.check_receipts(home, platform, told)
    before = judge.everything(home, platform, [told], report)
    assert judge.everything(home, platform, [told], await survive(home, platform)) == before
    return report, doubles


async def died(
    home: Home, platform: Platform, life: Life, wards: asyncio.Queue[Nursery], answers: Collection[str] = ANSWERS
) -> bool:
    """Let a gateway live until it dies of its fault, or comes to its end; say whether it died."""
    ward = await wards.get()
    child = await ward.fork(life)
    heard = asyncio.ensure_future(platform.has_shown(set(answers), PATIENCE_S))
    ended = asyncio.ensure_future(child.ended())
    await asyncio.wait([heard, ended], return_when=asyncio.FIRST_COMPLETED)
    heard.cancel()
    child.signal(signal.SIGTERM)
    status = await ended
    wards.put_nowait(ward)
    assert status in (-signal.SIGKILL, 0), f"see {home.path}.log"
    return status != 0


async def suffered(home: Home, platform: Platform, life: Life) -> str:
    """Let a gateway meet an error and go on; return the step that met it, nothing if there was none."""
    steps, stop = Steps(life.fault, life.at), asyncio.Event()
    try:
        async with running(home, steps, stop):
            await platform.has_shown(ANSWERS, PATIENCE_S)
            stop.set()
    except* StoreError:  # it did not start on such a disk, which is loud enough
        assert steps.met.startswith("store"), steps.met
        steps.met = REFUSED
    return steps.met


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", [Fault.KILL, Fault.TORN])
async def test_a_death_at_any_step(fault: Fault, every: int, wards: asyncio.Queue[Nursery], tmp_path: Path) -> None:
    """After one restart all is answered once, in order; an answer comes twice at most, and then it is listed."""
    doubled = 0

    async def case(at: int) -> str:
        nonlocal doubled
        async with telegram() as platform:
            home = prepared(tmp_path / str(at), platform)
            TOLD.say(platform)
            met = "some step" if await died(home, platform, Life(str(home.path), fault, at), wards) else ""
            report, doubles = await judged(home, platform)
            assert report.reasons.keys() <= {
                "send_unsure",
                "send_delayed",
                "duplicate",
            }  # its SDK loads after it is ready
            assert len(report.unsure) <= bool(met)
            doubled += doubles
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= (12 if fault.is_about_writes else 60) // every
    assert doubled or fault.is_about_writes or every > 1  # the doubtful moment was among them


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", [Fault.FULL, pytest.param(Fault.BROKEN, marks=pytest.mark.nightly), Fault.SHORT])
async def test_an_error_at_any_step(fault: Fault, every: int, tmp_path: Path) -> None:
    """It is counted once, under its reason; all is answered once, in order, and at the latest after a restart."""

    async def case(at: int) -> str:
        async with telegram() as platform:
            home = prepared(tmp_path / str(at), platform)
            TOLD.say(platform)
            met = await suffered(home, platform, Life(str(home.path), fault, at))
            report, _ = await judged(home, platform)
            due = set().union(*(codes for step, codes in TROUBLE.items() if met.startswith(step)))
            counted = {code: report.reasons.get(code, 0) for code in set().union(*TROUBLE.values())}
            wanted = 1 if due and fault is not Fault.SHORT else 0
            assert sum(counted[code] for code in due) == wanted, (at, met, report.reasons)
            return met

    met = await enumerate_steps(case, AT_ONCE, every)
    assert len(met) >= (12 if fault.is_about_writes else 60) // every
