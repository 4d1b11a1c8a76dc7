"""Hybrid search in a vector engine: all searches in one request, all score parts, always within scopes.

It uses an engine through `Shard`, implemented by `edge.py` and others, so that the rules below hold for every engine.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct, structs

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.index.engine import CandidateRequest, Column, DayRange, FloatArray, Ids, Point, PointId, Scores
from workspaces.memory.index.late_interaction import LateInteraction
from workspaces.memory.text.sparse import SparseVector

VectorName = Literal["dense", "bm25", "bm25_context"]
SEARCHES: tuple[VectorName, ...] = ("dense", "bm25", "bm25_context")
"""Searches over the whole collection; late interaction only scores their results."""
ENTRIES_KEPT = 1_000
"""Entries cached in memory after the first read, about 1 kB each: reading 8 from the engine takes 0.1 ms."""
SPARE = 100
"""Points requested beyond a search's limit: where the cut splits a tie, they mostly include all of it, and a second
request is not needed.
"""
MORE = 8
"""Factor by which more points are requested while a tie continues; an engine asked for all of 100,000 takes 25 to 60 ms
to allocate room for them, even if the tie has 400 points.
"""

ALWAYS = DayRange(None, None)
NOTHING: Ids = np.zeros(0, np.int64)


class Where(Struct, frozen=True):
    """The points visible to a query."""

    scopes: frozenset[Scope] | None
    """`None`: every scope."""
    days: DayRange = ALWAYS
    ids: frozenset[PointId] | None = None


class VectorQuery(Struct, frozen=True):
    """The *limit* points whose vector `using` is nearest to `vector`, exactly, best first."""

    using: VectorName
    vector: SparseVector | FloatArray
    where: Where
    limit: int
    above: float | None = None
    """Only points with a higher score are returned."""


class Leg(Struct, frozen=True, eq=False):
    """Points with their scores by one vector, best first; both of shape [n]."""

    ids: Ids
    scores: FloatArray


class EntryPosition(Protocol):
    """Position and scope of an entry, known without a request to the engine."""

    @property
    def path(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def scope(self) -> Scope: ...


class EntryPositions(Protocol):
    """Positions and scopes of all searchable entries."""

    def among(self, ids: Iterable[PointId]) -> Mapping[PointId, EntryPosition]:
        """Return those of the known ones among *ids*, in their order."""


class Shard(Protocol):
    """Interface of an engine: store points, answer exact queries."""

    @property
    def reads_at_once(self) -> int:
        """Number of entries that are best read by one request, best first, until enough are found."""

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        """Return the answers to *queries*, in order; they are sent as one request."""

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the existing entries among *ids*."""

    @property
    def stores_at_once(self) -> int:
        """Number of points that are best stored by one request."""

    @property
    def is_remote(self) -> bool:
        """Whether a change may take seconds, and may be made on another thread."""

    @property
    def was_away(self) -> bool:
        """Whether its server failed a request since it was opened, and may hold something else by now."""

    def holds(self, ids: Collection[PointId]) -> bool:
        """Tell whether its points are *ids*, as far as the engine needs to be asked."""

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""

    def sweep(self) -> None:
        """Free the space of deleted points, if the engine does not do so by itself."""

    def flush(self) -> None:
        """Make all changes durable."""

    def close(self) -> None:
        """Flush and release the collection."""


class CollectionStore(Protocol):
    """Storage of collections."""

    @property
    def name(self) -> str:
        """Stable identifier of the storage across restarts."""

    def open(self, folder: Path, dimension: int) -> Shard:
        """Open or create the collection of *folder* for pooled vectors of length *dimension* (0: keywords only).

        Raises EngineBrokenError or EngineAwayError.
        """

    def remove(self, folder: Path) -> None:
        """Remove the collection and *folder*."""


class HybridEngine:
    """Searches in one open `Shard`, whose owner changes it. Synchronous: it is called in the worker process."""

    def __init__(
        self, shard: Shard, places: EntryPositions, late: LateInteraction | None = None, spare: int = SPARE
    ) -> None:
        """*places* contains every searchable point; any other does not exist. *late* has their token vectors."""
        self._shard = shard
        self._places = places
        self._late = late
        self._spare = spare
        self._entries: dict[PointId, Entry] = {}
        self.reads_at_once = shard.reads_at_once

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the existing entries among *ids*."""
        known = {id_: entry for id_ in ids if (entry := self._entries.get(id_))}
        if len(known) < len(ids):
            read = self._shard.entries([id_ for id_ in ids if id_ not in known])
            known |= read
            self._entries |= read
            self.forget(list(islice(self._entries, max(len(self._entries) - ENTRIES_KEPT, 0))))
        return known

    def find(self, request: CandidateRequest) -> Ids:
        """Return the ids found by all searches, each one's best `request.limit`, ascending and distinct.

        A tie at the cut is resolved by path and position, never by the engine's order of insertion.
        """
        if _sees_nothing(request):
            return NOTHING
        where = Where(request.scopes, request.days)
        queries = _queries(request, where, request.limit + self._spare)
        legs = zip(queries, self._shard.ask(queries), strict=True)
        return distinct([self._best_of_leg(query, leg, request.limit) for query, leg in legs])

    def score(self, request: CandidateRequest, ids: Ids) -> Scores:
        """Score those of *ids* (ascending, distinct) that `request.scopes` allows, with every part."""
        seen = NOTHING if _sees_nothing(request) else self._in_scopes(ids, request.scopes)
        parts: dict[VectorName, Column] = {name: np.zeros(len(seen)) for name in SEARCHES}
        late, late_context = np.zeros(len(seen)), np.zeros(len(seen))
        if len(seen):
            where = Where(request.scopes, ids=frozenset(seen.tolist()))
            queries = _queries(request, where, len(seen))
            for query, leg in zip(queries, self._shard.ask(queries), strict=True):
                parts[query.using][np.searchsorted(seen, leg.ids)] = leg.scores
            if self._late is not None and request.tokens is not None and np.any(request.tokens):
                late, late_context = self._late.score(request.tokens, seen.tolist())
        return Scores(
            ids=seen,
            cosine=parts["dense"],
            late=late,
            bm25=parts["bm25"],
            bm25_context=parts["bm25_context"],
            late_context=late_context,
        )

    def cosines(self, vectors: Sequence[FloatArray], scopes: frozenset[Scope] | None, ids: Ids) -> list[Column]:
        """Return for each of *vectors* the cosine with each of *ids* (ascending, distinct, of *scopes*); 0 without."""
        where = Where(scopes, ids=frozenset(ids.tolist()))
        columns = [np.zeros(len(ids)) for _ in vectors]
        legs = self._shard.ask([VectorQuery("dense", vector, where, len(ids)) for vector in vectors])
        for column, leg in zip(columns, legs, strict=True):
            column[np.searchsorted(ids, leg.ids)] = leg.scores
        return columns

    def _in_scopes(self, ids: Ids, scopes: frozenset[Scope] | None) -> Ids:
        known = self._places.among(ids.tolist()).items()
        return np.array([id_ for id_, place in known if scopes is None or place.scope in scopes], np.int64)

    def _best_of_leg(self, query: VectorQuery, leg: Leg, limit: int) -> Ids:
        """Return the ids of the best *limit* of *leg*; equal scores at the cut are ordered by path and position.

        An engine would order them by insertion, which would reveal private text.
        """
        if len(leg.ids) <= limit or leg.scores[limit - 1] > leg.scores[limit]:
            return leg.ids[:limit]
        cut = leg.scores[limit]
        just_below = float(np.nextafter(cut, np.float32(-np.inf)))
        while len(leg.ids) == query.limit and leg.scores[-1] == cut:
            query = structs.replace(query, limit=MORE * query.limit, above=just_below)
            [leg] = self._shard.ask([query])
        better = leg.ids[leg.scores > cut]
        tied = self._places.among(leg.ids[leg.scores == cut].tolist())
        ordered = sorted(tied, key=lambda id_: (tied[id_].path, tied[id_].position))
        return np.concatenate([better, np.array(ordered[: limit - len(better)], np.int64)])

    def forget(self, ids: Iterable[PointId]) -> None:
        """Read entries that may have changed from the engine again."""
        for id_ in ids:
            self._entries.pop(id_, None)


def distinct(found: Iterable[Ids]) -> Ids:
    """Return the ids of *found*, ascending and distinct; `np.unique` loads 36 ms of numpy with its first call."""
    ids = np.sort(np.concatenate([NOTHING, *found]))
    return np.asarray(ids[np.diff(ids, prepend=-1) != 0], np.int64)


def _sees_nothing(request: CandidateRequest) -> bool:
    return request.scopes is not None and not request.scopes


def _queries(request: CandidateRequest, where: Where, limit: int) -> list[VectorQuery]:
    vectors: dict[VectorName, SparseVector | FloatArray | None] = {
        "dense": request.dense,
        "bm25": request.bm25,
        "bm25_context": request.bm25,
    }
    asked = ((name, vectors[name]) for name in SEARCHES)
    return [VectorQuery(name, v, where, limit) for name, v in asked if v is not None and _says_something(v)]


def _says_something(vector: SparseVector | FloatArray) -> bool:
    """Tell whether it is non-zero: a vector of zeros is equally near to everything."""
    return len(vector.indices) > 0 if isinstance(vector, SparseVector) else bool(np.any(vector))


Payload = dict[str, str | int]
"""An entry as stored by an engine; `day` is a proleptic ordinal and missing for undated entries."""


def payload_of(entry: Entry) -> Payload:
    """Encode *entry* as a payload."""
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
    payload |= {"others": 1} if entry.is_others else {}
    return payload if entry.date is None else payload | {"day": entry.date.toordinal()}


def entry_of(payload: Payload) -> Entry:
    """Decode the entry of a payload."""
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
        is_others="others" in payload,
    )
