"""This file decides what a request shows of a conversation: the newest turns, whole, with old results trimmed.

The transcript keeps everything; what a request leaves out is said in the gateway's note.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, pairwise
from typing import Protocol

from gateway.agent.entries import COMMAND, Entry, Mark, ReplyEntry, SummaryEntry, UserEntry
from gateway.agent.window.compact import CompactSettings, shown_summary
from gateway.agent.window.count import CAUTIOUS, CHARACTERS_A_TOKEN, Scale, entry_tokens
from gateway.agent.window.prune import PruneSettings, prune

KEPT_SHARE = 0.6
"""Part of the room for past turns that is still filled once turns had to make way."""
MESSAGE_SHARE = 0.25
"""Part of the window that a single message may fill: of a longer one the head and the tail are shown."""
_HEAD, _TAIL = 0.7, 0.2


class Dated(Protocol):
    """Something of a conversation, with when it was written down: a transcript's record."""

    @property
    def turn_id(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def entry(self) -> Entry | Mark: ...


@dataclass(frozen=True, slots=True)
class Window:
    """The room that a model has."""

    tokens: int
    prune: PruneSettings = field(default_factory=PruneSettings)
    compact: CompactSettings = field(default_factory=CompactSettings)
    sees: bool = False
    """It is shown the pictures of the last round."""

    @property
    def room(self) -> int:
        """Return how many tokens a request may have; by then the conversation should have been summarised."""
        return max(self.tokens - self.compact.reserve_tokens, self.tokens * 3 // 5)


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a conversation that a request shows."""

    entries: list[Entry]
    left_out: int = 0
    """How many earlier turns are no longer shown."""
    trimmed: int = 0
    """Results of tools of which only the ends are shown."""
    cleared: int = 0
    """Results of tools of which only a mark is left."""
    is_cut: bool = False
    """The latest message is so long that its middle is not shown."""


@dataclass(slots=True)  # not frozen: to make one for each turn of a conversation, at each message, took thrice as long
class Round:
    """A message, and all replies, calls and results up to the next one: what is shown whole or not at all."""

    turn_id: str
    entries: list[Entry]
    times: list[datetime]
    """When each entry was written down."""

    @property
    def is_command(self) -> bool:
        """Whether no language model answered it."""
        return any(isinstance(entry, ReplyEntry) and entry.model == COMMAND for entry in reversed(self.entries))


def show(records: Sequence[Dated], window: Window, base_tokens: int = 0, scale: Scale = CAUTIOUS) -> Shown:
    """Return what fits of *records*, and always the last round; *base_tokens* stand before the conversation.

    What was summarised is shown as its summary. Rounds are shown whole, so that a call and its result are never parted.
    """
    summary, rounds = summarised(records)
    if not window.sees:
        _hide_pictures(rounds)
    elif rounds:
        _hide_pictures(rounds[:-1])
    whole = [entry for each in rounds for entry in each.entries]
    times = [time for each in rounds for time in each.times]
    pruned = prune(whole, times, window.tokens, base_tokens, window.prune)
    begins = list(accumulate((len(each.entries) for each in rounds), initial=0))
    steady = scale.steady
    used = list(accumulate((entry_tokens(entry, steady) for entry in pruned.entries), initial=0))
    sizes = [used[j] - used[i] for i, j in pairwise(begins)]
    before = base_tokens + sum(entry_tokens(entry, steady) for entry in summary)
    first = _first_shown(sizes, window.room - before)
    longest = int(window.tokens * MESSAGE_SHARE) * CHARACTERS_A_TOKEN
    entries = [*summary, *(_shortened(entry, longest) for entry in pruned.entries[begins[first] :])]
    return Shown(entries, first, pruned.trimmed, pruned.cleared, _is_cut(whole, longest))


def summarised(records: Sequence[Dated]) -> tuple[list[Entry], list[Round]]:
    """Return the latest summary as a model reads it, none if there is none, and the rounds that it does not stand for.

    Earlier commands are left out: they hold calls of tools that no model has.
    """
    every = _rounds(records)
    for record in reversed(records):
        if isinstance(record.entry, SummaryEntry):
            kept = next((i for i, each in enumerate(every) if each.turn_id == record.entry.kept_from), 0)
            text = shown_summary(record.entry)
            said = UserEntry(text, record.at, "", "", from_outside=record.entry.from_outside)
            return [said], _without_commands(every[kept:])
    return [], _without_commands(every)


def _without_commands(rounds: Sequence[Round]) -> list[Round]:
    return [each for place, each in enumerate(rounds, 1) if place == len(rounds) or not each.is_command]


def _rounds(records: Iterable[Dated]) -> list[Round]:
    rounds: list[Round] = []
    entries: list[Entry] = []
    times: list[datetime] = []
    for record in records:
        entry = record.entry
        if not isinstance(entry, Entry):
            continue
        if not rounds or (isinstance(entry, UserEntry) and not entry.joins):
            entries, times = [], []
            rounds.append(Round(record.turn_id, entries, times))
        entries.append(entry)
        times.append(record.at)
    return rounds


def _first_shown(sizes: Sequence[int], room: int) -> int:
    """Return the first of the turns of *sizes* that is shown, when they have *room*; both in tokens.

    It moves seldom and by much, and not with every turn: what a request begins with stays the same in between, and a
    provider's prompt cache holds. It is found by going through all turns as they came, and so is the same after a
    restart.
    """
    first = total = 0
    for place, size in enumerate(sizes):
        total += size
        if total > room:
            while first < place and total > room * KEPT_SHARE:
                total -= sizes[first]
                first += 1
    return first


def _hide_pictures(rounds: Iterable[Round]) -> None:
    """Leave of the pictures in *rounds* the lines that describe them.

    A picture costs hundreds of tokens, each time that it is sent, and what the model made of it stands in its answer.
    A provider's prompt cache begins anew at that message, once.
    """
    for each in rounds:
        for place, entry in enumerate(each.entries):
            if isinstance(entry, UserEntry) and entry.pictures:
                each.entries[place] = replace(entry, pictures=())


def _shortened(entry: Entry, longest: int) -> Entry:
    if not isinstance(entry, UserEntry) or len(entry.text) <= longest:
        return entry
    head, tail = int(longest * _HEAD), int(longest * _TAIL)
    note = f"[… {len(entry.text) - head - tail:,} characters of this message are not shown; they are kept …]"
    return replace(entry, text=f"{entry.text[:head]}\n{note}\n{entry.text[len(entry.text) - tail :]}")


def _is_cut(entries: Sequence[Entry], longest: int) -> bool:
    latest = next((entry for entry in reversed(entries) if isinstance(entry, UserEntry)), None)
    return latest is not None and len(latest.text) > longest
