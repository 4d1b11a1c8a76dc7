"""Collections in Qdrant Edge, the in-process engine, with exact search.

Qdrant Edge holds the GIL while it works, so this module belongs in the worker process. HNSW is never built (`m=0`):
scanning is exact and takes 1–2 ms per query at 10,000 entries.

New points are in a segment that holds their words in memory, 2.3 kB each; `sweep` moves them into segments whose data
are in mapped files, read when needed (`Memory.Cold`): 0.2 kB of memory a point. There is no write-ahead log, which
would take 24 MB: an index that was not closed cleanly is compared with its files in any case (`manifest.py`).
"""

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import qdrant_edge as edge

from workspaces.memory.entry import Entry
from workspaces.memory.index.engine import DayRange, EngineBrokenError, FloatArray, Point, PointId
from workspaces.memory.index.hybrid import Leg, Shard, VectorQuery, Where, entry_of, payload_of
from workspaces.memory.text.sparse import SparseVector

SCROLL = 10_000
"""Points per page when all are listed."""
MAPPED_FROM_KB = 1_000
"""Size of a segment's vectors from which `sweep` moves it into mapped files: some 1,300 points."""
LARGEST_SEGMENT_KB = 8_000
"""Size up to which segments are merged, some 10,000 points: merging takes 0.1 ms a point, and a search waits for it."""


class EdgeCollections:
    """Collections inside the index folder itself."""

    name = "embedded"

    def open(self, folder: Path, dimension: int) -> Shard:
        """Open the shard in *folder*, or create it. Raises EngineBrokenError."""
        return EdgeShard(folder / "shard", dimension)

    def remove(self, folder: Path) -> None:
        """Remove *folder* and its contents."""
        shutil.rmtree(folder, ignore_errors=True)


class EdgeShard:
    """A `Shard` in the folder *folder*; only one process may have it open."""

    is_remote = was_away = False
    stores_at_once = 8
    """About 3 ms, by which a search may be delayed; larger batches are no faster."""
    reads_at_once = 8
    """The usual six results and two spare for duplicates; reading them takes 0.1 ms."""

    def __init__(self, folder: Path, dimension: int) -> None:
        """Open the shard in *folder*, or create it for pooled vectors of length *dimension* (0: keywords only).

        Raises EngineBrokenError when the folder contains something else, or a damaged shard.
        """
        is_new = not (folder / "segments").exists()
        try:
            if is_new:
                folder.mkdir(parents=True, exist_ok=True)
                self._shard = edge.EdgeShard.create(str(folder), _config(dimension))
                self._index_payload()
            else:
                self._shard = edge.EdgeShard.load(str(folder), _config(dimension))
        except Exception as exc:  # the engine raises plain Exception for every fault
            raise EngineBrokenError(f"the index in {folder.name} cannot be opened: {exc}") from exc

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        """Return the answers to *queries*, in order."""
        if not queries:
            return []
        filters = {where: _filter(where) for where in {query.where for query in queries}}
        nearest = {id(query.vector): _nearest(query.vector) for query in queries}  # two queries use one vector
        requests = [_request(query, nearest[id(query.vector)], filters[query.where]) for query in queries]
        answers = self._shard.query_batch(edge.QueryBatchRequest(requests))
        return [_leg(answer) for answer in answers]

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the existing entries among *ids*."""
        records = self._shard.retrieve(list(ids), with_payload=True, with_vector=False)
        return {
            cast("PointId", record.id): entry_of(record.payload) for record in records if record.payload is not None
        }

    def holds(self, ids: Collection[PointId]) -> bool:
        """Tell whether it has as many points as *ids*: nobody else changes its folder."""
        return self._shard.count(edge.CountRequest(exact=True)) == len(ids)

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""
        found: set[PointId] = set()
        offset: Any = None
        while True:
            request = edge.ScrollRequest(offset=offset, limit=SCROLL, with_payload=False, with_vector=False)
            records, offset = self._shard.scroll(request)
            found.update(cast("PointId", record.id) for record in records)
            if offset is None:
                return found

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""
        written = [edge.Point(point.id, _vectors(point), payload_of(point.entry)) for point in points]
        if written:
            self._shard.update(edge.UpdateOperation.upsert_points(written))

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""
        if ids:
            self._shard.update(edge.UpdateOperation.delete_points(list(ids)))

    def sweep(self) -> None:
        """Rewrite the live points and free the space of dead ones: 0.3 ms a point, blocking.

        Raises EngineBrokenError.
        """
        try:
            self._shard.optimize()
            self._shard.flush()
        except Exception as exc:  # the engine raises plain Exception for every fault
            raise EngineBrokenError(f"the index cannot be swept: {exc}") from exc

    def flush(self) -> None:
        """Write all changes to disk; about 150 ms. Raises EngineBrokenError when that fails."""
        try:
            self._shard.flush()
        except Exception as exc:  # the engine raises plain Exception for every fault
            raise EngineBrokenError(f"the index cannot be written: {exc}") from exc

    def close(self) -> None:
        """Flush and release the folder. Raises EngineBrokenError as `flush` does; it is released all the same."""
        try:
            self.flush()
        finally:
            self._shard.close()

    def _index_payload(self) -> None:
        cold = edge.Memory.Cold
        kinds = (("scope", edge.KeywordIndexParams(memory=cold)), ("day", edge.IntegerIndexParams(memory=cold)))
        for name, kind in kinds:
            self._shard.update(edge.UpdateOperation.create_field_index(name, kind))


def _config(dimension: int) -> edge.EdgeConfig:
    halves = edge.VectorStorageDatatype.Float16  # a scan is bound by memory: a quarter faster, cosines within 0.001
    dense = edge.EdgeVectorParams(dimension, edge.Distance.Cosine, datatype=halves, memory=edge.Memory.Cold)
    sparse = edge.EdgeSparseVectorParams(memory=edge.Memory.Cold)
    return edge.EdgeConfig(
        vectors={"dense": dense} if dimension else None,
        sparse_vectors={"bm25": sparse, "bm25_context": sparse},
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=SCROLL),
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=MAPPED_FROM_KB, default_segment_number=1, max_segment_size=LARGEST_SEGMENT_KB
        ),
        max_search_threads=1,
        payload_memory=edge.Memory.Cold,
        id_tracker_memory=edge.Memory.Cold,
        wal_enabled=False,
    )


def _vectors(point: Point) -> dict[str, Any]:
    """Return the vectors in the engine's form, a plain dict; zero vectors are left out, so that nothing is near."""
    vectors: dict[str, Any] = {"bm25": _sparse(point.bm25), "bm25_context": _sparse(point.bm25_context)}
    if point.dense is not None and np.any(point.dense):
        vectors["dense"] = point.dense.tolist()
    return vectors


def _sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(vector.indices), list(vector.values))


def _leg(answer: Sequence[edge.ScoredPoint]) -> Leg:
    ids = np.array([point.id for point in answer], np.int64)  # ids are always numbers
    return Leg(ids, np.array([point.score for point in answer], np.float32))


def _request(query: VectorQuery, nearest: Any, where: edge.Filter | None) -> edge.QueryRequest:
    return edge.QueryRequest(
        limit=query.limit,
        query=edge.Query.Nearest(nearest, query.using),
        filter=where,
        score_threshold=query.above,
        params=edge.SearchParams(exact=True),
    )


def _nearest(vector: SparseVector | FloatArray) -> Any:
    return _sparse(vector) if isinstance(vector, SparseVector) else vector.tolist()


def _filter(where: Where) -> edge.Filter | None:
    """Return the filter by *where*; `None` for all: a filter without conditions takes 0.1 ms a query."""
    must: list[Any] = []
    if where.scopes is not None:
        must.append(edge.FieldCondition("scope", match=edge.MatchAny([str(scope) for scope in sorted(where.scopes)])))
    if where.ids is not None:
        must.append(edge.HasIdCondition(set(where.ids)))
    if _is_bounded(where.days):
        must.append(edge.FieldCondition("day", range=_range(where.days)))
    return edge.Filter(must=must) if must else None


def _is_bounded(days: DayRange) -> bool:
    return days.since is not None or days.until is not None


def _range(days: DayRange) -> edge.RangeFloat:
    return edge.RangeFloat(
        gte=None if days.since is None else days.since.toordinal(),
        lte=None if days.until is None else days.until.toordinal(),
    )
