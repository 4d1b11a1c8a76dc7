"""Selection of the part of a conversation that a request shows: the newest turns, whole, with old results trimmed.

The transcript keeps everything; the gateway's note mentions every omission.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from msgspec import Struct, field

from gateway.agent.entries import CHARACTERS_A_TOKEN, Entry, UserEntry
from gateway.agent.window.count import CAUTIOUS, Scale, entry_tokens
from gateway.agent.window.prune import prune
from gateway.agent.window.rounds import Rounds, without_pictures
from gateway.agent.window.settings import SMALL_WINDOW, ContextSettings

KEPT_SHARE = 0.6
"""Share of the room for past turns that is filled again once turns had to be dropped."""
MESSAGE_SHARE = 0.25
"""Share of the window that a single message may fill; of a longer one the head and the tail are shown."""
_HEAD, _TAIL = 0.7, 0.2


class ContextWindow(Struct, frozen=True):
    """The room that a model has."""

    tokens: int
    settings: ContextSettings = field(default_factory=ContextSettings)
    sees: bool = False
    """The model is shown the pictures of the last round."""

    @property
    def room(self) -> int:
        """Return the most tokens that a request may have; the conversation should have been summarised before."""
        least = self.tokens * (17 if self.tokens <= SMALL_WINDOW else 12) // 20
        return max(self.tokens - self.settings.reserve_tokens, least)


class VisibleHistory(Struct, frozen=True):
    """The part of a conversation that a request shows."""

    entries: list[Entry]
    left_out: int = 0
    """How many earlier turns are no longer shown."""
    trimmed: int = 0
    """Tool results of which only the ends are shown."""
    cleared: int = 0
    """Tool results replaced by a mark."""
    is_cut: bool = False
    """The latest message is so long that its middle is not shown."""


def show(rounds: Rounds, window: ContextWindow, base_tokens: int = 0, scale: Scale = CAUTIOUS) -> VisibleHistory:
    """Return as many of the latest *rounds* as fit, always including the last; *base_tokens* precede the conversation.

    Summarised rounds are shown as their summary. Rounds are shown whole, so that a call and its result stay together.
    """
    steady, whole = scale.steady, _visible_entries(rounds, window)
    pruned = prune(whole, rounds.times, window.tokens, base_tokens, window.settings)
    is_as_it_was = whole is rounds.entries and not (pruned.trimmed or pruned.cleared)
    sizes = rounds.sizes(steady) if is_as_it_was else _sizes(rounds, pruned.entries, steady)
    before = base_tokens + sum(entry_tokens(entry, steady) for entry in rounds.summary)
    first = _first_shown(sizes, window.room - before)
    longest = int(window.tokens * MESSAGE_SHARE) * CHARACTERS_A_TOKEN
    entries = [*rounds.summary, *(_shortened_entry(entry, longest) for entry in pruned.entries[rounds.begin(first) :])]
    return VisibleHistory(entries, first, pruned.trimmed, pruned.cleared, _is_cut(whole, longest))


def _visible_entries(rounds: Rounds, window: ContextWindow) -> Sequence[Entry]:
    """Return the entries of *rounds*; the pictures of the last one only for a model that accepts images."""
    begin = rounds.begin(len(rounds) - 1)
    is_pictured = any(isinstance(entry, UserEntry) and entry.pictures for entry in rounds.entries[begin:])
    if window.sees or not is_pictured:
        return rounds.entries
    return [*rounds.entries[:begin], *without_pictures(rounds.entries[begin:])]


def _sizes(rounds: Rounds, entries: Sequence[Entry], scale: Scale) -> list[int]:
    """Return how many tokens each round takes if *entries* replace its own."""
    used = list(accumulate((entry_tokens(entry, scale) for entry in entries), initial=0))
    return [used[rounds.begin(place + 1)] - used[rounds.begin(place)] for place in range(len(rounds))]


def _first_shown(sizes: Sequence[int], room: int) -> int:
    """Return the first of the turns of *sizes* that is shown in *room*; both in tokens.

    It moves seldom and by much, and not with every turn: the beginning of requests stays the same in between, and a
    provider's prompt cache holds. It is found by going through all turns in order, and so is the same after a restart.
    """
    first = total = 0
    for place, size in enumerate(sizes):
        total += size
        if total > room:
            while first < place and total > room * KEPT_SHARE:
                total -= sizes[first]
                first += 1
    return first


def _shortened_entry(entry: Entry, longest: int) -> Entry:
    if not isinstance(entry, UserEntry) or len(entry.text) <= longest:
        return entry
    head, tail = int(longest * _HEAD), int(longest * _TAIL)
    note = f"[… {len(entry.text) - head - tail:,} characters of this message are not shown; they are kept …]"
    return replace(entry, text=f"{entry.text[:head]}\n{note}\n{entry.text[len(entry.text) - tail :]}")


def _is_cut(entries: Sequence[Entry], longest: int) -> bool:
    latest = next((entry for entry in reversed(entries) if isinstance(entry, UserEntry)), None)
    return latest is not None and len(latest.text) > longest
