"""Evidence about notes in conversations."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from msgspec import structs

from gateway.agent.entries import (
    Entry,
    Mark,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    Usage,
    UsedEntry,
    UsedMemory,
    UserEntry,
)
from gateway.checkup.conversations import Evidence
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from tests.workspaces.memory.checkup.notes import BY_AGENT, lasting, of_day
from workspaces.access import AgentId
from workspaces.memory.checkup.noted import NotedEntry
from workspaces.memory.text.fingerprint import fingerprint

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
DOE = "User is John Doe, a software engineer."


def heard(notes: Sequence[NotedEntry], *entries: Entry | Mark, turn: str = "t1") -> Evidence:
    """Return what a turn with *entries* tells of *notes*."""
    evidence = Evidence(notes, AgentId("main"), UTC)
    evidence.take("main", [Record(TurnId(turn), AT, entry) for entry in entries])
    return evidence


def says(text: str) -> UserEntry:
    """Return a message of the owner."""
    return UserEntry(text, AT, "", "m1")


def answers(text: str, *calls: ToolCall) -> ReplyEntry:
    """Return a reply."""
    return ReplyEntry(text, calls, "stub", Usage())


@pytest.mark.parametrize(
    ("entries", "is_invented"),
    [
        ([says("what a day"), answers("I noted that you are John Doe.")], True),
        ([says("this is Doe speaking")], False),
        ([says("who?"), ResultEntry("c", "memory_search", "John Doe", False)], True),
        ([says("read it"), ResultEntry("c", "fetch", "written by John", False, from_outside=True)], False),
        ([says("a"), answers("", ToolCall("c", "read_file", '{"path": "memory/2026-03-01.md"}')),
          ResultEntry("c", "read_file", "John Doe", False)], True),
        ([says("a"), answers("", ToolCall("c", "read_file", '{"path": "people.txt"}')),
          ResultEntry("c", "read_file", "John Doe", False)], False),
    ],
)  # fmt: skip
def test_a_name_that_nobody_said_is_invented(entries: list[Entry], *, is_invented: bool) -> None:
    """The agent's own report, and memory itself, prove nothing."""
    assert bool([*heard(lasting(DOE), *entries).invented()]) is is_invented


def test_a_note_without_its_conversation_is_left_alone() -> None:
    """It may have been said there; so may what the owner's editor wrote."""
    assert [*heard(lasting(DOE), says("hi"), turn="t2").invented()] == []
    between = structs.replace(BY_AGENT, turn="")
    assert [*heard(lasting(DOE, source=between), says("hi")).invented()] != []
    elsewhere = structs.replace(between, session="main/cron:1")
    assert [*heard(lasting(DOE, source=elsewhere), says("hi")).invented()] == []


def test_a_note_that_recall_fed_back_is_a_loop() -> None:
    """Not if its person said it again in that turn, nor if nothing like it was in view."""
    old, new = of_day("2026-02-02", "The cat eats the blue bag."), of_day("2026-03-01", "The cat eats the blue bag.")
    used = UsedEntry((UsedMemory("memory/2026-02-02.md#L3-L3", "recall"),))
    evidence = heard([*old, *new], says("what was it?"), used)
    assert [each.entry for each in evidence.findings] == new
    assert evidence.uses[old[0].citation].uses == 1
    assert evidence.uses[old[0].citation].last == date(2026, 3, 1)
    assert heard([*old, *new], says("the cat eats the blue bag"), used).findings == []
    assert heard([*old, *new], says("what was it?")).findings == []


def test_a_use_is_known_by_the_words_of_its_line() -> None:
    """It stays with a line that has moved, counts once a turn, and is not that of the line in its old place."""
    other, moved = of_day("2026-02-02", "The dog sleeps.", "The cat eats the blue bag.")
    old = UsedMemory("memory/2026-02-02.md#L3-L3", "recall", fingerprint=fingerprint("09:10 the cat eats the blue bag"))
    found = UsedMemory("memory/2026-02-02.md#L9-L9", "search", fingerprint=fingerprint("The cat eats the blue bag."))
    evidence = heard([other, moved], says("what was it?"), UsedEntry((old, found)))
    assert {place: use.uses for place, use in evidence.uses.items()} == {moved.citation: 1}
    purged = replace(old, fingerprint="")
    assert heard([other, moved], says("what was it?"), UsedEntry((purged,))).uses == {}


def test_a_passage_that_hardly_fits_a_search_is_not_used() -> None:
    """Each search gives some; an older record does not say how well they fit."""
    [entry] = of_day("2026-02-02", "The cat eats the blue bag.")
    mark = fingerprint("The cat eats the blue bag.")
    for score, uses in ((0.2, {}), (0.6, {entry.citation: 1}), (0.0, {entry.citation: 1})):
        used = UsedEntry((UsedMemory("memory/2026-02-02.md#L3-L3", "search", score, fingerprint=mark),))
        found = heard([entry], says("when is tea?"), used).uses
        assert {place: use.uses for place, use in found.items()} == uses


def test_what_was_read_is_used_where_it_stands_now() -> None:
    """A result has the text of what was read."""
    other, moved = of_day("2026-02-02", "The dog sleeps.", "The cat eats the blue bag.")
    text = json.dumps({"path": other.path, "from_line": 3, "total_lines": 3, "text": "- The cat eats the blue bag."})
    used = UsedEntry((UsedMemory(f"{other.path}#L3-L3", "read"),))
    evidence = heard([other, moved], says("read it"), used, ResultEntry("c", "memory_get", text, False))
    assert [*evidence.uses] == [moved.citation]


def test_a_days_note_that_became_a_lasting_one_is_no_loop() -> None:
    """Agents are told to carry over what lasts."""
    old, new = of_day("2026-02-02", "The cat eats the blue bag."), lasting("The cat eats the blue bag.")
    used = UsedEntry((UsedMemory("memory/2026-02-02.md#L3-L3", "search"),))
    assert heard([*old, *new], says("tidy up"), used).findings == []


def test_an_answer_in_the_log_that_repeats_what_was_found_is_a_loop() -> None:
    """The hit is known by its text, wherever its line is now."""
    log = of_day("2026-03-01", "main: The locker has the code 4411.", source=structs.replace(BY_AGENT, turn=""))
    hit = {
        "path": "memory/2026-02-02.md",
        "start_line": 9,
        "end_line": 9,
        "snippet": "09:10 The locker has the code 4411",
    }
    result = ResultEntry("c", "memory_search", json.dumps({"hits": [hit]}), False)
    evidence = heard(log, says("which code?"), result, answers("The locker has the code 4411."))
    assert [each.entry for each in evidence.findings] == log


def test_of_two_alike_answers_the_later_one_repeats_the_other() -> None:
    """They are not called copies of each other: accepting both would have left none."""
    source, text = structs.replace(BY_AGENT, turn=""), "main: The dentist is Dr. Wolters."
    first, second = of_day("2026-03-01", text, text, source=source)
    used = UsedEntry((UsedMemory(first.citation, "recall", fingerprint=first.fingerprint),))
    evidence = heard([first, second], says("who is it?"), used, answers("The dentist is Dr. Wolters."))
    assert [each.entry for each in evidence.findings] == [second]
