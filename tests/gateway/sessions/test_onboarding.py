"""`BOOTSTRAP.md` leads until the agent has introduced itself, also if it never deletes the file."""

import os
from pathlib import Path

import pytest

from gateway.control.history import answer_history
from gateway.control.wire import HistoryOrder
from gateway.sessions.due import Ending, Pause
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.sessions.onboarding import FILE, INTRODUCTION, end_first_run
from tests.gateway.sessions.resting import BERLIN, GROUP, KEY, MAIN, Resting, resting
from workspaces.access import PRIVATE, Access, SessionType

SETTINGS = LifecycleSettings(zone=BERLIN)
ORDERS = "Ask who you are to be.\n"
OWNER = Access(MAIN, SessionType.MAIN, PRIVATE, "telegram:7", 0, frozenset())


def put(house: Resting, before_s: float) -> None:
    """Write the file so long before now."""
    place = house.agents[MAIN].workspace.folder.root / FILE
    place.write_text(ORDERS, "utf-8")
    moment = house.clock.now().timestamp() - before_s
    os.utime(place, (moment, moment))


def introduce(house: Resting, *names: str) -> None:
    """Fill files in, as an agent does when it learns who it is and for whom."""
    for name in names:
        place = house.agents[MAIN].workspace.folder.root / name
        place.write_text(place.read_text("utf-8").replace("Name", "Name: Wren; not", 1), "utf-8")


async def over(house: Resting, why: Ending | Pause) -> bool:
    """Let the conversation rest or end, and say whether the file is gone."""
    if isinstance(why, Ending):
        await house.lifecycle.end_session(KEY, why)
    else:
        await house.lifecycle.pause_session(KEY, why)
    return not house.file(str(FILE))


@pytest.mark.parametrize("why", [Pause.REST, Pause.DAY, Ending.NEW])
async def test_it_is_gone_when_the_conversation_that_it_led_is_over(tmp_path: Path, why: Ending | Pause) -> None:
    """The history keeps it; put back, it leads the next conversation, and is gone after that one too."""
    async with resting(tmp_path, SETTINGS, listeners=[end_first_run]) as house:
        agent = house.agents[MAIN]
        put(house, before_s=60)
        introduce(house, *INTRODUCTION)
        await agent.history_writer.begin()
        await house.talk(KEY, ("hello", "Who am I to be?"))
        assert not await over(house, Pause.SHUTDOWN)
        assert not await over(house, Pause.SWITCH)
        assert await over(house, why)
        await agent.history_writer.finish()
        (gone, began) = (await answer_history(agent, HistoryOrder("log", path=str(FILE)), OWNER)).commits
        assert gone.session == "main/main"
        house.clock.advance(60)
        await answer_history(agent, HistoryOrder("restore", path=str(FILE), revision=began.revision), OWNER)
        assert house.file(str(FILE)) == ORDERS
        put(house, before_s=0)
        assert not await over(house, Pause.REST), "nothing was answered since it was put back"
        house.clock.advance(60)
        await house.talk(KEY, ("again", "Gladly."), turn=2)
        assert await over(house, Pause.REST)


async def test_it_stays_until_the_agent_has_introduced_itself(tmp_path: Path) -> None:
    """A greeting alone, one file of two, a blank one or a template, cut or with other line ends, is no introduction."""
    async with resting(tmp_path, SETTINGS, listeners=[end_first_run]) as house:
        put(house, before_s=60)
        root = house.agents[MAIN].workspace.folder.root
        await house.talk(KEY, ("hello", "Good day."))
        assert not await over(house, Pause.REST)
        introduce(house, "USER.md")
        for blank in (
            "",
            "\n",
            (root / "IDENTITY.md").read_text("utf-8").replace("\n", "\r\n"),
            "# Identity\n- Name:\n",
        ):
            (root / "IDENTITY.md").write_bytes(blank.encode())
            await house.talk(KEY, ("again", "Gladly."), turn=2)
            assert not await over(house, Pause.REST)
        (root / "IDENTITY.md").write_text("# Identity\n\n- Name: Wren\n", "utf-8")
        (root / "USER.md").unlink()
        assert not await over(house, Pause.DAY)
        (root / "USER.md").write_text("Ann, in Berlin\n", "utf-8")
        assert await over(house, Pause.REST)


async def test_it_stays_where_nothing_was_answered(tmp_path: Path) -> None:
    """An answer without a word introduces nobody, though the files are filled in."""
    async with resting(tmp_path, SETTINGS, listeners=[end_first_run]) as house:
        put(house, before_s=60)
        introduce(house, *INTRODUCTION)
        await house.talk(KEY, ("hello", " \n"))
        assert not await over(house, Pause.REST)
        await house.talk(KEY, ("well?", "I am Wren."), turn=2)
        assert await over(house, Pause.REST)


async def test_it_stays_where_no_language_model_was_led_by_it(tmp_path: Path) -> None:
    """A group's talk, a conversation that nobody began, and answers of commands take nothing away."""
    async with resting(tmp_path, SETTINGS, listeners=[end_first_run]) as house:
        put(house, before_s=60)
        introduce(house, *INTRODUCTION)
        await house.talk(GROUP, ("hello", "Good day."))
        await house.lifecycle.pause_session(GROUP, Pause.REST)
        await house.lifecycle.pause_session(KEY, Pause.REST)
        assert house.file(str(FILE))


async def test_a_file_that_is_no_text_keeps_no_conversation_from_its_end(tmp_path: Path) -> None:
    """An agent cannot have been led by it, and it is the owner's to mend; what was said is over all the same."""
    async with resting(tmp_path, SETTINGS, listeners=[end_first_run]) as house:
        put(house, before_s=60)
        introduce(house, *INTRODUCTION)
        (house.agents[MAIN].workspace.folder.root / FILE).write_bytes(b"f\xfcr dich\n")
        await house.talk(KEY, ("hello", "Good day."))
        await house.lifecycle.pause_session(KEY, Pause.REST)
        await house.lifecycle.end_session(KEY, Ending.NEW)
        assert (house.agents[MAIN].workspace.folder.root / FILE).exists()
