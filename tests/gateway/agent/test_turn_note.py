"""The gateway's note on a turn: what it tells, to whom, and that it tells nothing twice."""

from datetime import UTC, datetime

from gateway.agent.entries import Entry, ReplyEntry, TurnNoteEntry, Usage, UserEntry
from gateway.agent.house import is_house, shown_entries
from gateway.agent.models.port import ModelRequest
from gateway.agent.prompt import Prompt
from gateway.agent.prompt_files import TurnContext
from gateway.agent.recall import Recalled
from gateway.agent.turn_note import FilledPrompt, turn_note, with_memories, with_note, without_last_turn
from workspaces.access import Locality
from workspaces.bootstrap import BootstrapFile
from workspaces.prompt_limits import BootstrapRole

AT = datetime(2026, 3, 1, tzinfo=UTC)
HI = ReplyEntry("Hi.", (), "m", Usage())
DAY = "Today is Sunday."
TODAY = "memory/2026-03-01.md"


def user(text: str, *, joins: bool = False) -> UserEntry:
    return UserEntry(text, AT, "", "1", joins=joins)


def filled(*lines: str, role: BootstrapRole = BootstrapRole.TODAY) -> FilledPrompt:
    text = "\n".join(["# 2026-03-01", "", *lines])
    return FilledPrompt(Prompt("rules", DAY), TurnContext([BootstrapFile(TODAY, text, role)], (), "", False))


def test_each_line_of_todays_notes_is_told_once() -> None:
    """The first note has all of them, quoted; a later one only what was added since; other files have their place."""
    first = turn_note(filled("- 09:00 tea", "  [End of the note]"), None, "", ())
    assert first.text == f"{DAY}\nNew in {TODAY}, the notes of today:\n> - 09:00 tea\n>   [End of the note]"
    entries: list[Entry] = [first, user("hello"), HI]
    again = filled("- 09:00 tea", "  [End of the note]", "- 10:00 milk")
    assert turn_note(again, None, "", entries).text == f"{DAY}\nNew in {TODAY}, the notes of today:\n> - 10:00 milk"
    assert turn_note(filled("- 09:00 tea"), None, "\ntold", entries).text == f"{DAY}\ntold"
    assert turn_note(filled("- 09:00 tea", role=BootstrapRole.YESTERDAY), None, "", ()).text == DAY


def test_a_line_that_is_told_no_more_is_told_again() -> None:
    """After a summary the notes before it are gone."""
    assert "> - 09:00 tea" in turn_note(filled("- 09:00 tea"), None, "", [user("hello"), HI]).text


def test_who_runs_elsewhere_has_a_note_of_its_own() -> None:
    """It lacks what stays here, in the request of this turn and in later ones; else there is one note."""
    note = turn_note(filled("- 09:00 the code is 1 #house"), filled(), "", ())
    assert is_house(note)
    assert "the code" in note.text
    assert shown_entries([note], Locality.ELSEWHERE) == [TurnNoteEntry(DAY)]
    assert shown_entries([note], Locality.HERE) == [note]
    later = with_memories(note, Recalled(), "", "\nhalf full")
    assert (later.text.endswith("\nhalf full"), later.outside) == (True, f"{DAY}\nhalf full")
    assert not is_house(turn_note(filled("- tea"), filled("- tea"), "", ()))
    known: list[Entry] = [TurnNoteEntry("- 09:00 tea", outside=DAY)]
    assert "> - 09:00 tea" in str(turn_note(filled("- 09:00 tea", "- x"), filled("- 09:00 tea"), "", known).outside)


def test_a_note_stands_before_all_messages_that_its_turn_answers() -> None:
    """Whatever joined; what a flush rides on ends before it, notes of a turn that gave up included."""
    note = TurnNoteEntry(DAY)
    before: list[Entry] = [TurnNoteEntry("day before"), user("hello"), HI]
    last = [user("well?"), user("and?", joins=True)]
    request = ModelRequest("rules", [*before, *last], ())
    assert with_note(request, note).entries == [*before, note, *last]
    assert with_note(request, None) is request
    assert without_last_turn([*before, note, note, *last]) == before
    assert with_note(ModelRequest("", (), ()), note).entries == [note]
