"""`/new` and `/reset` as people give them."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import InboundMessage, Sender
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.agent.entries import UserEntry
from gateway.commands.session import ENDS
from gateway.errors import StoreError
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MEMBER, OWNER, OWNER_IN_GROUP, POLICY, SHARED, House, open_house


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
        assert len((await house.sessions.open(house.key(OWNER))).entries) == 2


async def has_ended(house: House, said: InboundMessage, order: str = "/new") -> bool:
    """Say whether *order* by the sender of *said* ends the conversation there; if not, nothing may have changed."""
    house.model = model = ScriptedModel(*["Fine."] * 9)
    await house.says("ours", said)
    before, asked = house.files(), len(model.requests)
    told = await house.says(order, said)
    if told.startswith("A new conversation begins"):
        return True
    assert told.startswith(f"{order} is not for you here: only my owner ends this conversation")
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
                "This conversation was ended too often lately, so it goes on as it was. Please wait twenty minutes."
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
