"""What /memory and /why tell, from a real index and real turns."""

from gateway.agent.entries import SummaryEntry, UserEntry
from gateway.stores.rows import TurnId
from gateway.transcripts.read_tail import LEAST_MESSAGES
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import MEMBER, SHARED, House

NOTES = "# 2026-02-28\n\n- 10:00 the staging database moved to port 5433\n"


async def test_memory_finds_what_the_chat_may_see(house: House) -> None:
    """The owner with the source of each passage; a group in its own notes alone."""
    house.put("memory/2026-02-28.md", NOTES)
    house.put(f"{SHARED}/2026-02-28.md", "- 11:00 the staging party is on Friday\n")
    owner = await house.says("/memory staging database")
    assert "`memory/2026-02-28.md#L3-L3`\n> 10:00 the staging database moved to port 5433" in owner
    member = await house.says("/memory staging", MEMBER)
    assert "party" in member
    assert "5433" not in member
    unclear = await house.says("/memory staging zebra", MEMBER)
    assert unclear.startswith("No clear match; the closest:\n`memory/shared/")
    assert await house.says("/memory zebra", MEMBER) == "Nothing found."


async def test_memory_alone_says_what_it_holds(house: House) -> None:
    """Counts, how it searches, whether it is in step: to the owner; nobody else learns how much there is."""
    house.put("memory/2026-02-28.md", NOTES)
    house.put("MEMORY.md", "# Memory\n")
    assert "- not synced since the start: files changed;" in await house.says("/memory")
    await house.memory.sync()
    state = await house.memory.status()
    told = await house.says("/memory")
    assert (state.entries, state.documents) == (1, 2)
    assert told.startswith("1 passage of 2 files can be found.\n- searched by meaning and words\n")
    assert told.endswith("- last sync 0:00:00 ago: up to date with the files")
    house.put("memory/2026-02-27.md", NOTES)
    assert "the next search indexes them" in await house.says("/memory")
    assert await house.says("/memory", MEMBER) == "Add what to look for, such as `/memory the next meeting`."


async def test_a_chat_without_notes_finds_nothing(house: House) -> None:
    """However much there is elsewhere."""
    house.put("memory/2026-02-28.md", NOTES)
    assert await house.says("/memory staging", MEMBER) == "Nothing found."


async def test_why_names_what_an_answer_used(house: House) -> None:
    """With citation, way and scores, of the last answer or an earlier one; commands in between do not count."""
    house.put("memory/2026-02-28.md", NOTES)
    house.model = ScriptedModel(
        says("", call("memory_search", query="staging database")),
        says("", call("memory_get", path="memory/2026-02-28.md", from_line=3, lines=1)),
        "It is 5433.",
        "You are welcome.",
    )
    await house.says("Which port has the staging database?")
    await house.says("thanks")
    await house.says("/whoami")
    assert await house.says("/why") == "You asked:\n> thanks\n\nNo memory was used for the answer."
    told = await house.says("/why 2")
    assert told.startswith("You asked:\n> Which port has the staging database?")
    (found,) = [line for line in told.splitlines() if line.startswith("- `memory/2026-02-28.md#L3-L3`")]
    assert "found by a search; score 0." in found or "brought up unasked; score" in found
    assert "You asked" not in await house.says("/why 3")


async def test_why_tells_what_was_only_read(house: House) -> None:
    """A passage that no search ranked has no scores."""
    house.put("memory/2026-02-28.md", NOTES)
    house.model = ScriptedModel(says("", call("memory_get", path="memory/2026-02-28.md")), "Read.")
    await house.says("read it")
    assert (await house.says("/why")).endswith("- `memory/2026-02-28.md#L1-L3`: read")


async def test_why_takes_a_number_or_nothing(house: House) -> None:
    """Anything else is answered with how to ask; before the first question there is nothing to tell."""
    assert await house.says("/why") == "No questions in this conversation yet."
    for wrong in ("0", "-1", "two", "1 2", "²", "1" * 5000):
        assert "You asked" not in await house.says(f"/why {wrong}")


async def test_why_says_when_a_question_is_too_long_ago(house: House) -> None:
    """What a summary stands for is not at hand; nobody is told that it was never asked."""
    transcript = await house.sessions.open(house.key())
    for number in range(LEAST_MESSAGES + 5):
        await transcript.append(TurnId(f"old-{number}"), UserEntry(f"question {number}", house.clock.now(), "", "1"))
    kept = SummaryEntry("all of it", f"old-{LEAST_MESSAGES + 4}", (), from_outside=False, model="m")
    await transcript.append(TurnId("old"), kept)
    assert (
        await house.says(f"/why {LEAST_MESSAGES}") == "You asked:\n> question 5\n\nNo memory was used for the answer."
    )
    assert "too long ago" in await house.says(f"/why {LEAST_MESSAGES + 1}")


async def test_memory_shows_the_line_that_a_hit_is_understood_with(house: House) -> None:
    """Each on a line of its own, in one quotation below the hit's own place."""
    said, goes_on = "14:20 Owner: the kite was in the cellar", "15:00 Owner: moved it to the car boot"
    house.put("memory/2026-02-28.md", f"- {said}\n- {goes_on}\n")
    assert f"`memory/2026-02-28.md#L1-L1`\n> {said}\n> {goes_on}" in await house.says("/memory kite in the cellar")
