"""This file says in which state an agent's index is, for its owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["hybrid", "keyword"]


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an agent's index, for `memory status` and `doctor`."""

    mode: Mode
    reason: str
    """Why there is no search by meaning, or empty."""
    embedder: str | None
    languages: str | None
    documents: int
    entries: int
    rebuilding: bool
    """Not all notes are in the index yet."""
    embedded: int
    """Texts embedded since the worker opened the index."""
    reused: int
    """Texts whose embedding was known."""
    owing: int = 0
    """Entries that wait for a provider's vector; they are found by everything else."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Notes that cannot be indexed, by path, with the reason."""
