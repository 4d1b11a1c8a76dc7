"""After a crash, the journal names what was being worked on, and nothing else."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateway.runtime.work_journal import SLOTS, WorkJournal

CRASHES = """
import asyncio, os, signal, sys
from pathlib import Path
from gateway.runtime.work_journal import WorkJournal

async def poisonous():
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)

async def waits():
    await asyncio.Event().wait()

async def main(journal):
    waiting = asyncio.ensure_future(journal.followed("message 1", waits()))
    await asyncio.sleep(0)
    with journal.finishing("reply 9"):
        pass
    await journal.followed("message 2", poisonous())

with WorkJournal.open(Path(sys.argv[1])) as journal:
    asyncio.run(main(journal))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "at-work"


def crash(path: Path) -> None:
    """Run a process that is killed by its second message, while its first one waits."""
    ended = subprocess.run([sys.executable, "-c", CRASHES, str(path)], check=False, cwd=Path(__file__).parents[3])
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("has_crashed", "most"), [(True, 2), (False, 4)])
def test_the_item_at_work_is_to_blame_after_a_few_deaths(path: Path, has_crashed: bool, most: int) -> None:
    """Two crashes in the code of an item blame it, or four kills; what waited or was finished is not blamed."""
    for _ in range(most - 1):
        crash(path)
        with WorkJournal.open(path, has_crashed=has_crashed) as journal:
            assert journal.suspects == ()
    crash(path)
    with WorkJournal.open(path, has_crashed=has_crashed) as journal:
        assert journal.suspects == ("message 2",)
        journal.acquit("message 2")
    with WorkJournal.open(path) as journal:
        assert journal.suspects == ()


async def test_an_item_that_is_finished_is_acquitted(path: Path) -> None:
    """A crash in its first try does not count against a later one once it was finished."""
    crash(path)
    with WorkJournal.open(path, has_crashed=True) as journal:
        assert await journal.followed("message 2", _three()) == 3
    crash(path)
    with WorkJournal.open(path, has_crashed=True) as journal:
        assert journal.suspects == ()


async def test_a_defect_that_ends_the_gateway_counts_as_a_crash(path: Path) -> None:
    """An exception that nobody handles ends the process as surely as a kill does."""
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), WorkJournal.open(path) as journal:
            await journal.followed("message 7", _fails())
    with WorkJournal.open(path) as journal:
        assert journal.suspects == ("message 7",)


async def test_an_orderly_stop_blames_nothing(path: Path) -> None:
    """Work that is cancelled, or cut off by the end of the gateway, was not at fault; cancellation reaches it."""
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    for _ in range(3):
        with WorkJournal.open(path) as journal:
            task = asyncio.ensure_future(journal.followed("message 3", waits()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            stack = journal.finishing("reply 4")
            stack.__enter__()
    with WorkJournal.open(path) as journal:
        assert journal.suspects == ()
    assert ended == ["cancelled"] * 3


async def test_timeouts_and_results_pass_through(path: Path) -> None:
    """Followed work behaves as it would by itself: it gets what it waits for, and its timeouts fire."""

    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return await asyncio.sleep(0, "late")
        return "never"

    with WorkJournal.open(path) as journal:
        assert await journal.followed("message 5", work()) == "late"


def test_a_damaged_journal_begins_anew(path: Path) -> None:
    """It is no reason not to start."""
    path.parent.mkdir()
    path.write_bytes(b"{]" + os.urandom(5_000))
    with WorkJournal.open(path) as journal:
        assert journal.suspects == ()


def test_more_items_than_slots_are_worked_on_unmarked(path: Path) -> None:
    """The journal never refuses work."""
    with WorkJournal.open(path) as journal:
        blocks = [journal.finishing(f"reply {number}") for number in range(SLOTS + 5)]
        for block in blocks:
            block.__enter__()
        for block in blocks:
            block.__exit__(None, None, None)
        with journal.finishing("reply 0"):
            pass


async def test_a_step_costs_microseconds(path: Path) -> None:
    """A turn has some hundred steps: marking them all takes well below a millisecond (1 µs a step measured)."""

    async def steps() -> None:
        for _ in range(10_000):
            await asyncio.sleep(0)

    with WorkJournal.open(path) as journal:
        begun = time.process_time()
        await journal.followed("message 6", steps())
        followed = time.process_time() - begun
    assert followed < 10_000 * 50e-6


async def _three() -> int:
    await asyncio.sleep(0)
    return 3


async def _fails() -> None:
    await asyncio.sleep(0)
    raise ZeroDivisionError
