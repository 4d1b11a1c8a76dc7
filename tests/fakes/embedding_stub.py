"""Provider of embeddings and reranking on loopback: Cohere's and OpenAI's protocols, with faults.

Its vectors are those of `WordsEmbedder`, so its results are predictable. Cohere's requests are checked against its
published schema if that is present beside the repository. It runs on its own thread, since its clients may block.
"""

import functools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from jsonschema import Draft202012Validator

from tests.fakes.cohere_stub import SCHEMA_FILE
from tests.fakes.memory import WordsEmbedder
from tests.fakes.patience import PATIENCE_S

Body = dict[str, Any]
Answer = tuple[int, Mapping[str, str], Body | bytes]
Fault = Callable[[], Answer]


def refusal(status: int, **headers: str) -> Fault:
    """Return an HTTP error; underscores in header names are hyphens."""
    return lambda: (status, {name.replace("_", "-"): value for name, value in headers.items()}, {"message": "no"})


class EmbeddingStub:
    """`faults` are used up first, one per request; then everything is answered."""

    def __init__(self, dimension: int = 16) -> None:
        self.bodies: list[Body] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.problems: list[str] = []
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self.let_go = threading.Event()
        """Set to release hanging requests."""
        self.at_once = 0
        self.most_at_once = 0
        self._dimension = dimension
        self._lock = threading.Lock()
        self._words = WordsEmbedder(dimension=dimension)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, answer = stub.answer(self.path, body, self.headers.get("Authorization", ""))
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                with suppress(ConnectionError):  # the client may have disconnected
                    self.end_headers()
                    self.wfile.write(data)

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

    def hang(self) -> Answer:
        """Send no answer until `let_go` is set."""
        self.let_go.wait(PATIENCE_S)
        return 503, {}, {}

    @property
    def texts(self) -> list[str]:
        """All texts received, queries included."""
        return [text for body in self.bodies for text in _texts(body)]

    def answer(self, path: str, body: Body, key: str) -> Answer:
        """Answer one request by the script."""
        with self._lock:
            self.bodies.append(body)
            self.paths.append(path)
            self.keys.append(key)
            self.problems += _problems(path, body)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            fault = self.faults.pop(0) if self.faults else self.always
        try:
            return fault() if fault else (200, {}, self._right(path, body))
        finally:
            with self._lock:
                self.at_once -= 1

    def _right(self, path: str, body: Body) -> Body:
        if path.endswith("/rerank"):
            return {"id": "1", "results": _reranked(body)}
        vectors = [vector.pooled.tolist() for vector in self._words.embed(_texts(body))]
        if path == "/v2/embed":
            return {"id": "1", "embeddings": {"float": vectors}, "api_version": {"version": "2"}}
        rows = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "data": rows[::-1], "model": body["model"]}


def _texts(body: Body) -> Sequence[str]:
    found: Sequence[str] = body.get("texts") or body.get("input") or [body.get("query", ""), *body.get("documents", ())]
    return found


def _reranked(body: Body) -> list[Body]:
    """Longest first: an order that no fusion gives."""
    order = sorted(range(len(body["documents"])), key=lambda number: -len(body["documents"][number]))
    return [{"index": n, "relevance_score": 1 - place / 100} for place, n in enumerate(order)][: body.get("top_n")]


def _problems(path: str, body: Body) -> list[str]:
    """Return the faults that Cohere would refuse; OpenAI's requests are checked by the tests themselves."""
    validator = _validator(path) if path.startswith("/v2/") else None
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body)] if validator else []


@functools.cache
def _validator(path: str) -> Draft202012Validator | None:
    if not SCHEMA_FILE.exists():
        return None
    place = f"#/paths/{path.replace('/', '~1')}/post/requestBody/content/application~1json/schema"
    return Draft202012Validator({**json.loads(SCHEMA_FILE.read_text("utf-8")), "$ref": place})
