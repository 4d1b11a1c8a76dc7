"""`/stop`, `/queue` and `/model` as people give them."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import InboundMessage
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import route
from gateway.commands.registry import Commands
from gateway.inbound.queue_modes import QueueMode
from gateway.inbound.session_settings import Choices
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import (
    MAIN,
    MEMBER,
    OWNER,
    OWNER_IN_GROUP,
    POLICY,
    ROUTES,
    STRANGER,
    House,
    open_house,
)

GUEST = STRANGER
OPEN = Policy(
    POLICY.owners,
    {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, {"-100": GroupPolicy()}, frozenset({"telegram:9"}))},
)


async def test_a_mode_holds_for_its_session_until_that_ends(tmp_path: Path) -> None:
    """`/queue` shows it, sets it for this chat alone, keeps it across a restart, and `/new` takes it back."""
    async with open_house(tmp_path) as house:
        house.model = ScriptedModel("Hello.", "greeting")
        assert (await house.says("/queue")).startswith("`follow_up`, as the configuration says")
        assert (await house.says("/queue Collect")).startswith("`collect`, until this conversation ends")
        assert house.queueing.mode(house.key(OWNER)) is QueueMode.COLLECT
        assert house.queueing.mode(house.key(MEMBER)) is QueueMode.FOLLOW_UP
        assert await restarted(house) is QueueMode.COLLECT
        await house.says("hello")
        await house.says("/new")
        assert house.queueing.mode(house.key(OWNER)) is QueueMode.FOLLOW_UP
        assert await restarted(house) is None
        assert not house.choices._chosen


async def restarted(house: House) -> QueueMode | None:
    """Return what a gateway that starts now knows of the owner's session."""
    later = Choices(house.store)
    await later.load([MAIN])
    return later.mode(house.key(OWNER))


@pytest.mark.parametrize(("word", "mode"), [("follow-up", "follow_up"), ("followup", "follow_up"), ("STEER", "steer")])
async def test_a_mode_is_understood_as_people_write_it(tmp_path: Path, word: str, mode: str) -> None:
    """The reference system writes `followup`."""
    async with open_house(tmp_path) as house:
        assert (await house.says(f"/queue {word}")).startswith(f"`{mode}`, until")


async def test_an_unknown_mode_names_those_that_there_are(tmp_path: Path) -> None:
    """And `default` takes a choice back."""
    async with open_house(tmp_path) as house:
        assert "follow_up, collect, steer, interrupt, default" in await house.says("/queue fast")
        await house.says("/queue steer")
        assert (await house.says("/queue default")).startswith("`follow_up`, as the configuration says")


async def test_a_session_may_have_another_model(tmp_path: Path) -> None:
    """The owner chooses one by its name; the chat's next turns ask it, others and `default` the agent's own."""
    async with open_house(tmp_path) as house:
        house.model, large = ScriptedModel("small", "small again", name="small"), ScriptedModel("large", name="large")
        house.others = {"small": house.model, "large": large}
        shown = "`small` answers here, as configured.\n`/model <name>` takes another one: `large`."
        assert await house.says("/model") == shown
        assert (await house.says("/model large")).startswith("`large` answers here, until this conversation ends")
        assert await house.says("hello") == "large"
        assert await house.says("hello", OWNER_IN_GROUP) == "small"
        assert await house.says("/model default") == shown
        assert await house.says("hello") == "small again"


async def test_only_what_is_configured_can_be_chosen(tmp_path: Path) -> None:
    """An unknown name is told the known ones; a model that is gone leaves the session to the agent's own."""
    async with open_house(tmp_path) as house:
        house.model, house.others = ScriptedModel("small", name="small"), {"large": ScriptedModel(name="large")}
        assert await house.says("/model huge") == "no model is called that; there are: large, default"
        await house.says("/model large")
        house.others = {}
        assert await house.says("hello") == "small"


async def test_guests_choose_no_model(tmp_path: Path) -> None:
    """For them there is no such command."""
    async with open_house(tmp_path) as house:
        house.others = {"large": ScriptedModel(name="large")}
        assert "There is no command /model here" in await house.says("/model large", MEMBER)
        assert house.choices.of(house.key(MEMBER)).model is None


async def test_stop_says_what_it_ended(tmp_path: Path) -> None:
    """Nothing, when nothing was under way."""
    async with open_house(tmp_path) as house:
        assert await house.says("/stop") == "Nothing was under way in this chat."
        waiting = [await house.take_in("one"), await house.take_in("two")]
        row = await house.take_in("/stop")
        house.queueing.stop(house.key(OWNER), row.id)
        for each in waiting:
            house.queueing.clear(house.key(OWNER), each)
        await house.answer(row)
        assert await house.answered(row) == "2 waiting messages were let go without an answer."


@pytest.mark.parametrize(
    ("message", "may"),
    [
        (replace(OWNER, text="/stop"), True),
        (replace(OWNER, text=" /STOP please "), True),
        (replace(OWNER_IN_GROUP, text="/stop"), True),
        (replace(GUEST, text="/stop"), True),
        (replace(MEMBER, text="/stop"), False),
        (replace(OWNER, text="stop"), False),
        (replace(OWNER, text="/stopp"), False),
        (replace(OWNER_IN_GROUP, text="/stop@other_bot", is_for_us=False), False),
    ],
)
async def test_who_may_stop(tmp_path: Path, message: InboundMessage, *, may: bool) -> None:
    """The owner anywhere, a guest in their own chat, nobody else in a group; only the command itself counts."""
    async with open_house(tmp_path) as house:
        commands: Commands = house.commands
        access = route(message, replace(ROUTES, policy=OPEN)).access
        assert commands.gives("stop", message, access) == may
