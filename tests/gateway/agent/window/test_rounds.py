"""A conversation as requests show it, which grows record by record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.entries import (
    COMMAND,
    Entry,
    ForgottenEntry,
    LoggedEntry,
    Mark,
    Picture,
    ReplyEntry,
    SummaryEntry,
    TurnNoteEntry,
    Usage,
    UserEntry,
)
from gateway.agent.window.compact import shown_summary
from gateway.agent.window.count import Scale, entry_tokens
from gateway.agent.window.rounds import Rounds

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
PICTURE = Picture("attachments/1.png", "image/png", 5, 1_024, 512)


@dataclass(frozen=True, slots=True)
class Line:
    """A record of a transcript, as far as a request cares."""

    turn_id: str
    at: datetime
    entry: Entry | Mark


@st.composite
def conversations(draw: st.DrawFn) -> list[Line]:
    """Messages, some with pictures, some that join, replies, commands, marks and summaries."""
    lines: list[Line] = []
    turn, begun = "t0", ["t0"]
    others = ["joined", "pictured", "note", "reply", "reply", "command", "mark", "summary"]
    kinds = st.sampled_from(["said"] * 4 + others)
    for number, kind in enumerate(draw(st.lists(kinds, max_size=40))):
        at = START + timedelta(minutes=number)
        said = UserEntry(f"said {number}", at, "", str(number), joins=kind == "joined")
        entry: Entry | Mark = said
        match kind:
            case "said" | "pictured":
                turn = f"t{number}"
                begun.append(turn)
                entry = replace(said, pictures=(PICTURE,) if kind == "pictured" else ())
            case "reply" | "command":
                entry = ReplyEntry(f"reply {number}", (), COMMAND if kind == "command" else "m", Usage())
            case "note":
                entry = TurnNoteEntry(f"note {number}")
            case "mark":
                entry = LoggedEntry()
            case "summary":
                entry = SummaryEntry(f"summary {number}", turn, (), from_outside=False, model="m")
        lines.append(Line(turn, at, entry))
    return lines


def _bare(entry: Entry) -> Entry:
    """Return *entry* without its pictures, which others' words may have been read from."""
    if isinstance(entry, UserEntry) and entry.pictures:
        return replace(entry, pictures=(), from_outside=True)
    return entry


def plainly(lines: Sequence[Line]) -> tuple[list[Entry], list[list[Entry]]]:
    """Return the latest summary and the rounds behind it, by going through all of *lines*."""
    rounds: list[tuple[str, list[Entry]]] = []
    for line in lines:
        if isinstance(line.entry, Mark):
            continue
        if not rounds or (isinstance(line.entry, UserEntry) and not line.entry.joins):
            rounds.append((line.turn_id, []))
        round_ = rounds[-1][1]
        behind_notes = next((at for at, each in enumerate(round_) if not isinstance(each, TurnNoteEntry)), len(round_))
        round_.insert(behind_notes if isinstance(line.entry, TurnNoteEntry) else len(round_), line.entry)
    summary: list[Entry] = []
    for line in lines:
        if isinstance(line.entry, SummaryEntry):
            summary = [UserEntry(shown_summary(line.entry), line.at, "", "")]
            kept = line.entry.kept_from
            rounds = [each for each in rounds if int(each[0][1:]) >= int(kept[1:])]
    *earlier, last = [entries for _, entries in rounds] or [[]]
    models = [{each.model for each in entries if isinstance(each, ReplyEntry)} for entries in earlier]
    shown = [entries for entries, answered in zip(earlier, models, strict=True) if COMMAND not in answered]
    bare = [[_bare(entry) for entry in entries] for entries in shown]
    return summary, [*bare, last] if last else bare


@given(conversations(), st.sampled_from([Scale(), Scale(4.5)]))
def test_what_grew_is_what_a_look_through_everything_gives(lines: list[Line], scale: Scale) -> None:
    """At every moment: the summary, the rounds without earlier commands and pictures, and how large they are."""
    grown = Rounds()
    for place, line in enumerate(lines, 1):
        grown.add(line)
        if place % 3 == 0:  # sizes are asked for now and then, and kept
            grown.sizes(scale)
        summary, rounds = plainly(lines[:place])
        assert (list(grown.summary), [list(each.entries) for each in grown]) == (summary, rounds)
        assert len(grown.times) == len(grown.entries)
        assert list(grown.sizes(scale)) == [sum(entry_tokens(entry, scale) for entry in each) for each in rounds]


def test_a_note_is_shown_where_it_was_sent() -> None:
    """It is journaled with the first reply, and every request has it before the messages, also after a restart."""
    said, joined = UserEntry("a", START, "", "1"), UserEntry("b", START, "", "2", joins=True)
    note, reply = TurnNoteEntry("day 1"), ReplyEntry("Yes.", (), "m", Usage())
    rounds = Rounds(Line("t1", START, entry) for entry in (said, joined, note, reply))
    assert rounds.entries == [note, said, joined, reply]
    assert rounds.times == [START] * 4


def test_a_summary_drops_the_notes_of_the_turns_that_it_replaces() -> None:
    """Only those of turns that stay whole are shown, and counted."""
    reply = ReplyEntry("Yes.", (), "m", Usage())
    talk = [
        Line(turn, START, entry)
        for turn in ("t1", "t2")
        for entry in (UserEntry(turn, START, "", turn), TurnNoteEntry(f"note {turn}"), reply)
    ]
    rounds = Rounds([*talk, Line("t2", START, SummaryEntry("", "t2", (), from_outside=False, model="m"))])
    assert [entry.text for entry in rounds.entries if isinstance(entry, TurnNoteEntry)] == ["note t2"]
    assert list(rounds.sizes(Scale())) == [sum(map(entry_tokens, rounds.entries))]


def test_what_was_to_be_forgotten_is_in_no_note() -> None:
    """The line goes, for every reader; what people said stays as it was said."""
    said, reply = UserEntry("The code is 4711.", START, "", "1"), ReplyEntry("Yes.", (), "m", Usage())
    note = TurnNoteEntry("day\n> L1: The  CODE is 4711.\n> L2: tea", outside="day\n> the code is 4711.")
    rounds = Rounds(Line("t1", START, entry) for entry in (said, note, reply))
    before = list(rounds.sizes(Scale()))
    rounds.add(Line("t2", START, ForgottenEntry(("the code is 4711.", " "))))
    assert rounds.entries == [TurnNoteEntry("day\n> L2: tea", outside="day"), said, reply]
    assert list(rounds.sizes(Scale())) < before


@given(conversations())
def test_entries_stay_the_same_objects(lines: list[Line]) -> None:
    """What was made of an entry for one request holds for the next; a picture's goes once, when its round is over."""
    grown = Rounds(lines)
    before = grown.entries[: grown.begin(len(grown) - 1)]
    grown.add(Line("t100", START, UserEntry("more", START, "", "100")))
    assert all(one is other for one, other in zip(before, grown.entries, strict=False))
