"""Cache of encoded conversation prefixes, so that a request encodes only its new part."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from msgspec import Struct

from gateway.agent.entries import Entry, ReplyEntry

MOST_BYTES = 3_000_000
"""For all conversations of a model together, and as much again for their entries, which their transcripts may have
dropped; 150 turns of two lines each are some 40 kB. The least recently used one is dropped first, and is encoded anew
when it continues.
"""
KEPT_S = 300.0
"""Lifetime after the last request, as long as providers keep a prompt: ended or forgotten text leaves memory soon."""


class Beginning(Struct, frozen=True):
    """A conversation as far as it was written, and what was written of it."""

    entries: tuple[Entry, ...] = ()
    text: bytes = b""
    asked_at: float = 0.0


_NONE = Beginning()


class PrefixCache:
    """Encoded prefixes of conversations, by first entry."""

    def __init__(self, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most_bytes
        self._clock = clock
        self._kept: OrderedDict[Entry, Beginning] = OrderedDict()
        self._size = 0

    def written(self, entries: Sequence[Entry], write: Callable[[Sequence[Entry]], bytes]) -> bytes:
        """Return the result of *write* for *entries*, which must equal the concatenated results for their parts.

        Cached entries are compared by value, so a changed one is never mistaken for the same; entries that are the very
        same objects as last time are compared at once.
        """
        if not entries:
            return b""
        known = self._kept.pop(entries[0], _NONE)
        self._size -= len(known.text)
        if known.entries != tuple(entries[: len(known.entries)]):
            known = _NONE
        now = Beginning(tuple(entries), known.text + write(entries[len(known.entries) :]), self._clock())
        self._keep(now)
        return now.text

    def _keep(self, now: Beginning) -> None:
        self._kept[now.entries[0]] = now
        self._size += len(now.text)
        while self._kept and (self._size > self._most or self._oldest.asked_at < now.asked_at - KEPT_S):
            self._size -= len(self._kept.popitem(last=False)[1].text)

    @property
    def _oldest(self) -> Beginning:
        return next(iter(self._kept.values()))


def settled_count(entries: Sequence[Entry]) -> int:
    """Return how many of *entries* read the same in every later request: those before the last reply.

    Results of its calls may follow, and stand beside it then.
    """
    return next((at for at in range(len(entries) - 1, -1, -1) if isinstance(entries[at], ReplyEntry)), 0)
