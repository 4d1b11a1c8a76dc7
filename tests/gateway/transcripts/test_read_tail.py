"""What a turn reads of a long conversation: its end, and nothing that it would do without."""

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from gateway.agent.entries import (
    COMMAND,
    CallStartEntry,
    Entry,
    FlushEntry,
    LogEntry,
    LoggedEntry,
    LogSection,
    Mark,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    ToolCall,
    Usage,
    UserEntry,
)
from gateway.agent.window.rounds import Round, Rounds
from gateway.sessions.daily_log import LOG, unfinished_entry
from gateway.sessions.extractive_summary import SpokenLine, conversation
from gateway.sessions.session_note import MESSAGES
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, to_line
from gateway.transcripts.read_tail import LEAST_MESSAGES, lines_backwards, needed_records
from gateway.transcripts.records import records_after
from gateway.transcripts.writer import Repairs, Transcript
from tests.gateway.transcripts.test_writer import here

START = datetime(2026, 3, 1, tzinfo=UTC)
SUMMARY = SummaryEntry("what was before", "", ("never call after ten",), from_outside=False, model="m")
LOGGED = LogEntry((LogSection("memory/2026-03-01.md", "- said", 0),))


def turn(number: int, *, result: str = "found", model: str = "m") -> list[Record]:
    """Return the records of a turn with one call of a tool."""
    turn_id, at = TurnId(f"t{number}"), START + timedelta(minutes=number)
    entries: list[Entry] = [
        UserEntry(f"question {number}", at, "", str(number)),
        ReplyEntry("", (ToolCall("c", "read_file", "{}"),), model, Usage(9, 1)),
        CallStartEntry("c"),
        ResultEntry("c", "read_file", result, is_error=False),
        ReplyEntry(f"answer {number}", (), model, Usage(9, 1)),
    ]
    return [Record(turn_id, at, entry) for entry in entries]


def marks(records: Sequence[Record], *entries: Mark) -> list[Record]:
    return [Record(LOG, records[-1].at, entry) for entry in entries]


def summary(records: Sequence[Record], rounds_kept: int) -> list[Record]:
    """Return what a compaction adds to *records*: all is in the notes, and the latest rounds stay whole."""
    rounds = list(Rounds(records))
    kept = rounds[-min(rounds_kept, len(rounds))]
    receipt = FlushEntry((), 1)
    added = marks(records, receipt, *((LOGGED, LoggedEntry()) if _talk(records_after(records, LogEntry)) else ()))
    return [*added, Record(TurnId(records[-1].turn_id), records[-1].at, replace(SUMMARY, kept_from=kept.turn_id))]


def _talk(records: Sequence[Record]) -> list[SpokenLine]:
    return conversation(records, "main", UTC)


@st.composite
def journals(draw: st.DrawFn) -> list[Record]:
    """Conversations of any length with turns, commands, rests and summaries, as the gateway writes them."""
    records = turn(0)
    steps = st.lists(
        st.sampled_from(["turn"] * 20 + ["command"] * 4 + ["steered"] * 4 + ["rest", "summary"]), max_size=120
    )
    for number, step in enumerate(draw(steps), 1):
        match step:
            case "turn":
                records += turn(number)
            case "command":
                records += turn(number, model=COMMAND)
            case "steered":
                records += [
                    *turn(number),
                    *(structs.replace(said, turn_id=TurnId(f"t{number}")) for said in turn(number + 1000)),
                ]
            case "rest" if _talk(records_after(records, LogEntry)):
                records += marks(records, LOGGED, LoggedEntry())
            case "summary":
                records += summary(records, draw(st.integers(1, 5)))
            case _:
                pass
    return records


def seen(records: Sequence[Record]) -> tuple[Sequence[Entry], list[Round], list[SpokenLine], list[SpokenLine], bool]:
    """Return all that a turn, a rest and an end look at."""
    rounds = Rounds(records)
    return (
        rounds.summary,
        list(rounds),
        _talk(records)[-MESSAGES:],
        _talk(records_after(records, LogEntry)),
        unfinished_entry(records) is None,
    )


@settings(max_examples=200, deadline=None)
@given(journals())
def test_the_end_of_a_conversation_is_all_that_is_needed_of_it(records: list[Record]) -> None:
    """What a model is shown, what goes into the notes and what an end writes are the same as from all records."""
    end, is_whole = needed_records(reversed(records))
    assert seen(end) == seen(records)
    assert end == records[-len(end) :]
    assert is_whole == (len(end) == len(records))


def test_what_was_never_summarised_is_needed_whole() -> None:
    """However long it is: nothing else stands for its beginning."""
    records = [record for number in range(500) for record in turn(number)]
    assert needed_records(reversed(records)) == (records, True)


def test_of_turns_that_know_nothing_of_each_other_the_latest_are_enough() -> None:
    """A job that comes each minute is never summarised; the turn that goes on is whole, however much joined it."""
    records = [record for number in range(500) for record in turn(number)]
    assert needed_records(reversed(records), is_alone=True) == (records[-5 * LEAST_MESSAGES :], False)
    joined = UserEntry("and", START, "", "501", joins=True)
    latest = [*turn(500), *([Record(TurnId("t500"), START, joined)] * 2 * LEAST_MESSAGES)]
    assert needed_records(reversed(records + latest), is_alone=True) == (latest, False)
    assert needed_records(reversed(latest), is_alone=True) == (latest, True)


def test_a_summary_lets_go_of_what_is_older() -> None:
    """But for the latest messages that were no commands."""
    records = [record for number in range(200) for record in turn(number)]
    commands = [record for number in range(200, 240) for record in turn(number, model=COMMAND)]
    records += summary(records, 3) + commands
    end, is_whole = needed_records(reversed(records))
    assert (end[0], is_whole) == (turn(200 - LEAST_MESSAGES)[0], False)


def test_a_summary_that_a_command_asked_for_stands_when_the_conversation_goes_on() -> None:
    """Of the turns before it only the command was kept, and no later turn shows a command."""
    records = [record for number in range(40) for record in turn(number)] + turn(40, model=COMMAND)
    records += summary(records, 1) + turn(41)
    rounds = Rounds(records)
    assert (len(rounds.summary), [each.turn_id for each in rounds]) == (1, ["t41"])
    assert seen(needed_records(reversed(records))[0]) == seen(records)


def test_a_turn_with_two_messages_is_kept_from_its_first() -> None:
    """Also where the second one would already be enough."""
    records = [record for number in range(10) for record in turn(number)]
    for number in range(10, 60):
        records += [structs.replace(said, turn_id=TurnId("t10")) for said in turn(number)]
    records += summary(records, 1)
    assert seen(needed_records(reversed(records))[0]) == seen(records)


def test_a_summary_that_keeps_from_a_lost_message_lets_go_of_nothing() -> None:
    """Damage to the message costs time, and never a part of the conversation."""
    records = [record for number in range(100) for record in turn(number)]
    lost = [record for record in records if record != turn(97)[0]]
    assert needed_records(reversed(lost + summary(records, 3))) == (lost + summary(records, 3), True)


@given(st.binary(max_size=60), st.integers(1, 70))
def test_lines_come_from_the_end(content: bytes, block: int) -> None:
    """All of them, however many fit into what is read at a time."""
    assert list(lines_backwards(io.BytesIO(content), block)) == content.split(b"\n")[::-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "main.jsonl"


def write(path: Path, records: Sequence[Record]) -> None:
    path.write_bytes(b"".join(map(to_line, records)))


async def test_a_long_conversation_is_opened_by_its_end(path: Path) -> None:
    """Of 10 MB of results hardly anything is read, nor damage that lies before; a turn goes on with it."""
    records = [record for number in range(200) for record in turn(number, result="x" * 50_000)]
    records += summary(records, 3)
    records += [record for number in range(200, 240) for record in turn(number)]
    records += summary(records, 3)
    write(path, records)
    with path.open("r+b") as file:
        file.write(b"damage")
    transcript = await Transcript.open(path, here)
    assert transcript.records == needed_records(reversed(records))[0]
    assert (transcript.is_whole, transcript.repairs) == (False, Repairs())
    assert transcript.size < 100_000
    await transcript.append(TurnId("t240"), UserEntry("and now?", START, "", "240"))
    assert seen((await Transcript.open(path, here)).records) == seen(transcript.records)


async def test_a_summary_frees_the_memory_at_once(path: Path) -> None:
    """Not only when the transcript is opened again; both ways the same is left."""
    records = [record for number in range(100) for record in turn(number, result="x" * 10_000)]
    write(path, records)
    transcript = await Transcript.open(path, here)
    assert (len(transcript.records), transcript.is_whole) == (500, True)
    assert transcript.size > 1_000_000
    await transcript.append(TurnId("t100"), UserEntry("now", START, "", "100"), replace(SUMMARY, kept_from="t98"))
    again = await Transcript.open(path, here)
    assert transcript.records == again.records == needed_records(reversed([*records, *again.records[-2:]]))[0]
    assert transcript.is_whole is again.is_whole is False
    assert abs(transcript.size - again.size) < 1_000
