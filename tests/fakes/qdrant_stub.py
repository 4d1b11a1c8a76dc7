"""Qdrant server on loopback: parses REST requests into `qdrant_client.models` and executes them in memory.

A request that fits none of the models, which a real server would refuse, is refused with 400.
"""

import json
import re
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models

from tests.fakes.patience import PATIENCE_S

Route = Callable[[str, Any], Any]


class QdrantStub:
    """The part of Qdrant's REST interface used by memory; `is_slow` makes every request hang until it ends.

    `holds_writes` makes those hang that store points, as in a cluster that waits for a node.
    """

    def __init__(self) -> None:
        self.memory = in_memory()
        self.requests: list[str] = []
        self.bodies: list[tuple[str, Any]] = []
        """Body of each request, with its path below the collection."""
        self.keys: set[str] = set()
        self.version = "1.15.4"
        self.ahead_s = 0.0
        """How far its clock is ahead of this machine's."""
        self.is_slow = self.holds_writes = False
        self.fails_with: int | None = None
        self.error = "no"
        """The message of a request that failed."""
        self.hiccups: deque[tuple[int, dict[str, str]]] = deque()
        """Status and headers sent in place of the next answers."""
        self.hides = 0
        """Number of the next existence checks of a collection that are denied."""
        self.lacks_points = False
        """Whether points that are found cannot be read, as from a node that is not in step."""
        self.indexes: dict[str, set[str]] = {}
        """The payload's indexes of each collection; the in-memory mode has none."""
        self.let_go = threading.Event()
        self._lock = threading.Lock()
        self._routes: dict[tuple[str, str], Route] = {
            ("GET", ""): self._info,
            ("GET", "/exists"): self._exists,
            ("PUT", ""): self._create,
            ("DELETE", ""): lambda name, _: self.memory.delete_collection(name),
            ("PUT", "/index"): self._index,
            ("PUT", "/points"): self._upsert,
            ("POST", "/points/delete"): self._delete,
            ("POST", "/points/query/batch"): self._query,
            ("POST", "/points/count"): self._count,
            ("POST", "/points/scroll"): self._scroll,
        }
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.keys.add(self.headers.get("api-key", ""))
                headers: dict[str, str] = {}
                if stub.hiccups and self.path.endswith("/points/query/batch"):
                    status, headers = stub.hiccups.popleft()
                    answer = {"status": {"error": "in a moment"}, "time": 0.0}
                else:
                    status, answer = stub.answer(self.command, self.path, json.loads(data) if data else None)
                body = json.dumps(answer).encode()
                with suppress(ConnectionError):  # the client may have disconnected
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 — the base class's names

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string((timestamp or time.time()) + stub.ahead_s)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class's name
                """No-op: nothing is logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self.memory.close()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Execute one request."""
        if self.is_slow or (self.holds_writes and method == "PUT" and "/points?" in path):
            self.let_go.wait(PATIENCE_S)
        self.requests.append(f"{method} {path}")
        if self.fails_with is None and (told := self._of_itself(path)):
            return 200, told
        match = re.fullmatch(r"/collections/([^/?]+)([^?]*)(?:\?.*)?", path)
        if match is not None and body is not None:
            self.bodies.append((match[2], body))
        route = self._routes.get((method, match[2])) if match else None
        if match is None or route is None or self.fails_with:
            return self.fails_with or 404, {"status": {"error": self.error}, "time": 0.0}
        try:
            with self._lock:
                result = route(match[1], body)
        except ValidationError as exc:
            return 400, {"status": {"error": str(exc)}, "time": 0.0}
        except ValueError as exc:  # the in-memory mode's message for an existing or a missing collection
            return 409, {"status": {"error": str(exc)}, "time": 0.0}
        return 200, {"result": _plain(result), "status": "ok", "time": 0.0}

    def _of_itself(self, path: str) -> Any:
        if path == "/":
            return {"title": "qdrant - vector search engine", "version": self.version}
        return {"result": _plain(self.memory.get_collections()), "status": "ok"} if path == "/collections" else None

    def _exists(self, name: str, _: Any) -> Any:
        is_hidden = self.hides > 0
        self.hides -= is_hidden
        return {"exists": not is_hidden and self.memory.collection_exists(name)}

    def _info(self, name: str, _: Any) -> Any:
        schema = {
            key: models.PayloadIndexInfo(data_type=models.PayloadSchemaType.KEYWORD, points=0)
            for key in self.indexes.get(name, ())
        }
        return self.memory.get_collection(name).model_copy(update={"payload_schema": schema})

    def _index(self, name: str, body: Any) -> Any:
        self.indexes.setdefault(name, set()).add(models.CreateFieldIndex.model_validate(body).field_name)
        return _done(body)

    def _create(self, name: str, body: Any) -> Any:
        asked = models.CreateCollection.model_validate(body)
        return self.memory.create_collection(
            name, vectors_config=asked.vectors or {}, sparse_vectors_config=asked.sparse_vectors
        )

    def _upsert(self, name: str, body: Any) -> Any:
        return self.memory.upsert(name, models.PointsList.model_validate(body).points)

    def _delete(self, name: str, body: Any) -> Any:
        return self.memory.delete(name, models.PointIdsList.model_validate(body))

    def _query(self, name: str, body: Any) -> Any:
        asked = models.QueryRequestBatch.model_validate(body)
        return self.memory.query_batch_points(name, asked.searches)

    def _count(self, name: str, body: Any) -> Any:
        asked = models.CountRequest.model_validate(body)
        return self.memory.count(name, asked.filter, exact=asked.exact or False)

    def _scroll(self, name: str, body: Any) -> Any:
        asked = models.ScrollRequest.model_validate(body)
        records, offset = self.memory.scroll(
            name, asked.filter, limit=asked.limit or 10, offset=asked.offset, with_payload=bool(asked.with_payload)
        )
        return {"points": [] if self.lacks_points else records, "next_page_offset": offset}


def _done(_: Any) -> Any:
    return {"operation_id": 0, "status": "completed"}


def _plain(result: Any) -> Any:
    return TypeAdapter(Any).dump_python(result, mode="json")


def in_memory() -> QdrantClient:
    """Return qdrant-client's own slow mode, which warns that payload indexes and `exact` have no effect there."""
    warnings.filterwarnings("ignore", message="Payload indexes have no effect|Local mode performs exact")
    return QdrantClient(":memory:")
