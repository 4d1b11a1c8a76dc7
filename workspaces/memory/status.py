"""State of an agent's index, for its owner."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["hybrid", "keyword"]


@dataclass(frozen=True, slots=True)
class IndexStatus:
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


@dataclass(frozen=True, slots=True)
class MemoryFaults:
    """Who learns of faults of a memory."""

    count: Callable[[str], Awaitable[None]]
    """Called with a reason code."""
    crashed_on: Callable[[str], Awaitable[None]]
    """Called with the path of a file excluded because the worker crashed on it."""
