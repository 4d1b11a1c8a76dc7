"""Old tool results are trimmed in requests: when, which, how far, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.agent.window.count import entry_tokens
from gateway.agent.window.prune import Pruned, prune
from gateway.agent.window.settings import ContextSettings

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
SETTINGS = ContextSettings()
WINDOW = 20_000
PAUSE = timedelta(minutes=5)


def turn(number: int, *results: str, tool: str = "read_file") -> list[Entry]:
    """Return a message, a call for each of *results*, and an answer."""
    entries: list[Entry] = [UserEntry(f"question {number}", START, "", str(number))]
    for place, text in enumerate(results):
        call = ToolCall(f"c{number}-{place}", tool, "{}")
        entries += [ReplyEntry("", (call,), "m", Usage()), ResultEntry(call.id, tool, text, is_error=False)]
    return [*entries, ReplyEntry(f"answer {number}", (), "m", Usage())]


def times(entries: Sequence[Entry], *, pause_before: int) -> list[datetime]:
    """Return when each entry was written: a second apart, with one pause before the entry at *pause_before*."""
    return [START + timedelta(seconds=i) + (PAUSE if i >= pause_before else timedelta()) for i in range(len(entries))]


def pruned(entries: Sequence[Entry], settings: ContextSettings = SETTINGS, window: int = WINDOW) -> Pruned:
    """Prune as for a message that comes after a pause."""
    message = UserEntry("and now?", START, "", "last")
    every = [*entries, message]
    return prune(every, times(every, pause_before=len(entries)), window, 0, settings)


def test_a_long_old_result_is_cut_down_to_its_ends() -> None:
    """From three tenths of the window on, 1,500 characters of each end are left, with a note that says how many not."""
    long = "a" * 10_000 + "b" * 10_000
    shown = pruned([*turn(1, long), *turn(2), *turn(3), *turn(4)])
    text = shown.entries[2]
    assert isinstance(text, ResultEntry)
    assert text.text.startswith("a" * 1_500 + "\n[… 17,000 characters")
    assert text.text.endswith("\n" + "b" * 1_500)
    assert (shown.trimmed, shown.cleared) == (1, 0)


def test_nothing_is_trimmed_while_there_is_room() -> None:
    """Below three tenths of the window the request is the conversation."""
    entries = [*turn(1, "a" * 10_000), *turn(2), *turn(3), *turn(4)]
    assert pruned(entries, window=100_000).entries[:-1] == entries


def test_the_latest_three_turns_are_whole() -> None:
    """The agent still works with them."""
    entries = [*turn(1), *turn(2, "a" * 20_000), *turn(3, "b" * 20_000), *turn(4, "c" * 20_000)]
    assert pruned(entries).entries[:-1] == entries


def test_nothing_is_trimmed_while_the_cache_may_hold() -> None:
    """Without a pause of five minutes every request begins with the bytes of the one before, however full it is."""
    entries = [*turn(1, "a" * 40_000), *turn(2), *turn(3), *turn(4)]
    hurried = [START + timedelta(seconds=i) for i in range(len(entries))]
    assert prune(entries, hurried, WINDOW, 0, SETTINGS).entries == entries
    assert prune(entries, times(entries, pause_before=2), WINDOW, 0, replace(SETTINGS, prune="off")).trimmed == 0


def test_from_half_of_the_window_on_whole_results_make_way_the_oldest_first() -> None:
    """Results that are not long are cleared too, as far as needed, if there is enough of them to be worth it."""
    results = ["x" * 3_000 for _ in range(20)]
    entries = [*turn(1, *results), *turn(2), *turn(3), *turn(4)]
    shown = pruned(entries)
    texts = [entry.text for entry in shown.entries if isinstance(entry, ResultEntry)]
    assert 0 < shown.cleared < 20
    assert all("3,000 characters made way" in text for text in texts[: shown.cleared])
    assert texts[shown.cleared :] == results[shown.cleared :]
    assert sum(entry_tokens(entry) for entry in shown.entries) < 0.5 * WINDOW + 100


def test_too_little_to_clear_is_not_cleared() -> None:
    """Below 50,000 characters a cold cache costs more than it saves."""
    entries = [*turn(1, *["x" * 3_000 for _ in range(16)]), *turn(2), *turn(3), *turn(4)]
    assert pruned(entries).cleared == 0


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        (ContextSettings(prune_never=("read_*",)), False),
        (ContextSettings(prune_only=("memory_*",)), False),
        (ContextSettings(prune_only=("read_file",)), True),
        (ContextSettings(prune_only=("*",), prune_never=("read_file",)), False),
    ],
)
def test_tools_may_be_named_or_excepted(settings: ContextSettings, *, may: bool) -> None:
    """A list of tools narrows what is trimmed, and an exception wins."""
    shown = pruned([*turn(1, "a" * 40_000), *turn(2), *turn(3), *turn(4)], settings)
    assert (shown.trimmed > 0) == may


conversations = st.lists(st.lists(st.integers(0, 30_000), max_size=6), min_size=1, max_size=8)


@given(conversations, st.integers(0, 40), st.integers(1_000, 60_000))
def test_only_texts_of_old_results_ever_change(lengths: list[list[int]], pause: int, window: int) -> None:
    """Calls keep their results, messages and answers stay, nothing after the pause changes, twice is once."""
    entries = [e for n, sizes in enumerate(lengths) for e in turn(n, *["r" * size for size in sizes])]
    moments = times(entries, pause_before=pause)
    shown = prune(entries, moments, window, 0, SETTINGS)
    for before, after in zip(entries, shown.entries, strict=True):
        if before != after:
            assert isinstance(before, ResultEntry)
            assert isinstance(after, ResultEntry)
            assert (before.call_id, before.name, before.is_error) == (after.call_id, after.name, after.is_error)
    assert shown.entries[pause:] == entries[pause:]


@given(conversations, st.lists(st.integers(0, 30_000), max_size=4), st.integers(1, 40))
def test_what_is_trimmed_stays_the_same_until_the_next_pause(
    lengths: list[list[int]], later: list[int], pause: int
) -> None:
    """The request of the next turn begins with what the last one showed, whatever was said since."""
    entries = [e for n, sizes in enumerate(lengths) for e in turn(n, *["r" * size for size in sizes])]
    longer = [*entries, *turn(99, *["r" * size for size in later])]
    pause = min(pause, len(entries) - 1)
    first = prune(entries, times(entries, pause_before=pause), WINDOW, 0, SETTINGS)
    second = prune(longer, times(longer, pause_before=pause), WINDOW, 0, SETTINGS)
    assert second.entries[: len(entries)] == first.entries
