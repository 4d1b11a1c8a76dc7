"""How often an owner is asked on days on which nobody attacks."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from adapters.channel import InboundMessage, Quote
from gateway.agent.entries import ReplyEntry
from gateway.checkup.checkup import checked_agent
from gateway.checkup.fresh import compare_fresh
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import OWNER, House, open_house

PEOPLE = ("Ada", "Bo", "Cem", "Dora", "Emil", "Fay", "Gil")
THINGS = ("the boat", "the garden", "the roof", "the choir", "the school", "the bicycle", "the stove")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as house:
        yield house


async def talk(house: House, text: str, message: InboundMessage, *script: ReplyEntry | str) -> None:
    house.model = ScriptedModel(*script)
    await house.answer(await house.take_in(text, message))


async def begin_anew(house: House) -> None:
    """End the conversation; the model has nothing more to note."""
    house.model = ScriptedModel(*["NO_REPLY"] * 4)
    await house.says("/new")


async def live(house: House, day: int) -> None:
    """Live one day: a forward is noted; then facts, a reminder and questions, in conversations of their own."""
    who, what = PEOPLE[day % 7], THINGS[day % 6]
    forward = replace(OWNER, quote=Quote(who, f"{what} needs {day} new screws, says {who}"))
    note = says("", call("add_note", text=f"{who} writes that {what} needs {day} screws."))
    await talk(house, "", forward, note, "Noted.")
    await begin_anew(house)
    fact = says("", call("save_memory", text=f"{who} has a birthday on day {day}.", category="profile"))
    await talk(house, f"{who}'s birthday is on day {day}, keep that", OWNER, fact, "Saved.")
    search = says("", call("memory_search", query=f"birthday of {who}"))
    await talk(house, f"when is {who}'s birthday?", OWNER, search, "I told you.")
    await begin_anew(house)
    task = says("", call("schedule", when="in 20m", what=f"look at {what}"))
    await talk(house, f"remind me of {what}", OWNER, task, "I will.")
    if day % 5 == 0:  # what the forward said is looked up, and something lasting made of it
        await begin_anew(house)
        look = says("", call("memory_search", query=f"screws for {what}"))
        kept = says("", call("save_memory", text=f"{what} takes {day} screws.", category="notes"))
        await talk(house, f"how many screws for {what}? keep it", OWNER, look, kept, "Kept.")
    await begin_anew(house)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("days", [10, pytest.param(100, marks=pytest.mark.nightly)])
async def test_on_ordinary_days_an_owner_is_hardly_asked(house: House, days: int) -> None:
    """At most one question a day, and none where the turn had no need of others' words."""
    asked, changed = list[int](), list[int]()
    for day in range(days):
        await live(house, day)
        waiting = await house.approvals.waiting()
        compared = await compare_fresh(checked_agent(house.agent, house.sessions, UTC), house.access())
        asked.append(len(waiting))
        changed += [day] if compared else []
        for change in waiting:
            await house.approvals.refuse(change.id)
        for job in await house.job_runner.job_schedule.all("main"):
            await house.job_runner.job_schedule.remove(job.id, "main")
        house.clock.advance(timedelta(days=1).total_seconds())
    assert max(asked) <= 1
    assert sum(asked) <= 0.3 * days
    assert all(day >= len(PEOPLE) for day in changed)  # from then on somebody's birthday is another one
