"""Requests to the vector engine and their results: one collection per agent, always queried by scope.

Vectors of a point: `dense` (pooled, cosine), `bm25` (date and entry) and `bm25_context` (previous and this entry), both
sparse. Token vectors are not the engine's: `late_interaction.py` scores what it finds.

An IDF is part of a query's weights and counted by `manifest.Rarity` in the scopes that are searched. Weights are whole
numbers of 1/128, so that their sums are exact in 32-bit floats: an engine adds them in an order that changes from run
to run (Qdrant's own IDF differs in its last bit, seen in one of two runs), and equal entries would be told apart.

    EngineBrokenError   a collection on disk is unusable; it is rebuilt from the files
    EngineAwayError     a server cannot be reached now; nothing is lost
"""

from datetime import date
from typing import NewType

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.text.dates import is_between
from workspaces.memory.text.sparse import SparseVector

FloatArray = NDArray[np.float32]
TokenArray = NDArray[np.float16]
Ids = NDArray[np.int64]
Column = NDArray[np.float64]

PointId = NewType("PointId", int)
"""63 bits, derived from path, position and text: the same entry is the same point. A number, because a search handles
thousands of them and parsing a UUID takes 2 µs. The chance of a collision among 10 million entries is 1 in 180,000.
"""


class EngineBrokenError(Exception):
    """A collection on disk is unusable: damaged, or written by another version."""


class EngineAwayError(Exception):
    """The server of the collection is unavailable."""


STEP = 1 / 128
"""Step of weights: a sum stays exact up to 1,024, and a usual weight loses 0.5 % at most."""


def quantised(vector: SparseVector) -> SparseVector:
    """Return *vector* with its weights rounded to steps, none to 0."""
    steps = {value: max(round(value / STEP), 1) * STEP for value in set(vector.values)}  # most words occur once
    return SparseVector(vector.indices, [steps[value] for value in vector.values])


class Point(Struct, frozen=True):
    """One entry with its vectors; `dense` is `None` without an embedder."""

    id: PointId
    entry: Entry
    bm25: SparseVector
    bm25_context: SparseVector
    dense: FloatArray | None
    """Shape [dimension], length 1; zeros are nothing."""


class DayRange(Struct, frozen=True):
    """Both ends are included; `None` is open. An undated entry is outside of every range except the fully open one."""

    since: date | None
    until: date | None

    def includes(self, day: date | None) -> bool:
        """Tell whether *day*, `None` for an undated entry, is within the bounds."""
        return is_between(day, self.since, self.until)


class CandidateRequest(Struct, frozen=True):
    """One query to the engine: all searches at once, limited to *scopes*."""

    scopes: frozenset[Scope] | None
    """`None`: every scope of the agent."""
    bm25: SparseVector
    """The query's words with their IDF in these scopes."""
    dense: FloatArray | None
    tokens: FloatArray | None
    """Shape [m, 128]; rows are scaled by their word piece's share of the query's IDF, so that MaxSim is weighted."""
    days: DayRange
    """Only entries dated within this range."""
    limit: int
    """Candidates per search."""


class Scores(Struct, frozen=True, eq=False):
    """Entries with the raw parts of their scores, one column per part, each of shape [n].

    A part is 0.0 if its search did not return the entry. Columns, because a search handles hundreds of entries and
    shows six: adding them up as objects took longer than finding them.
    """

    ids: Ids
    """Ascending and distinct, so that the order does not depend on the engine."""
    cosine: Column
    late: Column
    """Weighted MaxSim of the query's tokens over the entry's."""
    bm25: Column
    bm25_context: Column
    late_context: Column
    """The same over the tokens of the previous entry and this one: a question and its answer."""

    def merged(self, other: "Scores") -> "Scores":
        """Return the union of two disjoint sets of entries."""
        if not len(other.ids):
            return self
        ids = np.concatenate([self.ids, other.ids])
        order = np.argsort(ids)
        columns = {name: getattr(self, name) for name in PARTS}
        joined = {name: np.concatenate([mine, getattr(other, name)])[order] for name, mine in columns.items()}
        return Scores(ids[order], **joined)


PARTS = ("cosine", "late", "bm25", "bm25_context", "late_context")
