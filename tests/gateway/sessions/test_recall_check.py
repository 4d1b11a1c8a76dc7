"""What a conversation stated is searched for when it ends: the receipt counts it, and what is missed is noted."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import chain, count, repeat
from pathlib import Path

from msgspec import structs

from gateway.admission.routing import SessionKey
from gateway.agent.entries import RecallEntry
from gateway.sessions.due import Ending, Pause
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.sessions.recall_check import MOST_FACTS, MOST_OF_A_MESSAGE, RecallCheck
from gateway.sessions.session import Session
from gateway.transcripts.records import records_after
from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder
from tests.gateway.sessions.resting import BERLIN, GROUP, KEY, MAIN, Resting, resting
from workspaces.memory.search import MemoryIndex
from workspaces.memory.workspace_source import WorkspaceNotes

PATIENCE_S = 60.0
"""Longer than a search takes beside other tests."""
SETTINGS = LifecycleSettings(zone=BERLIN)
TALK = (
    ("The boiler has the serial number BX-7741-Q.", "Good to know."),
    ("Did the old boiler have the number AB-1111?", "I do not know."),
    ("ok thanks", "You are welcome."),
    ("The ferry with Mira leaves at 19:30 on Friday.", "I see."),
)
FACTS = 4


@asynccontextmanager
async def remembering(root: Path) -> AsyncIterator[Resting]:
    """Open sessions whose agent's notes are indexed."""
    worker = HandlerWorker(WordsEmbedder())
    async with resting(root, SETTINGS) as house:
        agent = house.agents[MAIN]
        sources = [WorkspaceNotes(agent.workspace.folder)]
        index = MemoryIndex(MAIN, root / "own-index", sources, worker, house.threads, SetClock().clock())
        house.agents[MAIN] = structs.replace(agent, memory=index)
        yield house
        worker.handler.close()


async def checked(
    house: Resting, key: SessionKey = KEY, why: Ending | Pause = Ending.NEW, clock: Callable[[], float] = lambda: 0.0
) -> tuple[RecallEntry | None, list[str]]:
    """Check a session; return its latest receipt and the files that the check wrote."""
    house.agents[MAIN].memory.touched()
    transcript = await house.sessions.open(key)
    written = await RecallCheck(BERLIN, clock, PATIENCE_S)(Session(key, house.agents[MAIN], transcript), why)
    receipt = transcript.records.latest(RecallEntry)
    return (receipt.entry if receipt and isinstance(receipt.entry, RecallEntry) else None), list(map(str, written))


async def test_what_is_in_the_notes_is_counted(tmp_path: Path) -> None:
    """After the day's notes each fact comes back; questions, small talk and answers without identifiers state none."""
    async with remembering(tmp_path) as house:
        await house.talk(KEY, *TALK)
        await house.lifecycle.pause_session(KEY, Pause.REST)
        before = house.file("memory/2026-03-01.md")
        receipt, written = await checked(house)
        assert receipt == RecallEntry(FACTS, FACTS, (), 0, 0)
        assert str(receipt) == "4 of 4 facts findable"
        assert written == []
        assert house.file("memory/2026-03-01.md") == before
        assert (await checked(house))[0] == receipt
        assert len([r for r in (await house.sessions.open(KEY)).records if isinstance(r.entry, RecallEntry)]) == 1


async def test_what_does_not_come_back_is_noted_word_for_word(tmp_path: Path) -> None:
    """Without any notes each sentence is written once, and found by the second search."""
    async with remembering(tmp_path) as house:
        await house.talk(KEY, *TALK)
        receipt, written = await checked(house)
        assert receipt == RecallEntry(FACTS, FACTS, ("memory/2026-03-01.md#L3", "memory/2026-03-01.md#L4"), 0, 0)
        assert str(receipt) == "4 of 4 facts findable, 2 of them noted word for word"
        assert written == ["memory/2026-03-01.md"]
        assert house.file("memory/2026-03-01.md").splitlines()[2:] == [
            "- 14:05 Owner: The boiler has the serial number BX-7741-Q.",
            "- 14:05 Owner: The ferry with Mira leaves at 19:30 on Friday.",
        ]


async def test_a_groups_facts_are_looked_for_in_its_own_notes(tmp_path: Path) -> None:
    """The owner's private notes hold them too, which neither counts nor shows."""
    async with remembering(tmp_path) as house:
        await house.talk(KEY, *TALK)
        await house.lifecycle.pause_session(KEY, Pause.REST)
        await house.talk(GROUP, *TALK)
        receipt, [path] = await checked(house, GROUP)
        assert receipt is not None
        assert len(receipt.noted) == 2
        assert path.startswith("memory/shared/")
        assert "Sam: The boiler has the serial number BX-7741-Q." in house.file(path)


async def test_only_a_pause_with_notes_is_checked(tmp_path: Path) -> None:
    """A message waits at a change of the day, a stop has no time, and a talk without facts has no receipt."""
    async with remembering(tmp_path) as house:
        await house.talk(KEY, ("How are you?", "Fine."), ("ok", "Sure."))
        assert await checked(house) == (None, [])
        await house.talk(KEY, *TALK, turn=10)
        for why in (Pause.DAY, Pause.SHUTDOWN):
            assert await checked(house, why=why) == (None, [])
        assert (await checked(house, why=Pause.REST))[0] is not None


async def test_a_pasted_list_takes_no_time_from_the_rest_of_a_conversation(tmp_path: Path) -> None:
    """Of one message its first facts are looked for; the others are counted."""
    pasted = "\n".join(f"The code of door {n} is XQ-{n}77." for n in range(1000, 1000 + MOST_FACTS))
    async with remembering(tmp_path) as house:
        await house.talk(KEY, *TALK, (pasted, "A long list."))
        await house.lifecycle.pause_session(KEY, Pause.REST)
        receipt, _ = await checked(house)
        assert receipt is not None
        assert receipt.asked == receipt.found == FACTS + MOST_OF_A_MESSAGE
        assert receipt.unasked == 2 * MOST_FACTS - MOST_OF_A_MESSAGE


async def test_a_fact_that_nobody_looked_for_again_is_not_findable(tmp_path: Path) -> None:
    """It was noted when the time was over."""
    async with remembering(tmp_path) as house:
        await house.talk(KEY, *TALK)
        ticks = chain([0.0] * (1 + FACTS), repeat(PATIENCE_S))
        receipt, _ = await checked(house, clock=lambda: next(ticks))
        assert str(receipt) == "0 of 4 facts findable, 2 of them noted word for word"


async def test_a_check_ends_in_time(tmp_path: Path) -> None:
    """Nobody waits longer than the patience: what was not looked for is counted."""
    async with remembering(tmp_path) as house:
        await house.talk(
            KEY, *((f"The code of door {n} is XQ-{n}77.", "I see.") for n in range(1000, 1000 + MOST_FACTS))
        )
        await house.lifecycle.pause_session(KEY, Pause.REST)
        ticks = count(step=PATIENCE_S / 6)
        receipt, _ = await checked(house, clock=lambda: float(next(ticks)))
        assert receipt is not None
        assert receipt.asked + receipt.unasked == 2 * MOST_FACTS
        assert 0 < receipt.asked < 10
        assert str(receipt).endswith(f"; {receipt.unasked} more were not looked for")
        assert records_after((await house.sessions.open(KEY)).records, RecallEntry) == []
