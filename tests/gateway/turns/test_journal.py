"""The journal of one turn, in a transcript on disk and in memory alone."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.agent.entries import (
    HALTED,
    UNFINISHED,
    Entry,
    ReplyEntry,
    ToolCall,
    Usage,
    UsedEntry,
    UserEntry,
)
from gateway.runtime.threads import Threads
from gateway.stores.rows import InboxId, TurnId
from gateway.transcripts.writer import Transcript
from gateway.turns.journal import TransientJournal, TurnJournal

AT = datetime(2026, 11, 28, 9, tzinfo=UTC)
FIRST, SECOND = TurnId("first"), TurnId("second")
ASKED = UserEntry("one", AT, "", "1")
JOINED = UserEntry("and two", AT, "", "2", joins=True)
ANSWER = ReplyEntry("Both.", (), "scripted", Usage())


@pytest.fixture
async def transcript(tmp_path: Path) -> AsyncIterator[Transcript]:
    threads = Threads("test")
    yield await Transcript.open(tmp_path / "main.jsonl", threads)
    threads.close()


@pytest.mark.parametrize("kind", [TurnJournal, TransientJournal])
async def test_a_journal_holds_the_entries_of_its_own_turn(transcript: Transcript, kind: type[TurnJournal]) -> None:
    """Marks about the transcript are none of them, and neither are other turns."""
    await TurnJournal(transcript, FIRST).append(UserEntry("before", AT, "", "0"), ANSWER)
    journal = kind(transcript, SECOND)
    assert (journal.entries, journal.message_ids) == ([], [])
    await journal.append(ASKED, JOINED, UsedEntry(()), ANSWER)
    assert journal.entries == [ASKED, JOINED, ANSWER]
    assert journal.message_ids == ["1", "2"]
    assert journal.joined == [InboxId(2)]


async def test_a_turn_is_journaled_in_the_transcript_with_its_marks(transcript: Transcript) -> None:
    """A second attempt finds all of it."""
    await TurnJournal(transcript, FIRST).append(ASKED, UsedEntry(()))
    again = TurnJournal(transcript, FIRST)
    assert [each.entry for each in again.records] == [ASKED, UsedEntry(())]
    assert again.entries == [ASKED]


async def test_a_transient_journal_leaves_the_transcript_alone(transcript: Transcript, tmp_path: Path) -> None:
    """The turn that waits stays the last one, and nothing of the command reaches the disk."""
    await TurnJournal(transcript, FIRST).append(ASKED)
    stored = (tmp_path / "main.jsonl").read_bytes()
    journal = TransientJournal(transcript, SECOND)
    await journal.append(UserEntry("/status", AT, "", "2"), ANSWER)
    assert (tmp_path / "main.jsonl").read_bytes() == stored
    assert [each.turn_id for each in transcript.records] == [FIRST]
    assert journal.records == []
    assert TransientJournal(transcript, SECOND).entries == []


@pytest.mark.parametrize(
    ("model", "has_failed", "is_halted"),
    [("scripted", False, False), (UNFINISHED, True, False), (HALTED, False, True)],
)
async def test_a_turn_ends_with_an_answer_a_failure_or_a_halt(
    transcript: Transcript, model: str, *, has_failed: bool, is_halted: bool
) -> None:
    """The model's name of its last reply tells which."""
    journal = TurnJournal(transcript, FIRST)
    await journal.append(ASKED, ReplyEntry("end", (), model, Usage()))
    assert (journal.has_failed, journal.is_halted) == (has_failed, is_halted)


CALLS = ReplyEntry("", (ToolCall("c1", "list_files", "{}"),), "scripted", Usage())


@pytest.mark.parametrize(
    ("turn", "later", "expected"),
    [
        ([ASKED, ANSWER], [UserEntry("next", AT, "", "3")], True),
        ([ASKED, ANSWER], [], False),
        ([ASKED, CALLS], [UserEntry("next", AT, "", "3")], False),
        ([ASKED], [UserEntry("next", AT, "", "3")], False),
        ([], [UserEntry("next", AT, "", "3")], False),
    ],
    ids=["answered", "may not be committed", "its calls are open", "no reply", "never began"],
)
async def test_a_turn_was_answered_if_a_later_one_began(
    transcript: Transcript, turn: list[Entry], later: list[Entry], *, expected: bool
) -> None:
    """A session answers one message after the other, so the store has lost the commit of such a turn."""
    for turn_id, entries in ((FIRST, turn), (SECOND, later)):
        if entries:
            await TurnJournal(transcript, turn_id).append(*entries)
    assert TurnJournal(transcript, FIRST).was_answered() is expected
