"""A gateway dies at its first, second, third … durable step while notes are saved and a conversation is summarised.

Three messages are answered, `/compact` has notes saved of them and a summary made, and a fourth is answered.
"""

import asyncio
from pathlib import Path

import pytest

from gateway.home import Home
from tests.crash import judge
from tests.crash.faults import Fault
from tests.crash.nursery import WARDS, Life, Nursery
from tests.crash.platform import Platform, telegram
from tests.crash.running import answer_to, prepared
from tests.crash.test_every_step import died, enumerate_steps, judged
from tests.journeys.house import OWNER

TOLD = judge.Told(OWNER, "main", [(1, "note"), (2, ""), (3, ""), (4, "")])
ANSWERS = {answer_to(number) for number, _ in TOLD.messages}


def say_all(platform: Platform) -> None:
    """Let the owner write the messages, and ask for a summary before the last."""
    for number, orders in TOLD.messages[:-1]:
        platform.says(f"{number} {orders}".strip(), OWNER)
    platform.says("/compact", OWNER)
    platform.says(str(TOLD.messages[-1][0]), OWNER)


def check(home: Home) -> int:
    """Fail unless notes were saved before a summary; return how many have no receipt, as they were saved once more.

    There is no summary if the command was begun and cut off: then nobody knows what it did, and that is told.
    """
    lines = judge.transcript(home, TOLD.session)
    (outcome,) = [line["entry"] for line in lines if line["type"] == "result" and line["entry"]["name"] == "/compact"]
    assert outcome["is_error"] or "summary" in {line["type"] for line in lines}
    saved = judge.check_saved(home, TOLD)
    notes = "".join(path.read_text() for path in home.agent("main").workspace.glob("memory/*.md"))
    again = notes.count("saved-after-") - saved
    assert again in (0, 1)
    return again


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", [Fault.KILL, pytest.param(Fault.TORN, marks=pytest.mark.nightly)])
async def test_a_death_while_notes_are_saved(
    fault: Fault, every: int, wards: asyncio.Queue[Nursery], tmp_path: Path
) -> None:
    """After one restart all is answered once, notes were saved before the summary, and a second one changes nothing.

    A note whose receipt was not kept may be saved twice.
    """
    twice = 0

    async def case(at: int) -> str:
        nonlocal twice
        async with telegram() as platform:
            home = prepared(tmp_path / str(at), platform)
            say_all(platform)
            met = "some step" if await died(home, platform, Life(str(home.path), fault, at), wards, ANSWERS) else ""
            await judged(home, platform, TOLD)
            twice += check(home)
            return met

    met = await enumerate_steps(case, WARDS + 1, every)
    assert len(met) >= (20 if fault.is_about_writes else 100) // every
    assert twice or every > 1  # the moments between a note and its receipt were among them
