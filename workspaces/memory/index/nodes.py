"""Requests to the nodes of a Qdrant server: each goes to one node, and to the next while that one cannot answer.

A request that failed is repeated, because each is idempotent: on another node, or once on the only one if it failed
immediately. Every other fault is an EngineAwayError that says what to do; neither the request nor the key is in it.
"""

import ssl
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import httpx
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from workspaces.memory.index.engine import EngineAwayError
from workspaces.memory.index.settings import QdrantServer

AGAIN_AFTER_S = 0.05
"""Delay before a request is repeated after a transient fault; a search waits 0.6 seconds in all."""
BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses of a server, or a proxy, that may succeed in a moment, or on another node."""
SEARCH_S = 1
"""Time for one node's answer to a question where another node may be asked; the least that the client takes."""
T = TypeVar("T")


class Nodes:
    """The nodes of one server, of which one is asked until it fails."""

    def __init__(self, clients: Sequence[QdrantClient]) -> None:
        self._clients = tuple(clients)
        self._preferred = 0

    @property
    def patience_s(self) -> int | None:
        """Time for an answer to a question; `None`: as for any other request."""
        return SEARCH_S if len(self._clients) > 1 else None

    def ask(self, request: Callable[[QdrantClient], T], *, is_change: bool = False) -> T:
        """Return the answer to *request* from the first node that has one. Raises EngineAwayError.

        May be called from several threads. A change that waits for another node says nothing of the one that was asked.
        """
        is_alone, first = len(self._clients) == 1, self._preferred
        for left in reversed(range(max(len(self._clients), 2))):
            try:
                return request(self._clients[first])
            except (QdrantException, ApiException, ValueError, OSError) as exc:
                if not left or not _may_be_over(exc, is_alone=is_alone):
                    raise EngineAwayError(_told(exc)) from exc
            first = (first + 1) % len(self._clients)
            self._preferred = self._preferred if is_change else first
            time.sleep(AGAIN_AFTER_S if is_alone else 0)
        raise AssertionError("the last attempt answers or raises")


def connected(server: QdrantServer, api_key: str) -> Nodes:
    """Return the nodes of *server*, without a request. Raises EngineAwayError for a file that cannot be read."""
    try:
        verify = ssl.create_default_context(cafile=server.ca_file) if server.ca_file else True
    except OSError as exc:
        raise EngineAwayError(f"qdrant.ca_file cannot be read: {exc}") from exc
    return Nodes([_client(url, server, api_key, verify) for url in (server.url, *server.other_urls)])


def _client(url: str | None, server: QdrantServer, api_key: str, verify: ssl.SSLContext | bool) -> QdrantClient:
    return QdrantClient(
        url=url,
        headers={"api-key": api_key} if api_key else None,  # the argument for it warns on stderr of plain http
        timeout=max(round(server.timeout_s), 1),
        check_compatibility=False,
        trust_env=False,
        verify=verify,
    )


def _may_be_over(exc: Exception, *, is_alone: bool) -> bool:
    """Tell whether another attempt may succeed; a timeout of the only node would only repeat itself."""
    if isinstance(exc, ResponseHandlingException):
        is_transport = isinstance(exc.source, httpx.TransportError)
        return is_transport and not (is_alone and isinstance(exc.source, httpx.TimeoutException))
    return isinstance(exc, UnexpectedResponse) and exc.status_code in BUSY


def _told(exc: Exception) -> str:
    """Say what is wrong with the server, and what to do, as far as known."""
    if isinstance(exc, UnexpectedResponse):
        return _refusal(exc.status_code or 0, exc.content.lower())
    if isinstance(exc, ResponseHandlingException):
        if "certificate" in str(exc.source).lower():
            return "the Qdrant server's certificate is not trusted: name its authority in qdrant.ca_file"
        if isinstance(exc.source, httpx.TransportError):
            kind = type(exc.source).__name__
            return f"the Qdrant server does not answer ({kind}): start it, or correct qdrant.url"
        return "something else than Qdrant answers: correct qdrant.url"
    return f"the Qdrant server cannot be used now ({type(exc).__name__})"


def _refusal(status: int, content: bytes) -> str:
    if status in {401, 403}:
        return "the Qdrant server rejects the API key: name the variable that holds it in qdrant.api_key_env"
    if b"no space left" in content or b"disk space" in content:
        return "a disk of the Qdrant server is full: free space there, or enlarge it"
    if b"strict mode" in content:
        return "the Qdrant server's strict mode refuses the index: set search_allow_exact, and raise its other limits"
    return f"the Qdrant server cannot be used now (status {status}): see its log"
