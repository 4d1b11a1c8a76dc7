"""This file is the port to the vector engine: one collection an agent, asked by scope, never without.

Vectors of a point: `dense` (pooled, cosine), `tokens` and `tokens_context` (multivectors, MaxSim by dot product,
float16), `bm25` (date and entry) and `bm25_context` (previous and this entry), both sparse.

An IDF is part of a query's weights and counted by `manifest.Rarity` in the scopes that are searched. Weights are whole
numbers of 1/128, so that their sums are exact in 32-bit floats: an engine adds them in an order that changes from run
to run (Qdrant's own IDF differs in its last bit, seen in one of two runs), and equal entries would be told apart.

    EngineBrokenError   a collection on disk cannot be used; it is built anew from the files
    EngineAwayError     a server cannot be reached now; nothing is lost
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NewType, Protocol

import numpy as np
from numpy.typing import NDArray

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.text.sparse import SparseVector

FloatArray = NDArray[np.float32]
TokenArray = NDArray[np.float16]
Ids = NDArray[np.int64]
Column = NDArray[np.float64]

PointId = NewType("PointId", int)
"""63 bits, made from path, position and text: the same entry is the same point. A number, because a search handles
thousands of them and reading one as a UUID takes 2 µs. That two of 10 million entries share one has a chance of 1 in
180,000.
"""


class EngineBrokenError(Exception):
    """A collection on disk cannot be used: damaged, or made by another version."""


class EngineAwayError(Exception):
    """A server that keeps the collection cannot be used now."""


STEP = 1 / 128
"""What weights are whole numbers of: a sum stays exact up to 1,024, and a usual weight loses 0.5 % at most."""


def stepped(vector: SparseVector) -> SparseVector:
    """Return *vector* with its weights rounded to steps, none to 0."""
    return SparseVector(vector.indices, [max(round(value / STEP), 1) * STEP for value in vector.values])


@dataclass(frozen=True, slots=True)
class Point:
    """One entry with its vectors; `dense` and `tokens` are `None` where no embedder could load."""

    id: PointId
    entry: Entry
    bm25: SparseVector
    bm25_context: SparseVector
    dense: FloatArray | None
    """Shape [dimension], length 1."""
    tokens: TokenArray | None
    """The entry's token vectors, shape [n, 128], rows no longer than 1; n may be 0."""
    tokens_context: TokenArray | None
    """Those of the entry before it in the section and its own, shape [n', 128], n' >= n."""


@dataclass(frozen=True, slots=True)
class DayRange:
    """Both ends belong to it; `None` is open. An undated entry is outside of every range but the one open twice."""

    since: date | None
    until: date | None


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """One question to the engine: all legs at once, limited to *scopes*."""

    scopes: frozenset[Scope] | None
    """`None`: every scope of the agent."""
    bm25: SparseVector
    """The query's words with their IDF in these scopes."""
    dense: FloatArray | None
    tokens: FloatArray | None
    """Shape [m, 128]; rows are scaled by their word piece's share of the query's IDF, so that MaxSim is weighted."""
    days: DayRange
    """Only entries dated inside it."""
    limit: int
    """Candidates a leg."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Entries with the raw parts of their scores, one column a part, each of shape [n].

    A part is 0.0 where its leg did not see the entry. Columns, because a search handles hundreds of entries and shows
    six: adding them up as objects took longer than finding them.
    """

    ids: Ids
    """Rising and distinct, so that whatever order the engine found them in, the same entries are the same columns."""
    cosine: Column
    late: Column
    """Weighted MaxSim of the query's tokens over the entry's."""
    bm25: Column
    bm25_context: Column
    late_context: Column
    """The same over the tokens of the entry before it and its own: what was asked and what was answered."""

    def merged(self, other: "Scores") -> "Scores":
        """Return the entries of both, which have none in common."""
        if not len(other.ids):
            return self
        ids = np.concatenate([self.ids, other.ids])
        order = np.argsort(ids)
        columns = {name: getattr(self, name) for name in PARTS}
        joined = {name: np.concatenate([mine, getattr(other, name)])[order] for name, mine in columns.items()}
        return Scores(ids[order], **joined)


PARTS = ("cosine", "late", "bm25", "bm25_context", "late_context")


class Engine(Protocol):
    """A vector engine that holds one open collection. Synchronous: it is called in the worker process."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""

    def ids(self) -> set[PointId]:
        """Return the ids of all points, to compare with what the manifest says."""

    def find(self, request: CandidateRequest) -> Ids:
        """Return the ids of what the legs found, each leg's best `request.limit`, rising and distinct.

        A tie at the cut is settled by path and position, never by the order in which points came to the engine.
        """

    def score(self, request: CandidateRequest, ids: Ids) -> Scores:
        """Score those of *ids* (rising, distinct) that `request.scopes` allows, every part filled in."""

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the entries of those of *ids* that exist."""

    def flush(self) -> None:
        """Make everything stored so far durable."""

    def close(self) -> None:
        """Flush and release the collection."""
