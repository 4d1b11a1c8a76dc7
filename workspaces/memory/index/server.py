"""Collections on a Qdrant server, queried exactly as in the embedded engine.

A server is remote, so it may be gone or slow (`nodes.py`). After a fault it is left alone for a moment, so that the
worker stays free for requests that need no server; then the collection is opened anew and compared, because a server
may come back with another day's points, or none.
"""

import logging
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from workspaces.backoff import Backoff
from workspaces.memory.entry import Entry
from workspaces.memory.index.engine import EngineAwayError, FloatArray, Point, PointId
from workspaces.memory.index.hybrid import ALWAYS, Leg, Shard, VectorQuery, Where, entry_of, payload_of
from workspaces.memory.index.nodes import Nodes, connected
from workspaces.memory.index.settings import ONE_NODE, QdrantServer, version_fault
from workspaces.memory.text.sparse import SparseVector

SCROLL = 1_000
"""Points per page when all are listed."""
PAUSES = Backoff(0.5, 5.0)
"""Pauses after failures of the server in a row; our choice."""
HEDGED_AFTER_MS = 100
"""Time after which a node asks another replica too: one that hangs would take a search's whole time."""
_INDEXES = {"scope": models.PayloadSchemaType.KEYWORD, "day": models.PayloadSchemaType.INTEGER}
"""Of the payload, by key."""
_EXACTLY = models.SearchParams(exact=True)
_log = logging.getLogger(__name__)
T = TypeVar("T")


class ServerShard:
    """A `Shard` in the collection *name*."""

    is_remote = True
    stores_at_once = 64
    """Twice as fast as 8, by what each request costs; 256 are no faster."""
    reads_at_once = 50
    """A search considers 30 results: a request takes longer than they do."""

    def __init__(self, nodes: Nodes, name: str, settings: QdrantServer = ONE_NODE) -> None:
        self._nodes = nodes
        self._name = name
        self._settings = settings
        self._agreed: Any = settings.read_consistency
        self.was_away = False
        """Whether its server failed a request, and may hold something else by now."""

    def make(self, dimension: int) -> Self:
        """Create the collection and its indexes, as far as missing, for pooled vectors of length *dimension*.

        0 is no pooled vectors. Raises EngineAwayError, also for a collection that something else created.
        """
        self._ask(lambda client: self._make(client, dimension))
        return self

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        """Return the answers to *queries*, in order, from one request."""
        if not queries:
            return []
        requests = [self._request(query) for query in queries]
        patience = self._nodes.patience_s
        answers = self._ask(
            lambda client: client.query_batch_points(self._name, requests, consistency=self._agreed, timeout=patience)
        )
        return [self._leg(answer.points) for answer in answers]

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the existing entries among *ids*."""
        if not ids:
            return {}
        wanted = _filter(Where(None, ids=frozenset(ids)))
        patience = self._nodes.patience_s
        records, _ = self._ask(
            lambda client: client.scroll(
                self._name, wanted, limit=len(ids), with_payload=True, consistency=self._agreed, timeout=patience
            )
        )
        return {_id(record): entry_of(record.payload) for record in records if record.payload}

    def holds(self, ids: Collection[PointId]) -> bool:
        """Tell whether its points are *ids*: an older state that was restored may have as many others."""
        count = self._ask(lambda client: client.count(self._name, exact=True)).count
        return count == len(ids) and self.ids() == set(ids)

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""
        found: set[PointId] = set()
        offset: Any = None
        while True:
            records, offset = self._ask(partial(self._page, offset))
            found.update(map(_id, records))
            if offset is None:
                return found

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""
        if points:
            stored = [_struct(point) for point in points]
            self._ask(lambda client: client.upsert(self._name, stored, wait=True), is_change=True)

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""
        if ids:
            selected = models.PointIdsList(points=list(ids))
            self._ask(lambda client: client.delete(self._name, selected, wait=True), is_change=True)

    def sweep(self) -> None:
        """No-op: a server optimises by itself."""

    def flush(self) -> None:
        """No-op: a server answers a change (`wait=True`) when its log is written."""

    def close(self) -> None:
        """No-op: the connection belongs to the shelf."""

    def _make(self, client: QdrantClient, dimension: int) -> None:
        layout = _layout(dimension)
        if not client.collection_exists(self._name):
            try:
                client.create_collection(self._name, **layout, **_replication(self._settings))
                if (self._settings.replication_factor or 1) > 1:
                    hedged = models.CollectionParamsDiff(read_fan_out_delay_ms=HEDGED_AFTER_MS)
                    client.update_collection(self._name, collection_params=hedged)
            except UnexpectedResponse:
                if not client.collection_exists(self._name):  # created by another gateway meanwhile
                    raise
        found = client.get_collection(self._name)
        if not _fits(found.config.params, layout):
            raise EngineAwayError(
                f"the collection {self._name} on the Qdrant server was made by something else: delete it there, "
                "or set another qdrant.prefix"
            )
        for key, kind in _INDEXES.items():
            if key not in found.payload_schema:
                client.create_payload_index(self._name, key, kind)

    def _ask(self, request: Callable[[QdrantClient], T], *, is_change: bool = False) -> T:
        try:
            return self._nodes.ask(request, is_change=is_change)
        except EngineAwayError:
            self.was_away = True
            raise

    def _page(self, offset: Any, client: QdrantClient) -> tuple[list[models.Record], Any]:
        return client.scroll(
            self._name,
            limit=SCROLL,
            offset=offset,
            with_payload=False,
            consistency=self._agreed,
        )

    def _request(self, query: VectorQuery) -> models.QueryRequest:
        return models.QueryRequest(
            query=models.NearestQuery(nearest=_nearest(query.vector)),
            using=query.using,
            filter=_filter(query.where),
            limit=query.limit,
            score_threshold=query.above,
            params=_EXACTLY,
        )

    def _leg(self, points: Sequence[models.ScoredPoint]) -> Leg:
        ids = np.array([_id(point) for point in points], np.int64)
        return Leg(ids, np.array([point.score for point in points], np.float32))


class ServerCollections:
    """Collections on one server, named after the gateway's prefix, the agent and the index's layout."""

    def __init__(
        self, server: QdrantServer, connect: Callable[[], Nodes], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """*connect* is called before the first request."""
        self._server = server
        self._connect = connect
        self._clock = clock
        self._away_until, self._trouble, self._failures = 0.0, "", 0

    @cached_property
    def _nodes(self) -> Nodes:
        """The nodes, once one of them is known to have a suitable version. Raises EngineAwayError."""
        nodes = self._connect()
        if fault := version_fault(nodes.ask(lambda client: client.info()).version):
            raise EngineAwayError(f"the server at {self._server.url} cannot hold the index: {fault}")
        return nodes

    @property
    def name(self) -> str:
        """The server, and the prefix of our collections on it."""
        return f"{self._server.url} agent {self._server.prefix}"  # the word is in stored manifests

    def open(self, folder: Path, dimension: int) -> Shard:
        """Return the collection of the index folder's *folder*. Raises EngineAwayError."""
        if self._clock() < self._away_until:
            raise EngineAwayError(self._trouble)
        try:
            shard = ServerShard(self._nodes, self._collection(folder), self._server).make(dimension)
        except EngineAwayError as exc:
            self._away_until, self._trouble = self._clock() + PAUSES.delay_s(self._failures), str(exc)
            self._failures += 1
            raise
        self._failures = 0
        return shard

    def remove(self, folder: Path) -> None:
        """Remove the collection and its folder; a server that is unavailable keeps it, unused."""
        shutil.rmtree(folder, ignore_errors=True)
        name = self._collection(folder)
        try:
            self._nodes.ask(lambda client: client.delete_collection(name))
        except EngineAwayError as exc:
            _log.warning("an old collection stays on the Qdrant server: %s", exc)

    def _collection(self, folder: Path) -> str:
        return f"{self._server.prefix}_{folder.parent.parent.name}_{folder.name}"


def connect(server: QdrantServer, api_key: str = "") -> ServerCollections:
    """Return the shelf on *server*, without a request."""
    return ServerCollections(server, partial(connected, server, api_key))


def _layout(dimension: int) -> dict[str, Any]:
    """Return the layout in the client's form, a plain dict. HNSW is never built (`m=0`): scanning is exact."""
    halves = models.Datatype.FLOAT16  # as in the embedded engine, so that both rank alike
    params = models.VectorParams(size=dimension, distance=models.Distance.COSINE, datatype=halves)
    dense = {"dense": params} if dimension else {}
    return {
        "vectors_config": dense,
        "sparse_vectors_config": {name: models.SparseVectorParams() for name in ("bm25", "bm25_context")},
        "hnsw_config": models.HnswConfigDiff(m=0),
    }


def _fits(found: models.CollectionParams, layout: dict[str, Any]) -> bool:
    """Tell whether a collection has the vectors of *layout*; without its embedder, an older one's may be unknown."""
    dense = found.vectors if isinstance(found.vectors, dict) else {}
    sizes = {name: (each.size, each.distance) for name, each in dense.items()}
    wanted = {name: (each.size, each.distance) for name, each in layout["vectors_config"].items()}
    return wanted.items() <= sizes.items() and set(found.sparse_vectors or ()) == {*layout["sparse_vectors_config"]}


def _replication(nodes: QdrantServer) -> dict[str, Any]:
    """Return the replication of a new collection; unset values are left to the server."""
    factors = {
        "replication_factor": nodes.replication_factor,
        "write_consistency_factor": nodes.write_consistency_factor,
    }
    return {name: factor for name, factor in factors.items() if factor is not None}


def _filter(where: Where) -> models.Filter | None:
    """Return the filter of a query by *where*; `None` for all points."""
    must: list[models.Condition] = []
    if where.scopes is not None:
        must.append(models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(map(str, where.scopes)))))
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=list(where.ids)))
    if where.days != ALWAYS:
        since, until = (day.toordinal() if day else None for day in (where.days.since, where.days.until))
        must.append(models.FieldCondition(key="day", range=models.Range(gte=since, lte=until)))
    return models.Filter(must=must) if must else None


def _id(stored: models.Record | models.ScoredPoint) -> PointId:
    return PointId(int(stored.id))


def _struct(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {"bm25": _sparse(point.bm25), "bm25_context": _sparse(point.bm25_context)}
    if point.dense is not None and np.any(point.dense):
        vectors["dense"] = point.dense.tolist()
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(payload_of(point.entry)))


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _nearest(vector: SparseVector | FloatArray) -> Any:
    return _sparse(vector) if isinstance(vector, SparseVector) else vector.tolist()
