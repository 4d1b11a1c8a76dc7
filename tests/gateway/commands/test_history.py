"""`/history`: the values of a thing over time."""

from dataclasses import replace
from datetime import UTC, date
from pathlib import Path

from adapters.channel import Quote
from gateway.transcripts.memory_source import TranscriptNotes
from tests.fakes.memory import HandlerWorker, WordsEmbedder, run_here
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MAIN, MEMBER, OWNER, SHARED, open_house
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock


async def test_the_values_of_a_thing_stand_in_their_order(tmp_path: Path) -> None:
    """Each with its day and its place; what held until when is marked, and other things are left out."""
    async with open_house(tmp_path) as house:
        house.put(
            "memory/2026-02-01.md", "# 2026-02-01\n\n- 10:00 The staging port is 5431\n- 11:00 The boat is green\n"
        )
        house.put("memory/2026-02-20.md", "# 2026-02-20\n\n- 10:00 The staging port is 5432 now\n")
        told = (await house.says("/history staging port")).splitlines()
        assert told == [
            (
                "- 2026-02-01: The staging port is 5431 (`memory/2026-02-01.md#L3-L3`) "
                "(until 2026-02-20, now memory/2026-02-20.md#L3-L3)"
            ),
            "- 2026-02-20: The staging port is 5432 now (`memory/2026-02-20.md#L3-L3`) (now, since 2026-02-20)",
        ]
        then = await house.says("/history 2026-02-10 staging port")
        assert "5431" in then
        assert "5432" not in then
        assert await house.says("/history purple elephant") == "Nothing was said about that."
        assert "Add a thing" in await house.says("/history")


async def test_a_forward_is_not_shown_as_the_owners_words(tmp_path: Path) -> None:
    """It says that somebody else's words were passed on; the owner's own line does not."""
    async with open_house(tmp_path) as house:
        clock = MemoryClock(lambda: 0.0, lambda: date(2026, 3, 1))
        said, worker = TranscriptNotes(MAIN, house.folder / "sessions", UTC), HandlerWorker(WordsEmbedder())
        house.memory = MemoryIndex(MAIN, tmp_path / "index", [said], worker, run_here, clock)
        house.model = ScriptedModel("Fine.", "Noted.")
        await house.says("look at this", replace(OWNER, quote=Quote("Eve", "The marina code is 4711.")))
        await house.says("The marina code is 4712.")
        told = await house.says("/history marina code")
        assert "The marina code is 4711. (`sessions/main.jsonl#L2-L2`) (somebody else's words, passed on)" in told
        assert "The marina code is 4712. (`sessions/main.jsonl#L5-L5`)" in told
        assert told.count("passed on") == 1


async def test_a_number_alone_is_not_the_thing(tmp_path: Path) -> None:
    """The words of what is asked for count; any line may hold the number."""
    async with open_house(tmp_path) as house:
        house.put(
            "memory/2026-02-01.md", "# 2026-02-01\n\n- 10:00 Disc 3 has a drag of 1.17\n- 11:00 Ann moved on 3 March\n"
        )
        told = await house.says("/history disc 3")
        assert "1.17" in told
        assert "Ann" not in told


async def test_a_group_reads_its_own_history(tmp_path: Path) -> None:
    """Private notes are not part of it."""
    async with open_house(tmp_path) as house:
        house.put("memory/2026-02-01.md", "# 2026-02-01\n\n- 10:00 The vault code is 4711\n")
        house.put(f"{SHARED}/2026-02-02.md", "# 2026-02-02\n\n- 10:00 The vault code is with Sam\n")
        told = await house.says("/history vault code", MEMBER)
        assert "with Sam" in told
        assert "4711" not in told


async def test_an_answer_that_quotes_a_note_was_not_said_then(tmp_path: Path) -> None:
    """Only people's words and notes count: neither an agent's lines in notes nor those of an imported talk."""
    async with open_house(tmp_path) as house:
        house.put("memory/2026-02-01.md", "# 2026-02-01\n\n- 10:00 The vault code is 4711\n")
        house.put(
            "memory/2026-02-09.md",
            "# 2026-02-09\n\n- 10:00 Conversation until 10:00\n"
            "  - main answered (10:00): According to your notes the vault code is 4711\n"
            "  - Assistant (10:01): As you said, the vault code is 4711\n",
        )
        assert (
            await house.says("/history vault code")
            == "- 2026-02-01: The vault code is 4711 (`memory/2026-02-01.md#L3-L3`)"
        )
        then = await house.says("/history 2026-02-10 vault code")
        assert "2026-02-01: The vault code is 4711" in then
        assert "2026-02-09" not in then
