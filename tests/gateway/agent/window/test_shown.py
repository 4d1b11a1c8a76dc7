"""What a request shows of a long conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.entries import (
    COMMAND,
    Entry,
    Mark,
    Picture,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    ToolCall,
    Usage,
    UsedEntry,
    UserEntry,
)
from gateway.agent.window.count import entry_tokens
from gateway.agent.window.rounds import Rounds
from gateway.agent.window.shown import MESSAGE_SHARE, ContextWindow, VisibleHistory, show

START = datetime(2026, 11, 22, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """A record of a transcript, as far as a request cares."""

    turn_id: str
    at: datetime
    entry: Entry | Mark


def lines(entries: Sequence[Entry | Mark]) -> list[Line]:
    """Return *entries* as records; a turn has the id of its message."""
    turn, found = "", []
    for entry in entries:
        turn = entry.message_id if isinstance(entry, UserEntry) else turn
        found.append(Line(turn, START, entry))
    return found


def shown(entries: Sequence[Entry | Mark], window: int) -> VisibleHistory:
    return show(Rounds(lines(entries)), ContextWindow(window))


def turn(number: int, length: int) -> list[Entry]:
    call = ToolCall(f"c{number}", "memory_search", "{}")
    return [
        UserEntry("q" * length, START, "Owner", str(number)),
        ReplyEntry("", (call,), "offline", Usage()),
        ResultEntry(call.id, call.name, "r" * length, is_error=False),
        ReplyEntry("a", (), "offline", Usage()),
    ]


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(1_000, 2_000))
def test_whole_turns_are_kept_newest_first_and_the_rest_is_counted(lengths: list[int], window: int) -> None:
    """Shown and left-out turns add up, no turn is cut, and the shown ones fit unless only the last one is left."""
    turns = [turn(number, length) for number, length in enumerate(lengths)]
    got = shown([entry for each in turns for entry in each], window)
    expected = [entry for each in turns[got.left_out :] for entry in each]
    assert [type(entry) for entry in got.entries] == [type(entry) for entry in expected]
    assert got.entries == expected or got.is_cut
    fits = sum(entry_tokens(entry) for entry in got.entries) <= ContextWindow(window).room
    assert fits or got.left_out == len(turns) - 1


def test_a_large_window_shows_everything() -> None:
    """Nothing is left out without need."""
    assert shown(turn(1, 50) + turn(2, 50), 100_000).left_out == 0


def pictured(number: int, *, joins: bool = False) -> UserEntry:
    picture = Picture(f"attachments/{number}.png", "image/png", 5, 1_024, 512)
    return UserEntry(f"look [photo {number}]", START, "", str(number), joins=joins, pictures=(picture,))


def test_pictures_are_shown_in_their_own_turn_alone() -> None:
    """With what joined it; before it, and to a model that does not see, their descriptions stay."""
    entries: list[Entry] = [pictured(1), ReplyEntry("A boat.", (), "m", Usage()), pictured(2), pictured(3, joins=True)]
    seen, blind = (show(Rounds(lines(entries)), ContextWindow(100_000, sees=sees)) for sees in (True, False))
    said = [[bool(each.pictures) for each in got.entries if isinstance(each, UserEntry)] for got in (seen, blind)]
    assert said == [[False, True, True], [False, False, False]]
    assert [each.text for each in seen.entries if isinstance(each, UserEntry)] == [
        f"look [photo {number}]" for number in (1, 2, 3)
    ]
    assert all(each.pictures for each in entries if isinstance(each, UserEntry))


def test_no_conversation_shows_nothing() -> None:
    """An empty history is an empty request."""
    assert shown([], 1000).entries == []


def test_turns_make_way_seldom_and_many_at_once() -> None:
    """What requests begin with changes a few times in a long conversation, not with every turn."""
    begins = []
    turns: list[Entry] = []
    for number in range(100):
        turns += turn(number, 300)
        begins.append(shown(turns, 10_000).left_out)
    assert begins[-1] > 50
    assert len(set(begins)) < 12


def test_a_message_larger_than_the_window_shows_its_head_and_tail() -> None:
    """What cannot fit is not sent, says how much is missing, and is told to the person."""
    got = shown([UserEntry("a" * 50_000 + "b" * 50_000, START, "", "1")], 4_000)
    (message,) = got.entries
    assert isinstance(message, UserEntry)
    assert got.is_cut
    assert entry_tokens(message) < 4_000 * MESSAGE_SHARE
    assert message.text.startswith("aaa")
    assert "97,300 characters of this message are not shown" in message.text
    assert message.text.endswith("bbb")


def test_only_the_latest_message_counts_as_cut() -> None:
    """The person was told of an earlier one in its own turn."""
    long, short = turn(1, 100_000), turn(2, 10)
    assert not shown([*long, *short], 4_000).is_cut


def test_turns_of_commands_and_notes_of_used_memories_are_not_shown() -> None:
    """No model sees a tool that it does not have; the turn that is being answered is always shown."""
    command: list[Entry | Mark] = [
        UserEntry("/status", START, "", "1"),
        UsedEntry(()),
        ReplyEntry("fine", (), COMMAND, Usage()),
    ]
    assert shown([*command, *turn(2, 10)], 10_000).entries == turn(2, 10)
    assert len(shown(command, 10_000).entries) == 2


def summary(kept_from: str, *, from_outside: bool = False) -> SummaryEntry:
    return SummaryEntry("They chose blue.", kept_from, ("Never paint it red.",), from_outside, "m")


def test_what_was_summarised_is_shown_as_its_summary_with_the_orders_word_for_word() -> None:
    """The latest summary stands before the turns that it leaves whole; what it stands for is not shown beside it."""
    entries = [*turn(1, 10), summary("1"), *turn(2, 10), summary("2"), *turn(3, 10)]
    first, *rest = shown(entries, 10_000).entries
    assert isinstance(first, UserEntry)
    assert "They chose blue." in first.text
    assert "- Never paint it red." in first.text
    assert rest == [*turn(2, 10), *turn(3, 10)]


def test_a_summary_of_others_words_counts_as_such() -> None:
    """Who could not write a file before the summary cannot after it."""
    (first, *_) = shown([*turn(1, 10), summary("1", from_outside=True)], 10_000).entries
    assert isinstance(first, UserEntry)
    assert first.from_outside


def test_a_summary_whose_turn_is_lost_hides_nothing() -> None:
    """A damaged record costs itself, not what stands around it."""
    assert shown([*turn(1, 10), summary("lost"), *turn(2, 10)], 10_000).entries[1:] == [*turn(1, 10), *turn(2, 10)]
