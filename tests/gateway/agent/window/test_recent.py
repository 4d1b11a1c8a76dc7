"""What a request shows of a long conversation."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.agent.window.count import entry_tokens
from gateway.agent.window.recent import HISTORY_SHARE, recent


def turn(number: int, length: int) -> list[Entry]:
    call = ToolCall(f"c{number}", "memory_search", "{}")
    return [
        UserEntry("q" * length, datetime.now(UTC), "Owner", str(number)),
        ReplyEntry("", (call,), "offline", Usage()),
        ResultEntry(call.id, call.name, "r" * length, is_error=False),
        ReplyEntry("a", (), "offline", Usage()),
    ]


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(0, 2000))
def test_whole_turns_are_kept_newest_first_and_the_rest_is_counted(lengths: list[int], window: int) -> None:
    """Shown and left-out turns add up, no turn is cut, and the shown ones fit unless only the last one is left."""
    turns = [turn(number, length) for number, length in enumerate(lengths)]
    shown = recent([entry for each in turns for entry in each], window)
    assert shown.entries == [entry for each in turns[shown.left_out :] for entry in each]
    fits = sum(entry_tokens(entry) for entry in shown.entries) <= int(window * HISTORY_SHARE)
    assert fits or shown.left_out == len(turns) - 1


def test_a_large_window_shows_everything() -> None:
    """Nothing is left out without need."""
    assert recent(turn(1, 50) + turn(2, 50), 100_000).left_out == 0


def test_no_conversation_shows_nothing() -> None:
    """An empty history is an empty request."""
    assert recent([], 1000).entries == []


def test_turns_make_way_seldom_and_many_at_once() -> None:
    """What requests begin with changes a few times in a long conversation, not with every turn."""
    begins = []
    turns: list[Entry] = []
    for number in range(100):
        turns += turn(number, 300)
        begins.append(recent(turns, 10_000).left_out)
    assert begins[-1] > 50
    assert len(set(begins)) < 12
