"""Pruning of old tool results in requests; the transcript keeps them whole.

A provider's prompt cache lasts for some minutes, and only while requests begin with the same bytes. So nothing is
trimmed while the cache may be warm: only results older than the last pause that let it go cold are trimmed,
independently of later messages. The outcome is the same from request to request until the next such pause, also after
a restart.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from msgspec import Struct

from gateway.agent.entries import Entry, ResultEntry, UserEntry
from gateway.agent.window.count import entry_tokens
from gateway.agent.window.settings import ContextSettings


class Pruned(Struct, frozen=True):
    """A conversation, as a request shows it."""

    entries: list[Entry]
    trimmed: int = 0
    """Results cut down to their ends."""
    cleared: int = 0
    """Results replaced by a mark."""


def prune(
    entries: Sequence[Entry], times: Sequence[datetime], window_tokens: int, base_tokens: int, settings: ContextSettings
) -> Pruned:
    """Return *entries* with old results trimmed as far as the window requires.

    *times* holds the moment at which each entry was recorded; *base_tokens* counts the text before the conversation.
    """
    cold = 0
    if any(isinstance(entry, ResultEntry) for entry in entries):
        cold = _written_before_pause(times, settings.cache_ttl)
    if not cold:
        return Pruned(list(entries))
    end = _kept_from(entries[:cold], settings.whole_turns)
    prunable = [
        i for i, entry in enumerate(entries[:end]) if isinstance(entry, ResultEntry) and settings.may_trim(entry.name)
    ]
    shown = list(entries)
    used = base_tokens + sum(entry_tokens(entry) for entry in entries[:cold])
    trimmed = cleared = 0
    if used < settings.trim_share * window_tokens:
        return Pruned(shown)
    for i in prunable:
        if len(_text(shown[i])) > settings.long_chars:
            used -= _replace_text(shown, i, _ends(_text(shown[i]), settings))
            trimmed += 1
    if sum(len(_text(shown[i])) for i in prunable) < settings.least_cleared_chars:
        return Pruned(shown, trimmed)
    for i in prunable:
        if used < settings.clear_share * window_tokens:
            break
        used -= _replace_text(
            shown, i, f"[An old result of {len(_text(entries[i])):,} characters made way; ask again for it.]"
        )
        trimmed -= len(_text(entries[i])) > settings.long_chars
        cleared += 1
    return Pruned(shown, trimmed, cleared)


def _written_before_pause(times: Sequence[datetime], ttl: timedelta | None) -> int:
    """Return how many entries existed when the cache last went cold."""
    if ttl is None:
        return 0
    return max((i for i in range(1, len(times)) if times[i] - times[i - 1] >= ttl), default=0)


def _kept_from(entries: Sequence[Entry], turns: int) -> int:
    """Return the index at which the last *turns* turns of *entries* begin."""
    begins = [i for i, entry in enumerate(entries) if isinstance(entry, UserEntry) and not entry.joins]
    return begins[-turns] if len(begins) >= turns else 0


def _text(entry: Entry) -> str:
    return entry.text if isinstance(entry, ResultEntry) else ""


def _ends(text: str, settings: ContextSettings) -> str:
    left_out = len(text) - settings.head_chars - settings.tail_chars
    note = f"[… {left_out:,} characters of an old result are not shown; ask again for them …]"
    return f"{text[: settings.head_chars]}\n{note}\n{text[len(text) - settings.tail_chars :]}"


def _replace_text(shown: list[Entry], place: int, text: str) -> int:
    """Replace a result's text; return the number of tokens saved."""
    entry = shown[place]
    if not isinstance(entry, ResultEntry):
        raise TypeError("only results of tools are trimmed")
    before, after = entry_tokens(entry), replace(entry, text=text)
    shown[place] = after
    return before - entry_tokens(after)
