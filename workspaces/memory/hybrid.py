"""This file asks a vector engine for one search: every leg at once, all parts of every score, always within scopes.

It speaks to an engine through `Shard`, which `edge.py` implements, so that the rules below hold for every engine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from workspaces.access import Scope
from workspaces.memory.engine import Candidate, CandidateRequest, DayRange, FloatArray, Point, PointId
from workspaces.memory.entry import Entry
from workspaces.memory.sparse import SparseVector

VectorName = Literal["dense", "tokens", "tokens_context", "bm25", "bm25_context"]
FINDING: tuple[VectorName, ...] = ("dense", "bm25", "bm25_context")
"""The legs that look through the whole collection; late interaction only scores what they found."""
SCORING: tuple[VectorName, ...] = ("dense", "tokens", "tokens_context", "bm25", "bm25_context")
ENTRIES_KEPT = 20_000
"""Entries held in memory after they were read once, about 1 kB each: reading 600 from the engine takes 3 ms."""
SPARE = 100
"""Points a leg gives beyond its limit: where the cut goes through a tie, they mostly show the whole of it, and a
second look at the collection is not needed."""

ALWAYS = DayRange(None, None)


@dataclass(frozen=True, slots=True)
class Where:
    """Which points a query may see."""

    scopes: frozenset[Scope] | None
    """`None`: every scope."""
    days: DayRange = ALWAYS
    ids: frozenset[PointId] | None = None


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """The *limit* points whose vector `using` is nearest to `vector`, exactly, best first."""

    using: VectorName
    vector: SparseVector | FloatArray
    where: Where
    limit: int
    above: float | None = None
    """Only points with a higher score count."""


Scored = tuple[PointId, float]
"""A point with its score by one vector; a plain pair, because a search makes two thousand of them."""


class Shard(Protocol):
    """What an engine has to do: keep points, answer exact queries."""

    def ask(self, queries: Sequence[VectorQuery]) -> list[list[Scored]]:
        """Return the answer to each of *queries*, in their order; they travel as one request."""

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the entries of those of *ids* that exist."""

    def size(self) -> int:
        """Return how many points there are."""

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""

    def sweep(self) -> None:
        """Give back the room of points that are gone, where the engine does not do so by itself."""

    def flush(self) -> None:
        """Make everything stored so far durable."""

    def close(self) -> None:
        """Flush and release the collection."""


class Shelf(Protocol):
    """Where collections are kept."""

    def open(self, folder: Path, dimension: int) -> Shard:
        """Open or create the collection of *folder* for pooled vectors of length *dimension* (0: keywords alone).

        Raises EngineBrokenError or EngineAwayError.
        """

    def remove(self, folder: Path) -> None:
        """Remove the collection and *folder*."""


class HybridEngine:
    """The `Engine` port over a `Shard`."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._entries: dict[PointId, Entry] = {}

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""
        self._shard.upsert(points)
        self._forget(point.id for point in points)

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""
        self._shard.delete(ids)
        self._forget(ids)

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""
        return self._shard.ids()

    def flush(self) -> None:
        """Make everything stored so far durable."""
        self._shard.flush()

    def close(self) -> None:
        """Flush and release the collection."""
        self._shard.close()

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the entries of those of *ids* that exist."""
        known = {id_: entry for id_ in ids if (entry := self._entries.get(id_))}
        if len(known) < len(ids):
            read = self._shard.entries([id_ for id_ in ids if id_ not in known])
            known |= read
            self._entries |= read
            self._forget(list(islice(self._entries, max(len(self._entries) - ENTRIES_KEPT, 0))))
        return known

    def find(self, request: CandidateRequest) -> list[PointId]:
        """Return the ids of what the legs found, each leg's best `request.limit`, without repeats."""
        if _sees_nothing(request):
            return []
        where = Where(request.scopes, request.days)
        queries = _queries(request, FINDING, where, request.limit + SPARE)
        found: dict[PointId, None] = {}
        for query, leg in zip(queries, self._shard.ask(queries), strict=True):
            found.update(dict.fromkeys(self._cut(query, leg, request.limit)))
        return list(found)

    def score(self, request: CandidateRequest, ids: Sequence[PointId]) -> list[Candidate]:
        """Return those of *ids* that `request.scopes` allows, every part of every score filled in, in their order."""
        if _sees_nothing(request) or not ids:
            return []
        where = Where(request.scopes, ids=frozenset(ids))
        queries = _queries(request, SCORING, where, len(ids))
        answers = self._shard.ask(queries)
        parts: dict[VectorName, dict[PointId, float]] = {name: {} for name in SCORING}
        for query, answer in zip(queries, answers, strict=True):
            parts[query.using] = dict(answer)
        entries = self.entries(ids)
        allowed = [id_ for id_ in ids if id_ in entries and _is_allowed(entries[id_], request.scopes)]
        return [
            Candidate(
                id=id_,
                entry=entries[id_],
                cosine=parts["dense"].get(id_, 0.0),
                late=parts["tokens"].get(id_, 0.0),
                bm25=parts["bm25"].get(id_, 0.0),
                bm25_context=parts["bm25_context"].get(id_, 0.0),
                late_context=parts["tokens_context"].get(id_, 0.0),
            )
            for id_ in allowed
        ]

    def _cut(self, query: VectorQuery, leg: Sequence[Scored], limit: int) -> list[PointId]:
        """Return the ids of the best *limit* of *leg*; equal scores at the cut are settled by path and position.

        An engine settles them by the order in which points came to it, and there private text would show.
        """
        if len(leg) <= limit or leg[limit - 1][1] > leg[limit][1]:
            return [id_ for id_, _ in leg[:limit]]
        cut = leg[limit][1]
        if leg[-1][1] == cut:
            just_below = float(np.nextafter(np.float32(cut), np.float32(-np.inf)))
            [leg] = self._shard.ask([replace(query, limit=self._shard.size(), above=just_below)])
        better = [id_ for id_, score in leg if score > cut]
        tied = self.entries([id_ for id_, score in leg if score == cut])
        in_order = sorted(tied, key=lambda id_: (tied[id_].path, tied[id_].position))
        return [*better, *in_order[: limit - len(better)]]

    def _forget(self, ids: Iterable[PointId]) -> None:
        for id_ in ids:
            self._entries.pop(id_, None)


def _sees_nothing(request: CandidateRequest) -> bool:
    return request.scopes is not None and not request.scopes


def _is_allowed(entry: Entry, scopes: frozenset[Scope] | None) -> bool:
    return scopes is None or entry.scope in scopes


def _queries(request: CandidateRequest, names: Sequence[VectorName], where: Where, limit: int) -> list[VectorQuery]:
    vectors: dict[VectorName, SparseVector | FloatArray | None] = {
        "dense": request.dense,
        "tokens": request.tokens,
        "tokens_context": request.tokens,
        "bm25": request.bm25,
        "bm25_context": request.bm25,
    }
    asked = ((name, vectors[name]) for name in names)
    return [VectorQuery(name, v, where, limit) for name, v in asked if v is not None and _says_something(v)]


def _says_something(vector: SparseVector | FloatArray) -> bool:
    """A vector of zeros is equally near to everything."""
    return len(vector.indices) > 0 if isinstance(vector, SparseVector) else bool(np.any(vector))


Payload = dict[str, str | int]
"""An entry as an engine keeps it; `day` is a proleptic ordinal and missing where the entry has no date."""


def payload_of(entry: Entry) -> Payload:
    """Write *entry* as a payload."""
    payload: Payload = {
        "path": entry.path,
        "scope": entry.scope,
        "position": entry.position,
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "text": entry.text,
        "section": entry.section,
        "context": entry.context,
    }
    return payload if entry.date is None else payload | {"day": entry.date.toordinal()}


def entry_of(payload: Payload) -> Entry:
    """Read the entry back from its payload."""
    day = payload.get("day")
    return Entry(
        path=str(payload["path"]),
        scope=Scope(str(payload["scope"])),
        position=int(payload["position"]),
        start_line=int(payload["start_line"]),
        end_line=int(payload["end_line"]),
        text=str(payload["text"]),
        section=str(payload["section"]),
        date=None if day is None else date.fromordinal(int(day)),
        context=str(payload["context"]),
    )
