"""`/new`, `/reset`, `/stop`, `/queue` and `/model` as people give them."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import InboundMessage, Sender
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import route
from gateway.agent.entries import ReplyEntry, TurnNoteEntry, UserEntry
from gateway.commands.registry import Commands
from gateway.commands.session import ENDS
from gateway.errors import StoreError
from gateway.inbound.session_settings import Choices
from gateway.inbound.settings import QueueMode
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import (
    MAIN,
    MEMBER,
    OWNER,
    OWNER_IN_GROUP,
    POLICY,
    ROUTES,
    SHARED,
    STRANGER,
    House,
    open_house,
)
from workspaces.access import AgentId

GUEST = STRANGER
OPEN = Policy(
    POLICY.owners,
    {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, {"-100": GroupPolicy()}, frozenset({"telegram:9"}))},
)


@pytest.mark.parametrize("command", ["/new", "/reset"])
async def test_what_was_said_is_kept_and_the_next_message_begins_anew(tmp_path: Path, command: str) -> None:
    """The answer names the files; the model of the next turn knows nothing of the old one; a second time is no harm."""
    async with open_house(tmp_path) as house:
        house.model = model = ScriptedModel("Noted.", "staging port", "Hello.")
        await house.says("The staging database moved to port 5433.")
        told = await house.says(command)
        notes = [name for name in house.files() if name.startswith("memory/")]
        assert len(notes) == 2
        assert all(f"`{name}`" in told and "port 5433" in house.text(name) for name in notes)
        assert any(name.endswith("-staging-port.md") for name in notes)
        house.clock.advance(1)
        assert "nothing to note" in await house.says(command)
        await house.says("hello")
        assert [entry.text for entry in model.requests[-1].entries if isinstance(entry, UserEntry)] == ["hello"]
        assert len(list((tmp_path / "sessions" / "archive").iterdir())) == 2


async def test_in_a_group_it_ends_the_groups_conversation_only(tmp_path: Path) -> None:
    """And its notes stay with the group."""
    async with open_house(tmp_path) as house:
        house.model = ScriptedModel("One.", "Two.", "two words")
        await house.says("mine alone", OWNER)
        await house.says("ours", MEMBER)
        told = await house.says("/new", OWNER_IN_GROUP)
        assert all(name.startswith(f"`{SHARED}/") for name in told.split() if "memory" in name)
        assert not any("mine alone" in text for text in house.files().values())
        left = [type(each) for each in (await house.sessions.open(house.key(OWNER))).entries]
        assert left == [UserEntry, TurnNoteEntry, ReplyEntry]


async def has_ended(house: House, said: InboundMessage, order: str = "/new") -> bool:
    """Say whether *order* by the sender of *said* ends the conversation there; if not, nothing may have changed."""
    house.model = model = ScriptedModel(*["Fine."] * 9)
    await house.says("ours", said)
    before, asked = house.files(), len(model.requests)
    told = await house.says(order, said)
    if told.startswith("A new conversation begins"):
        return True
    assert told.startswith(
        f"{order} is not for you here: only my owner, and people named by them, can end this conversation"
    )
    assert (house.files(), len(model.requests)) == (before, asked)
    return False


def let_end(house: House, may_end: frozenset[str] | None) -> None:
    """Have the group's setting say who may end its conversation."""
    group = AccountPolicy(DirectPolicy.PAIRING, {"-100": GroupPolicy(may_end=may_end)}, frozenset({"telegram:9"}))
    house.policy = Policy(POLICY.owners, {("telegram", "home"): group})


@pytest.mark.parametrize("order", ["/new", "/reset"])
async def test_a_member_ends_a_groups_conversation_only_if_its_setting_says_so(tmp_path: Path, order: str) -> None:
    """The owner always may; one who may not is told so in a line, no model is asked, and nothing is written."""
    other = replace(MEMBER, sender=Sender("12", "Tom"))
    nobody = replace(MEMBER, sender=Sender("", "Owner"))
    async with open_house(tmp_path) as house:
        everybody = (MEMBER, other, nobody, OWNER_IN_GROUP)
        assert [await has_ended(house, each, order) for each in everybody] == [False, False, False, True]
        let_end(house, frozenset({"telegram:8"}))
        assert [await has_ended(house, each, order) for each in everybody] == [True, False, False, True]
        let_end(house, None)
        assert [await has_ended(house, each, order) for each in everybody] == [True, True, False, True]


async def test_others_than_the_owner_end_a_conversation_so_often_and_no_oftener(tmp_path: Path) -> None:
    """Twelve times in a row cost the model calls of three, in a group and in a guest's chat; later it works again."""
    guest = replace(OWNER, address=replace(OWNER.address, chat="9"), sender=Sender("9", "Gus"))
    async with open_house(tmp_path) as house:
        let_end(house, None)
        for said in (MEMBER, guest):
            house.model = model = ScriptedModel(*["Fine."] * 99)
            told = []
            for number in range(12):
                await house.says(f"ours {number}", said)
                told.append(await house.says("/new", said))
            assert [text.startswith("A new conversation begins") for text in told] == [True] * ENDS + [False] * 9
            assert set(told[ENDS:]) == {
                "This conversation was ended too often recently, so it continues as before. Please wait twenty minutes."
            }
            assert len(model.requests) - 12 <= 2 * ENDS
        house.clock.advance(20 * 60)
        assert (await house.says("/new", MEMBER)).startswith("A new conversation begins")
        for _ in range(ENDS * 2):
            assert (await house.says("/new", OWNER_IN_GROUP)).startswith("A new conversation begins")


async def test_an_end_that_a_crash_cut_short_is_finished(tmp_path: Path) -> None:
    """The turn is tried again: one note, one section, one end, and the answer says that there is nothing left to do."""
    async with open_house(tmp_path) as house:
        house.model = ScriptedModel("Noted.", "staging port")
        await house.says("The staging database moved to port 5433.")
        row = await house.take_in("/new", OWNER)
        commit = house.store.commit_turn
        failed: list[object] = []

        async def cut(turn: object) -> object:
            if not failed:
                failed.append(turn)
                raise StoreError("pulled")
            return await commit(turn)  # type: ignore[arg-type]

        house.store.commit_turn = cut  # type: ignore[method-assign,assignment]
        await house.answer(row)
        house.restart()
        await house.answer(row)
        assert "A new conversation begins" in await house.answered(row)
        texts = [text for name, text in house.files().items() if name.startswith("memory/")]
        assert sorted(text.count("5433") for text in texts) == [1, 1]


async def test_a_mode_holds_for_its_session_until_that_ends(tmp_path: Path) -> None:
    """`/queue` shows it, sets it for this chat alone, keeps it across a restart, and `/new` undoes it."""
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


async def unexpected(agent: AgentId) -> None:
    """Fail: no settings are damaged here."""
    raise AssertionError(agent)


async def restarted(house: House) -> QueueMode | None:
    """Return what a gateway that starts now knows of the owner's session."""
    later = Choices(house.store)
    await later.load([MAIN], unexpected)
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
        shown = "`small` answers here, as configured.\n`/model <name>` switches to another one: `large`."
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
        assert await house.says("/model huge") == "there is no such model; the models are: large, default"
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
        assert await house.says("/stop") == "Nothing was running in this chat."
        waiting = [await house.take_in("one"), await house.take_in("two")]
        row = await house.take_in("/stop")
        house.queueing.stop(house.key(OWNER), row.id)
        for each in waiting:
            house.queueing.clear(house.key(OWNER), each)
        await house.answer(row)
        assert await house.answered(row) == "2 waiting messages were discarded without an answer."


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
