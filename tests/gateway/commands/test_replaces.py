"""A note that repeats one is not written; one that may replace another asks, and nothing is ever removed."""

from pathlib import Path

from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import OWNER_IN_GROUP, open_house
from workspaces.memory.query import Query


async def test_a_new_value_is_noted_and_the_old_line_says_until_when_it_held(tmp_path: Path) -> None:
    """By a press, after a restart too; it then ranks below the new one, and Undo takes the mark away again."""
    async with open_house(tmp_path) as house:
        await house.says("/remember The staging port is 5432")
        told = await house.says("/remember The staging port is 5433 now")
        assert "It may replace `MEMORY.md#L" in told
        buttons = await house.buttons(told)
        assert [*buttons] == ["Replaces it", "Both hold", "Later", "Undo"]
        before = house.text("MEMORY.md")
        assert (await house.says(buttons["Both hold"])).startswith("Both stay as they are")
        assert house.text("MEMORY.md") == before
        house.restart()
        done = await house.says(buttons["Replaces it"])
        line = "- The staging port is 5432 (until 2026-03-01, now MEMORY.md#L"
        assert line in house.text("MEMORY.md")
        assert "- The staging port is 5433 now\n" in house.text("MEMORY.md")
        assert "no older note" in await house.says(buttons["Replaces it"])
        assert house.text("MEMORY.md").count("(until") == 1

        house.memory.touched()
        hits = (await house.memory.search(Query("staging port"), house.access())).hits
        assert [hit.snippet[:27] for hit in hits[:2]] == ["The staging port is 5433 no", "The staging port is 5432 (u"]
        assert hits[1].mark.startswith("until 2026-03-01, now MEMORY.md#L")
        await house.says((await house.buttons(done))["Undo"])
        assert house.text("MEMORY.md") == before


async def test_a_repetition_is_not_written_twice(tmp_path: Path) -> None:
    """By the command and by the model's tool, whatever its spelling; where it stands is said."""
    async with open_house(tmp_path) as house:
        await house.says("/remember The spare key is with Ann.")
        before = house.text("MEMORY.md")
        assert (await house.says("/remember the spare key is  with Ann.")).startswith("Already in `MEMORY.md#L")
        save = call("save_memory", text="The spare key is with Ann.", category="notes")
        house.model = ScriptedModel(says("", save), "Known.")
        await house.says("keep that the spare key is with Ann")
        assert house.text("MEMORY.md") == before


async def test_the_model_that_saves_a_new_value_asks_below_its_answer(tmp_path: Path) -> None:
    """A line that changed meanwhile is not touched; in a group nobody decides about private notes."""
    async with open_house(tmp_path) as house:
        await house.says("/remember Ann lives in Berlin.")
        save = call("save_memory", text="Ann moved to Hamburg.", category="notes")
        house.model = ScriptedModel(says("", save), "I noted her new town.")
        await house.says("Ann moved to Hamburg, by the way")
        pressed = (await house.buttons("I noted"))["Replaces it"]
        assert "works only in your own chat" in await house.says(pressed, OWNER_IN_GROUP)
        house.put("MEMORY.md", house.text("MEMORY.md").replace("Ann lives in Berlin.", "Ann likes Berlin."))
        assert "no older note" in await house.says(pressed)
        assert "(until" not in house.text("MEMORY.md")
