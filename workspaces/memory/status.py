"""State of an agent's index, for its owner."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

Mode = Literal["hybrid", "keyword"]
CRASHED = "memory_crashed"
"""Counted for each file excluded because the worker crashed on it twice."""
HELD = "memory_held"
"""Counted for each new layout of the index that was not taken into use."""


class IndexStatus(Struct, frozen=True):
    """The state of an agent's index, for `memory status` and `doctor`."""

    mode: Mode
    reason: str
    """Reason why search by meaning is unavailable, or empty."""
    embedder: str | None
    languages: str | None
    documents: int
    entries: int
    rebuilding: bool
    """Some notes are not in the index yet."""
    embedded: int
    """Texts embedded since the worker opened the index."""
    reused: int
    """Texts with a cached embedding."""
    owing: int = 0
    """Entries waiting for a provider's vector; every other part of the search finds them."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Notes that cannot be indexed, by path, with the reason."""
    held: str = ""
    """Reason why a new layout was not taken into use, or empty."""
    indexing: tuple[int, int] | None = None
    """Documents indexed, and changed ones, of the sync under way."""


class MemoryFaults(Struct, frozen=True):
    """Who learns of faults of a memory."""

    count: Callable[[str], Awaitable[None]]
    """Called with a reason code."""
    crashed_on: Callable[[str], Awaitable[None]]
    """Called with the path of a file excluded because the worker crashed on it."""
    held_back: Callable[[str], Awaitable[None]]
    """Called with the reason why a new layout of the index was not taken into use."""

    async def tell(self, crashed: Iterable[str], held: str) -> None:
        """Report the files that were excluded, and why a new layout was not taken into use, if it was not."""
        for path in crashed:
            await self.count(CRASHED)
            await self.crashed_on(path)
        if held:
            await self.count(HELD)
            await self.held_back(held)
