"""`BOOTSTRAP.md` leads one conversation, also if the agent never deletes it."""

import os
from pathlib import Path

import pytest

from gateway.control.history import answer_history
from gateway.control.wire import HistoryOrder
from gateway.sessions.due import Ending, Pause
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.sessions.onboarding import FILE, end_first_run
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
    async with resting(tmp_path, SETTINGS) as house:
        agent = house.agents[MAIN]
        house.lifecycle.listeners.append(end_first_run)
        put(house, before_s=60)
        await agent.keeper.begin()
        await house.talk(KEY, ("hello", "Who am I to be?"))
        assert not await over(house, Pause.SHUTDOWN)
        assert not await over(house, Pause.SWITCH)
        assert await over(house, why)
        await agent.keeper.finish()
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


async def test_it_stays_where_no_language_model_was_led_by_it(tmp_path: Path) -> None:
    """A group's talk, a conversation that nobody began, and answers of commands take nothing away."""
    async with resting(tmp_path, SETTINGS) as house:
        house.lifecycle.listeners.append(end_first_run)
        put(house, before_s=60)
        await house.talk(GROUP, ("hello", "Good day."))
        await house.lifecycle.pause_session(GROUP, Pause.REST)
        await house.lifecycle.pause_session(KEY, Pause.REST)
        assert house.file(str(FILE))


async def test_a_file_that_is_no_text_keeps_no_conversation_from_its_end(tmp_path: Path) -> None:
    """An agent cannot have been led by it, and it is the owner's to mend; what was said is over all the same."""
    async with resting(tmp_path, SETTINGS) as house:
        house.lifecycle.listeners.append(end_first_run)
        put(house, before_s=60)
        (house.agents[MAIN].workspace.folder.root / FILE).write_bytes(b"f\xfcr dich\n")
        await house.talk(KEY, ("hello", "Good day."))
        await house.lifecycle.pause_session(KEY, Pause.REST)
        await house.lifecycle.end_session(KEY, Ending.NEW)
        assert (house.agents[MAIN].workspace.folder.root / FILE).exists()
