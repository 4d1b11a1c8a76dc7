"""`/checkup`: one proposal after the other, by buttons."""

from pathlib import Path

from tests.gateway.commands.house import MEMBER, OWNER_IN_GROUP, open_house

CAT, AGAIN = "- The cat is called Miso.\n", "- the cat is called Miso\n"
NOTES = f"# Memory\n\n## Notes\n\n{CAT}- The port is 5432.\n- The port is 5433 now.\n{AGAIN}"


async def test_proposals_are_decided_by_buttons(tmp_path: Path) -> None:
    """Each with its difference; Undo takes the last change back, and nobody acts without a press."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        shown = await house.says("/checkup")
        assert house.text("MEMORY.md") == NOTES
        assert "2 of them should change: 1 double, 1 outdated" in shown
        assert "-- the cat is called Miso" in shown
        buttons = await house.buttons(shown)
        assert [*buttons] == ["Accept", "Refuse", "Next"]
        assert "outdated" in await house.says(buttons["Next"])
        done = await house.says(buttons["Accept"])
        assert done.startswith("Corrected in `MEMORY.md#L8`.")
        assert house.text("MEMORY.md") == NOTES.replace("- the cat is called Miso\n", "")
        assert "was accepted already" in await house.says(buttons["Accept"])
        after = await house.buttons(done)
        assert [*after] == ["Accept", "Refuse", "Next", "Undo"]
        assert (await house.says(after["Undo"])).startswith("Restored in `MEMORY.md`")
        assert house.text("MEMORY.md") == NOTES
        assert "stays as it is" in await house.says(after["Refuse"])
        assert "No proposals wait." in await house.says("/checkup next")


async def test_the_owners_words_take_the_place_of_a_note(tmp_path: Path) -> None:
    """And a decision is undone by its mark; without words or a mark nothing happens."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        mark = (await house.buttons(await house.says("/checkup")))["Accept"].rpartition(" ")[2]
        assert "Add the note in your own words" in await house.says(f"/checkup edit {mark}")
        assert "Use `/checkup`" in await house.says("/checkup accept")
        assert "There is no proposal 00000000" in await house.says("/checkup refuse 00000000")
        await house.says(f"/checkup edit {mark} The cat Miso eats fish.")
        assert house.text("MEMORY.md") == NOTES.replace("the cat is called Miso", "The cat Miso eats fish.")
        assert "Undone: `MEMORY.md#L8`" in await house.says(f"/checkup undo {mark}")
        assert house.text("MEMORY.md") == NOTES


async def test_a_note_named_after_an_end_of_the_calendar_stops_no_check(tmp_path: Path) -> None:
    """It has no day: there is none before, or after."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", f"{NOTES}- the gate code is 5518\n")
        said = "- 10:00 tomorrow we fly, yesterday we sailed\n- gate people have been, its 2047 now since next week\n"
        for day in ("0001-01-01", "9999-12-31"):
            house.put(f"memory/{day}.md", said)
        assert (await house.says("/checkup")).startswith("9 notes checked")


async def test_a_group_learns_nothing_of_it(tmp_path: Path) -> None:
    """The owner there is told where it works; to others there is no such command."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        assert "only in your own chat" in await house.says("/checkup", OWNER_IN_GROUP)
        assert "There is no command /checkup" in await house.says("/checkup", MEMBER)


async def test_a_note_that_is_not_shown_whole_says_so(tmp_path: Path) -> None:
    """Who accepts it knows that there is more."""
    async with open_house(tmp_path) as house:
        tricks = "".join(f"\n  It knows trick {number}." for number in range(100))
        house.put("MEMORY.md", f"# Memory\n\n## Notes\n\n{CAT.rstrip()}{tricks}\n{AGAIN.rstrip()}{tricks}\n")
        shown = await house.says("/checkup")
        assert "more characters; strandline memory checkup prints them" in shown
        assert "trick 99" not in shown
