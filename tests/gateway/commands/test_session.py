"""`/new` and `/reset` as people give them."""

from pathlib import Path

import pytest

from gateway.agent.entries import UserEntry
from gateway.errors import StoreError
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MEMBER, OWNER, SHARED, open_house


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
        told = await house.says("/new", MEMBER)
        assert all(name.startswith(f"`{SHARED}/") for name in told.split() if "memory" in name)
        assert not any("mine alone" in text for text in house.files().values())
        assert len((await house.sessions.open(house.key(OWNER))).entries) == 2


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
