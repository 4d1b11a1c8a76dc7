"""This file chooses the turns that a request still shows: the newest, each one whole.

The transcript keeps everything; what a request leaves out is said in its prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.agent.entries import COMMAND, Entry, ReplyEntry, UserEntry
from gateway.agent.window.count import entry_tokens

HISTORY_SHARE = 0.5
"""Part of the window that past turns may fill; the rest is for the prompt, the tools and the answer."""
KEPT_SHARE = 0.6
"""Part of that which is still filled once turns had to make way."""


@dataclass(frozen=True, slots=True)
class Recent:
    """The part of a conversation that a request shows."""

    entries: list[Entry]
    left_out: int
    """How many messages of people are no longer shown."""


def recent(entries: Sequence[Entry], window_tokens: int) -> Recent:
    """Return the newest turns of *entries* that fit their share of the window, and always the last one.

    A turn begins with what a person said and holds all replies, calls and results up to the next such entry, so that a
    call and its result are never parted. Earlier turns of commands are not shown: they hold
    calls of tools that no model has.
    """
    *earlier, latest = _turns(entries) or [[]]
    turns = [*(turn for turn in earlier if not _is_command(turn)), latest]
    first = _first_shown([sum(map(entry_tokens, turn)) for turn in turns], int(window_tokens * HISTORY_SHARE))
    return Recent([entry for turn in turns[first:] for entry in turn], first)


def _first_shown(sizes: Sequence[int], budget: int) -> int:
    """Return the first of the turns of *sizes* that is shown, so that those shown fit *budget*, in tokens.

    It moves seldom and by much, and not with every turn: what a request begins with stays the same in between, and a
    provider's prompt cache holds. It is found by going through all turns as they came, and so is the same after a
    restart.
    """
    first = total = 0
    for place, size in enumerate(sizes):
        total += size
        if total > budget:
            while first < place and total > budget * KEPT_SHARE:
                total -= sizes[first]
                first += 1
    return first


def _turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    turns: list[list[Entry]] = []
    for entry in entries:
        if isinstance(entry, UserEntry) or not turns:
            turns.append([])
        turns[-1].append(entry)
    return turns


def _is_command(turn: Sequence[Entry]) -> bool:
    return any(isinstance(entry, ReplyEntry) and entry.model == COMMAND for entry in turn)
