"""Collections on a Qdrant server, queried exactly as in the embedded engine.

A collection may hold several agents: then every point carries its agent, ids are the agent's own, and every request is
limited to one agent by the same function that limits it to scopes.

A server is remote, so it may be gone or slow. A request that failed immediately is repeated once: each is idempotent.
Every other fault is an EngineAwayError, and after one the server is left alone for a moment, so that the worker stays
free for requests that need no server.
"""

import hashlib
import logging
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from workspaces.memory.entry import Entry
from workspaces.memory.index.engine import EngineAwayError, FloatArray, Point, PointId
from workspaces.memory.index.hybrid import ALWAYS, Leg, Shard, VectorQuery, Where, entry_of, payload_of
from workspaces.memory.index.settings import ONE_NODE, QdrantServer
from workspaces.memory.text.sparse import SparseVector

SCROLL = 10_000
PAUSE_S = 5.0
"""Pause after a failure of the server."""
AGAIN_AFTER_S = 0.05
"""Delay before a request is repeated after a transient fault; a search waits 0.6 seconds in all."""
BUSY = frozenset({429, 502, 503, 504})
"""HTTP statuses of a server, or a proxy, that may succeed in a moment."""
TENANT_KEY = "agent_id"
EVERYWHERE = Where(None)
_EXACTLY = models.SearchParams(exact=True)
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tenant:
    """Owner of points in a collection: one agent, or all points if the collection is the agent's alone."""

    agent: str = ""
    """Empty: the only one."""

    @property
    def payload(self) -> dict[str, str]:
        """Payload added to each point."""
        return {TENANT_KEY: self.agent} if self.agent else {}

    def stored(self, id_: PointId) -> int:
        """Return the number under which the server stores the point *id_*: two agents may have the same note."""
        return id_ ^ self._mask

    def own(self, stored: int | str | uuid.UUID) -> PointId:
        """Return the id of the point stored as *stored*."""
        return PointId(int(stored) ^ self._mask)

    def filter(self, where: Where) -> models.Filter:
        """Return the filter of every request: this agent, and *where*."""
        must: list[models.Condition] = []
        if self.agent:
            must.append(models.FieldCondition(key=TENANT_KEY, match=models.MatchValue(value=self.agent)))
        if where.scopes is not None:
            must.append(models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(map(str, where.scopes)))))
        if where.ids is not None:
            must.append(models.HasIdCondition(has_id=[self.stored(id_) for id_ in where.ids]))
        if where.days != ALWAYS:
            since, until = (day.toordinal() if day else None for day in (where.days.since, where.days.until))
            must.append(models.FieldCondition(key="day", range=models.Range(gte=since, lte=until)))
        return models.Filter(must=must)

    @property
    def _mask(self) -> int:
        return int.from_bytes(hashlib.blake2b(self.agent.encode(), digest_size=8).digest()) >> 1 if self.agent else 0


ALONE = Tenant()


class ServerShard:
    """A `Shard` of *tenant* in the collection *name*, which is created for pooled vectors of length *dimension*.

    0 is no pooled vectors.
    """

    def __init__(
        self,
        client: QdrantClient,
        name: str,
        dimension: int,
        tenant: Tenant = ALONE,
        nodes: QdrantServer = ONE_NODE,
    ) -> None:
        """Raises EngineAwayError."""
        self._client = client
        self._name = name
        self._tenant = tenant
        self._agreed: Any = nodes.read_consistency
        _with_retry(lambda: self._make(dimension, nodes))

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        """Return the answers to *queries*, in order, from one request."""
        if not queries:
            return []
        requests = [self._request(query) for query in queries]
        answers = _with_retry(lambda: self._client.query_batch_points(self._name, requests, consistency=self._agreed))
        return [self._leg(answer.points) for answer in answers]

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        """Return the existing entries among *ids*."""
        if not ids:
            return {}
        wanted = self._tenant.filter(Where(None, ids=frozenset(ids)))
        records, _ = _with_retry(
            lambda: self._client.scroll(self._name, wanted, limit=len(ids), with_payload=True, consistency=self._agreed)
        )
        return {self._tenant.own(record.id): entry_of(record.payload) for record in records if record.payload}

    def size(self) -> int:
        """Return the number of points."""
        everything = self._tenant.filter(EVERYWHERE)
        return _with_retry(lambda: self._client.count(self._name, everything, exact=True)).count

    def ids(self) -> set[PointId]:
        """Return the ids of all points."""
        found: set[PointId] = set()
        offset: Any = None
        while True:
            records, offset = _with_retry(partial(self._page, offset))
            found.update(self._tenant.own(record.id) for record in records)
            if offset is None:
                return found

    def upsert(self, points: Sequence[Point]) -> None:
        """Store *points*; those with a known id are replaced."""
        if points:
            stored = [_struct(point, self._tenant) for point in points]
            _with_retry(lambda: self._client.upsert(self._name, stored, wait=True))

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove the points; unknown ids are ignored."""
        if ids:
            self._delete(Where(None, ids=frozenset(ids)))

    def clear(self) -> None:
        """Remove all points of the tenant."""
        self._delete(EVERYWHERE)

    def sweep(self) -> None:
        """No-op: a server optimises by itself."""

    def flush(self) -> None:
        """No-op: a server answers a change (`wait=True`) when its log is written."""

    def close(self) -> None:
        """No-op: the connection belongs to the shelf."""

    def _make(self, dimension: int, nodes: QdrantServer) -> None:
        """Create the collection and its indexes, as far as missing: an earlier attempt may have been interrupted."""
        if not self._client.collection_exists(self._name):
            try:
                self._client.create_collection(self._name, **_layout(dimension), **_replication(nodes))
            except UnexpectedResponse:
                if not self._client.collection_exists(self._name):  # created by another gateway meanwhile
                    raise
        known = self._client.get_collection(self._name).payload_schema
        for key, kind in _indexes(self._tenant).items():
            if key not in known:
                self._client.create_payload_index(self._name, key, kind)

    def _page(self, offset: Any) -> tuple[list[models.Record], Any]:
        return self._client.scroll(
            self._name,
            self._tenant.filter(EVERYWHERE),
            limit=SCROLL,
            offset=offset,
            with_payload=False,
            consistency=self._agreed,
        )

    def _request(self, query: VectorQuery) -> models.QueryRequest:
        return models.QueryRequest(
            query=models.NearestQuery(nearest=_nearest(query.vector)),
            using=query.using,
            filter=self._tenant.filter(query.where),
            limit=query.limit,
            score_threshold=query.above,
            params=_EXACTLY,
        )

    def _leg(self, points: Sequence[models.ScoredPoint]) -> Leg:
        ids = np.array([self._tenant.own(point.id) for point in points], np.int64)
        return Leg(ids, np.array([point.score for point in points], np.float32))

    def _delete(self, where: Where) -> None:
        selected = models.FilterSelector(filter=self._tenant.filter(where))
        _with_retry(lambda: self._client.delete(self._name, selected, wait=True))


class ServerCollections:
    """Collections on one server, named after the gateway's prefix, the agent (or `shared.`) and the index's layout."""

    def __init__(self, server: QdrantServer, client: QdrantClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._client = client
        self._clock = clock
        self._away_until = 0.0

    @property
    def name(self) -> str:
        """The server, and the prefix of our collections on it."""
        return f"{self._server.url} {self._server.layout} {self._server.prefix}"

    def open(self, folder: Path, dimension: int) -> Shard:
        """Return the collection of the index folder's *folder*. Raises EngineAwayError."""
        if self._clock() < self._away_until:
            raise EngineAwayError("the Qdrant server did not answer a moment ago")
        try:
            name, size, tenant = self._place(folder, dimension)
            return ServerShard(self._client, name, size, tenant, self._server)
        except EngineAwayError:
            self._away_until = self._clock() + PAUSE_S
            raise

    def remove(self, folder: Path) -> None:
        """Remove the agent's points and their folder; a server that is unavailable keeps them, unused."""
        shutil.rmtree(folder, ignore_errors=True)
        name, _, tenant = self._place(folder, 0)
        try:
            if not tenant.agent:
                _with_retry(lambda: self._client.delete_collection(name))
            elif _with_retry(lambda: self._client.collection_exists(name)):
                ServerShard(self._client, name, 0, tenant).clear()
        except EngineAwayError as exc:
            _log.warning("an old collection stays on the Qdrant server: %s", exc)

    def _place(self, folder: Path, dimension: int) -> tuple[str, int, Tenant]:
        """Return collection, dimension and tenant of *folder*; no agent's name contains a dot."""
        agent = folder.parent.parent.name
        match self._server.layout:
            case "agent":
                return f"{self._server.prefix}_{agent}_{folder.name}", dimension, ALONE
            case "shared":
                return f"{self._server.prefix}_shared.{folder.name}", dimension, Tenant(agent)


def connect(server: QdrantServer, api_key: str = "") -> ServerCollections:
    """Return the shelf on *server*, without a request."""
    client = QdrantClient(
        url=server.url,
        api_key=api_key or None,
        timeout=max(round(server.timeout_s), 1),
        check_compatibility=False,
        trust_env=False,
    )
    return ServerCollections(server, client)


def _with_retry(request: Callable[[], T]) -> T:
    """Return the server's answer to *request*, which is repeated once after a transient fault.

    Raises EngineAwayError for every fault of the client; neither the request nor the key is in the message.
    """
    try:
        try:
            return request()
        except (QdrantException, ApiException) as exc:
            if not _may_be_over(exc):
                raise
        time.sleep(AGAIN_AFTER_S)
        return request()
    except (QdrantException, ApiException, ValueError, OSError) as exc:
        raise EngineAwayError(f"the Qdrant server cannot be used now ({type(exc).__name__})") from exc


def _may_be_over(exc: QdrantException | ApiException) -> bool:
    """Tell whether a connection broke or the server was busy; a timeout would only repeat itself."""
    if isinstance(exc, ResponseHandlingException):
        return isinstance(exc.source, httpx.TransportError) and not isinstance(exc.source, httpx.TimeoutException)
    return isinstance(exc, UnexpectedResponse) and exc.status_code in BUSY


def _layout(dimension: int) -> dict[str, Any]:
    """Return the layout in the client's form, a plain dict. HNSW is never built (`m=0`): scanning is exact."""
    dense = {"dense": models.VectorParams(size=dimension, distance=models.Distance.COSINE)} if dimension else {}
    return {
        "vectors_config": dense,
        "sparse_vectors_config": {name: models.SparseVectorParams() for name in ("bm25", "bm25_context")},
        "hnsw_config": models.HnswConfigDiff(m=0),
    }


def _replication(nodes: QdrantServer) -> dict[str, Any]:
    """Return the replication of a new collection; unset values are left to the server."""
    factors = {
        "replication_factor": nodes.replication_factor,
        "write_consistency_factor": nodes.write_consistency_factor,
    }
    return {name: factor for name, factor in factors.items() if factor is not None}


def _indexes(tenant: Tenant) -> dict[str, models.PayloadSchemaType | models.KeywordIndexParams]:
    """Return the payload's indexes; the tenant's lets the server store an agent's points together."""
    keyword, whole = models.PayloadSchemaType.KEYWORD, models.PayloadSchemaType.INTEGER
    by_agent = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return ({TENANT_KEY: by_agent} if tenant.agent else {}) | {"scope": keyword, "day": whole}


def _struct(point: Point, tenant: Tenant) -> models.PointStruct:
    vectors: dict[str, Any] = {"bm25": _sparse(point.bm25), "bm25_context": _sparse(point.bm25_context)}
    if point.dense is not None and np.any(point.dense):
        vectors["dense"] = point.dense.tolist()
    return models.PointStruct(
        id=tenant.stored(point.id), vector=vectors, payload={**payload_of(point.entry), **tenant.payload}
    )


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _nearest(vector: SparseVector | FloatArray) -> Any:
    return _sparse(vector) if isinstance(vector, SparseVector) else vector.tolist()
