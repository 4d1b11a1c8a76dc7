"""This file keeps collections on a Qdrant server, asked exactly as the embedded engine is.

A server is elsewhere, so it may be gone or slow: every fault is an EngineAwayError, and after one the server is left
alone for a moment, so that the worker stays free for what needs no server.
"""

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from workspaces.memory.engine import EngineAwayError, FloatArray, Point, PointId, TokenArray
from workspaces.memory.entry import Entry
from workspaces.memory.hybrid import ALWAYS, Leg, Shard, VectorQuery, Where, entry_of, payload_of
from workspaces.memory.settings import QdrantServer
from workspaces.memory.sparse import SparseVector

TOKEN_DIMENSION = 128
SCROLL = 10_000
PAUSE_S = 5.0
"""How long a server that failed is left alone."""
_EXACTLY = models.SearchParams(exact=True)
_log = logging.getLogger(__name__)


class ServerShard:
    """A `Shard` in the collection *name*, which is created for pooled vectors of length *dimension* (0: none)."""

    def __init__(self, client: QdrantClient, name: str, dimension: int) -> None:
        """Raises EngineAwayError."""
        self._client = client
        self._name = name
        with _faults():
            if not client.collection_exists(name):
                client.create_collection(name, **_layout(dimension))
                for key, kind in (
                    ("scope", models.PayloadSchemaType.KEYWORD),
                    ("day", models.PayloadSchemaType.INTEGER),
                ):
                    client.create_payload_index(name, key, kind)

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        """Return the answer to each of *queries*, in their order, in one request."""
        if not queries:
            return []
        with _faults():
            answers = self._client.query_batch_points(self._name, [_request(query) for query in queries])
        return [_leg(answer.points) for answer in answers]

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the entries of those of *ids* that exist."""
        if not ids:
            return {}
        with _faults():
            records = self._client.retrieve(self._name, list(ids), with_payload=True)
        return {PointId(int(record.id)): entry_of(record.payload) for record in records if record.payload}

    def size(self) -> int:
        """Return how many points there are."""
        with _faults():
            return self._client.count(self._name, exact=True).count

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""
        found: set[PointId] = set()
        offset: Any = None
        while True:
            with _faults():
                records, offset = self._client.scroll(self._name, limit=SCROLL, offset=offset, with_payload=False)
            found.update(PointId(int(record.id)) for record in records)
            if offset is None:
                return found

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""
        if points:
            with _faults():
                self._client.upsert(self._name, [_struct(point) for point in points], wait=True)

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""
        if ids:
            with _faults():
                self._client.delete(self._name, models.PointIdsList(points=list(ids)), wait=True)

    def sweep(self) -> None:
        """Do nothing: a server tidies up by itself."""

    def flush(self) -> None:
        """Do nothing: a server answers a change (`wait=True`) when its log is written."""

    def close(self) -> None:
        """Do nothing: the connection belongs to the shelf."""


class ServerShelf:
    """Collections on one server; an agent's is named after the gateway's prefix, the agent and the layout."""

    def __init__(self, server: QdrantServer, client: QdrantClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._client = client
        self._clock = clock
        self._away_until = 0.0

    def open(self, folder: Path, dimension: int) -> Shard:
        """Return the collection that belongs to the index folder's *folder*. Raises EngineAwayError."""
        if self._clock() < self._away_until:
            raise EngineAwayError("the Qdrant server did not answer a moment ago")
        try:
            return ServerShard(self._client, self._name(folder), dimension)
        except EngineAwayError:
            self._away_until = self._clock() + PAUSE_S
            raise

    def remove(self, folder: Path) -> None:
        """Remove the collection and its folder; a server that is away keeps it, unused."""
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with _faults():
                self._client.delete_collection(self._name(folder))
        except EngineAwayError as exc:
            _log.warning("an old collection stays on the Qdrant server: %s", exc)

    def _name(self, folder: Path) -> str:
        agent = folder.parent.parent.name
        return f"{self._server.prefix}_{agent}_{folder.name}"


def connect(server: QdrantServer) -> ServerShelf:
    """Return the shelf on *server*; nothing is asked yet."""
    client = QdrantClient(
        url=server.url,
        api_key=server.api_key or None,
        timeout=max(round(server.timeout_s), 1),
        check_compatibility=False,
        trust_env=False,
    )
    return ServerShelf(server, client)


@contextmanager
def _faults() -> Iterator[None]:
    """Turn every fault of the client into ours; neither the request nor the key is in the message."""
    try:
        yield
    except (ApiException, ValueError, OSError) as exc:
        raise EngineAwayError(f"the Qdrant server cannot be used now ({type(exc).__name__})") from exc


def _layout(dimension: int) -> dict[str, Any]:
    """The client's own border takes a plain dict. HNSW is never built (`m=0`): scanning is exact."""
    tokens = models.VectorParams(
        size=TOKEN_DIMENSION,
        distance=models.Distance.DOT,
        datatype=models.Datatype.FLOAT16,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
    )
    dense = {"dense": models.VectorParams(size=dimension, distance=models.Distance.COSINE)} if dimension else {}
    return {
        "vectors_config": dense | {"tokens": tokens, "tokens_context": tokens} if dimension else {},
        "sparse_vectors_config": {name: models.SparseVectorParams() for name in ("bm25", "bm25_context")},
        "hnsw_config": models.HnswConfigDiff(m=0),
    }


def _struct(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {"bm25": _sparse(point.bm25), "bm25_context": _sparse(point.bm25_context)}
    if point.dense is not None and np.any(point.dense):
        vectors["dense"] = point.dense.tolist()
    for name, rows in (("tokens", point.tokens), ("tokens_context", point.tokens_context)):
        if rows is not None and len(rows):
            vectors[name] = _rows(rows)
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(payload_of(point.entry)))


def _rows(rows: TokenArray) -> list[list[float]]:
    return rows.astype(np.float32).tolist()  # type: ignore[no-any-return]  # numpy types tolist() as Any


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _nearest(vector: SparseVector | FloatArray) -> Any:
    return _sparse(vector) if isinstance(vector, SparseVector) else vector.tolist()


def _leg(points: Sequence[models.ScoredPoint]) -> Leg:
    ids = np.array([int(point.id) for point in points], np.int64)
    return Leg(ids, np.array([point.score for point in points], np.float32))


def _request(query: VectorQuery) -> models.QueryRequest:
    return models.QueryRequest(
        query=models.NearestQuery(nearest=_nearest(query.vector)),
        using=query.using,
        filter=_filter(query.where),
        limit=query.limit,
        score_threshold=query.above,
        params=_EXACTLY,
    )


def _filter(where: Where) -> models.Filter:
    must: list[models.Condition] = []
    if where.scopes is not None:
        must.append(models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(map(str, where.scopes)))))
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=list(where.ids)))
    if where.days != ALWAYS:
        since, until = (day.toordinal() if day else None for day in (where.days.since, where.days.until))
        must.append(models.FieldCondition(key="day", range=models.Range(gte=since, lte=until)))
    return models.Filter(must=must)
