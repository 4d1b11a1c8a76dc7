"""A memory leads back to the message that it came from, for its owner alone."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.agent.models.offline import OfflineModel
from gateway.runtime.threads import Threads
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.provenance import NoteChange, origin_of, passage_of
from gateway.transcripts.store import Sessions
from tests.fakes.memory import HandlerWorker, SetClock, run_here
from tests.fakes.recording import history_writer_of
from tests.workspaces import turns
from tests.workspaces.history.home import START, Home
from tests.workspaces.turns import AGENT, GROUP, GUEST, HEARTBEAT, MAIN
from workspaces.access import Access, AgentId, SessionType
from workspaces.citations import CitedLines
from workspaces.errors import NoSuchFileError, WorkspaceError
from workspaces.history import Origin
from workspaces.memory.search import MemoryIndex

SAID = UserEntry("tea is at four", START, "", "17")
TURN = TurnId("turn-17")


class House:
    """An agent whose note came from a message."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.history = self.home.open()
        self.run = Threads("test")
        self.sessions = Sessions({AGENT: root / "sessions"}, self.run)
        index = MemoryIndex(AGENT, root / "index", [], HandlerWorker(None), run_here, SetClock().clock())
        history_writer = history_writer_of(self.home.workspace, root, self.run, self.home.clock, self._counted)
        self.agent = Agent(AGENT, self.home.workspace, index, OfflineModel(), self.run, history_writer)

    async def hears(self, name: str = "main") -> Path:
        key = SessionKey(AGENT, name)
        transcript = await self.sessions.open(key)
        await transcript.append(TurnId("turn-1"), UserEntry(f"not {TURN}", START, "", "1"))
        await transcript.append(TURN, SAID, ReplyEntry("noted", (), "m", Usage()))
        return self.sessions.path(key)

    def notes(self, text: str, session: str = f"{AGENT}/main") -> None:
        self.history.record([self.home.put("MEMORY.md", text)], None, Origin(session, "17", TURN))

    async def said(self, citation: str = "MEMORY.md#L1", access: Access = MAIN) -> list[str | None]:
        """Return what was said before each change that wrote the passage."""
        found = await origin_of(self.agent, self.sessions, citation, access)
        return [_text(step.said) for step in found.steps if isinstance(step, NoteChange)]

    async def _counted(self, _: str) -> None:
        raise AssertionError("nothing is counted here")


def _text(record: Record | None) -> str | None:
    return record.entry.text if record and isinstance(record.entry, UserEntry) else None


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.run.close()


async def test_a_note_leads_to_the_commit_and_the_message(house: House) -> None:
    """The line, the change that wrote it, and the message of its turn: not another that only names the turn."""
    await house.hears()
    house.notes("- tea at four\n")
    found = await origin_of(house.agent, house.sessions, "MEMORY.md#L1-L1", MAIN)
    (step,) = found.steps
    assert isinstance(step, NoteChange)
    assert (found.citation, found.text, step.commit.subject) == (
        "MEMORY.md#L1-L1",
        "- tea at four",
        "memory: update MEMORY.md",
    )
    assert step.said is not None
    assert step.said.entry == SAID


async def test_a_message_is_found_where_its_transcript_was_put_away(house: House) -> None:
    """An ended conversation lies in a folder of its own; when it is gone, the change is still told."""
    file = await house.hears()
    house.notes("- tea at four\n")
    archive = file.parent / "archive"
    archive.mkdir()
    file.rename(archive / "main-20260301.jsonl")
    assert await house.said() == ["tea is at four"]
    (archive / "main-20260301.jsonl").unlink()
    assert await house.said() == [None]


async def test_what_nobody_said_has_no_message(house: House) -> None:
    """An editor's change, a command's, another agent's session: the commit is all that there is."""
    await house.hears()
    house.history.record([house.home.put("MEMORY.md", "- mine\n")], None, None)
    assert await house.said() == [None]
    for session in ("command line", "other/main", f"{AGENT}/", f"{AGENT}/../x"):
        house.notes(f"- {session}\n", session)
        assert await house.said() == [None]


async def test_a_line_that_is_not_recorded_yet_has_no_steps(house: House) -> None:
    """The passage is shown all the same."""
    house.home.put("MEMORY.md", "- new\n")
    found = await origin_of(house.agent, house.sessions, "MEMORY.md#L1", MAIN)
    assert (found.text, found.steps) == ("- new", ())


async def test_a_conversation_is_its_own_source(house: House) -> None:
    """Its lines are the messages themselves, with who said them."""
    await house.hears()
    found = await origin_of(house.agent, house.sessions, "sessions/main.jsonl#L3-L4", MAIN)
    assert [step.entry for step in found.steps if isinstance(step, Record)] == [
        SAID,
        ReplyEntry("noted", (), "m", Usage()),
    ]
    assert found.text == "tea is at four\nnoted"
    for absent in ("sessions/none.jsonl#L1", "sessions/../index/x#L1", "sessions/archive/main.jsonl#L1"):
        with pytest.raises(WorkspaceError):
            await origin_of(house.agent, house.sessions, absent, MAIN)


@pytest.mark.parametrize("access", [GROUP, GUEST, turns.SUBAGENT, turns.CRON])
async def test_nobody_but_the_owner_learns_it(house: House, access: Access) -> None:
    """Not of private notes, not of those shared in the chat, not of conversations; absent and refused are alike."""
    await house.hears()
    house.notes("- tea at four\n")
    house.history.record([house.home.put(f"{turns.OWN}/2026-03-01.md", "- tea\n")], None, None)
    for path in ("MEMORY.md", f"{turns.OWN}/2026-03-01.md", "sessions/main.jsonl", "NOTHING.md"):
        with pytest.raises(
            NoSuchFileError, match=f"{path}: there is no such file, or this conversation may not read it"
        ):
            await house.said(f"{path}#L1", access)


async def test_another_agents_owner_learns_nothing_here(house: House) -> None:
    """Access is for one agent; a heartbeat of this one sees what main sees."""
    await house.hears()
    house.notes("- tea at four\n")
    other = Access(AgentId("other"), SessionType.MAIN, MAIN.scope, "telegram:1", 0, frozenset())
    with pytest.raises(NoSuchFileError):
        await house.said(access=other)
    assert await house.said(access=HEARTBEAT) == ["tea is at four"]


async def test_a_citation_of_an_earlier_day_is_of_the_file_as_it_was(house: House) -> None:
    """The day stands behind an at sign."""
    await house.hears()
    house.notes("- tea at four\n")
    house.home.clock.now = datetime(2026, 3, 5, tzinfo=UTC)
    house.history.record([house.home.put("MEMORY.md", "- coffee\n")], None, None)
    assert await house.said("MEMORY.md#L1@2026-03-01") == ["tea is at four"]
    assert await house.said("MEMORY.md#L1") == [None]


def test_a_citation_is_read_in_all_its_forms() -> None:
    """One line, several, of an earlier day."""
    assert passage_of("MEMORY.md#L3") == CitedLines("MEMORY.md", range(3, 4))
    assert passage_of(" memory/a#b.md#L3-L5 ") == CitedLines("memory/a#b.md", range(3, 6))
    assert passage_of("MEMORY.md#L3-L3@2026-03-01") == CitedLines("MEMORY.md", range(3, 4), date(2026, 3, 1))
