"""This file is the port to the vector engine: one collection an agent, asked by scope, never without.

Vectors of a point: `dense` (pooled, cosine), `tokens` (multivector, MaxSim by dot product, float16), `bm25` (date and
entry) and `bm25_context` (previous and this entry), both sparse with the engine's IDF.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.sparse import SparseVector

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Point:
    """One entry with its vectors; `dense` and `tokens` are `None` where no embedder could load."""

    id: str
    """A UUID made from path, position and text: the same entry is the same point."""
    entry: Entry
    bm25: SparseVector
    bm25_context: SparseVector
    dense: FloatArray | None
    """Shape [dimension], length 1."""
    tokens: FloatArray | None
    """Shape [n, 128], each row of length 1."""


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """One question to the engine: all legs at once, limited to *scopes*."""

    scopes: frozenset[Scope] | None
    """`None`: every scope of the agent. The same filter is the corpus of every IDF."""
    bm25: SparseVector
    dense: FloatArray | None
    tokens: FloatArray | None
    """Shape [m, 128]; rows are scaled by their word piece's share of the query's IDF, so that MaxSim is weighted."""
    limit: int
    """Candidates a leg."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry with the raw parts of its score; a part is 0.0 where its leg did not see the entry."""

    id: str
    entry: Entry
    cosine: float
    late: float
    """Weighted MaxSim of the query's tokens over the entry's."""
    bm25: float
    bm25_context: float


class Engine(Protocol):
    """A vector engine that holds one open collection. Synchronous: it is called in the worker process."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""

    def delete(self, ids: Sequence[str]) -> None:
        """Remove the points; unknown ids are ignored."""

    def candidates(self, request: CandidateRequest) -> list[Candidate]:
        """Return the union of what the legs found, every part of every score filled in."""

    def flush(self) -> None:
        """Make everything stored so far durable."""

    def close(self) -> None:
        """Flush and release the collection."""
