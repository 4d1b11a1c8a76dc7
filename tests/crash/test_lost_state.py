"""A damaged state is moved away by the command that the refusal names; all goes on then, but for what waited.

Nor does a state that is empty, or as it was a while ago, make an answer come twice in place of another.
"""

import asyncio
import re
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.home import Home
from tests.crash import judge
from tests.crash.faults import Steps
from tests.crash.platform import Platform, telegram
from tests.crash.running import answer_to, prepared, running, survive
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER


async def answered(home: Home, platform: Platform, number: int) -> None:
    """Let the owner say message *number*, and run until it is answered."""
    platform.says(str(number), OWNER)
    stop = asyncio.Event()
    async with running(home, Steps(), stop):
        await platform.has_shown({answer_to(number)}, PATIENCE_S)
        stop.set()


async def refused(home: Home) -> str:
    """Try to start, and return what the refusal says."""
    with pytest.raises(StoreError) as told:
        async with running(home, Steps(), asyncio.Event()):
            pass
    return str(told.value)


async def test_the_refusal_names_the_command_that_helps(tmp_path: Path) -> None:
    """The next message gets an answer of its own: no number is used again that a conversation knows."""
    async with telegram() as platform:
        home = prepared(tmp_path / "a home", platform)
        await answered(home, platform, 1)
        damaged = b"noise" + home.state_db.read_bytes()[5:]
        home.state_db.write_bytes(damaged)
        command = re.search(r"`(mkdir .*)`", await refused(home))
        assert command
        shell = await asyncio.create_subprocess_shell(command[1])
        assert await shell.wait() == 0
        await answered(home, platform, 2)
        assert (await survive(home, platform)).reasons["state_lost"] == 1
        told = judge.Told(OWNER, "main", ((1, ""), (2, "")))
        assert judge.doubles(platform, told) == 0
        judge.check_transcript(home, told)
        assert (home.path / "damaged/state.db").read_bytes() == damaged


@pytest.mark.parametrize("left", ["nothing", "an older one"])
async def test_a_state_that_knows_less_than_the_conversations(tmp_path: Path, left: str) -> None:
    """A message gets an answer of its own, not the one that the conversation has of an earlier one of its number."""
    async with telegram() as platform:
        home = prepared(tmp_path / "home", platform)
        await answered(home, platform, 1)
        before = home.state_db.read_bytes()
        await answered(home, platform, 2)
        home.state_db.write_bytes(before if left == "an older one" else b"")
        await answered(home, platform, 3)
        report = await survive(home, platform)
        assert report.reasons.get("state_lost", 0) == (0 if left == "an older one" else 1)
        told = judge.Told(OWNER, "main", ((1, ""), (2, ""), (3, "")))
        assert judge.doubles(platform, told) == 0
        judge.check_transcript(home, told)
