"""Limits of the HTTP server's connections: how many are open at once, and how long a client may take."""

import asyncio
import resource
import socket
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import h11
import structlog
from msgspec import Struct

from gateway.runtime.http_library import Config, H11Protocol, ServerState

log = structlog.get_logger()

MOST = 512
"""Connections of a server. Our choice: each may hold a body of `web.max_body_kb`."""
SHARE = 4
"""One connection per so many files that the process may open: two servers run side by side, and the database, the bots
and
git need the rest.
"""
CLOSING = 16
"""Connections beyond the cap while as many are being closed, which takes one iteration of the event loop."""
WARNING_EVERY_S = 60.0


class ConnectionLimits(Struct, frozen=True):
    """Limits of a client, known or not. Times are in seconds; our choice."""

    most: int
    """Connections at once."""
    head_s: float = 10.0
    """Time for the head of a request, counted from its first byte, or from the start of the connection."""
    body_s: float = 60.0
    """Time for the body of a request, and for the client to read an answer."""
    idle_s: float = 75.0
    """Time between an answer and the next request: nginx keeps a connection for 60 s, AWS' balancers too.

    Whoever closes first must be the client, or its next request can meet the close.
    """


def connection_limits() -> ConnectionLimits:
    """Return the limits of a server of this process, which may have a limited number of files open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ConnectionLimits(MOST if files == resource.RLIM_INFINITY else max(1, min(MOST, files // SHARE)))


class Connections:
    """The open connections of one server; a new one replaces the one that has kept us waiting longest."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open = 0
        self._begun = 0
        """Accepted connections without a protocol yet: they get one within two iterations of the event loop."""
        self._waiting: dict[BoundedProtocol, None] = {}
        """Those that wait for their client, longest first."""
        self._cut = 0
        self._warned_at = -WARNING_EVERY_S

    def must_wait(self) -> bool:
        """Return whether to accept nothing until the event loop has closed or begun its pending connections."""
        is_full = self._open >= self.limits.most
        return self._open >= self.limits.most + CLOSING or (is_full and not self._waiting and self._begun > 0)

    def admit(self) -> bool:
        """Make room for one more connection, and count it; return whether there is room."""
        if self._open >= self.limits.most:
            self._warn()
            if not self._waiting:
                return False
            next(iter(self._waiting)).cut(503)
        self._open += 1
        self._begun += 1
        return True

    def begun(self) -> None:
        """Record that an admitted connection has its protocol."""
        self._begun -= 1

    def waits(self, connection: "BoundedProtocol") -> None:
        """Record that a connection waits for its client from now on."""
        self._waiting[connection] = None

    def works(self, connection: "BoundedProtocol") -> None:
        """Record that a connection waits for us, or for nothing."""
        self._waiting.pop(connection, None)

    def closed(self, connection: "BoundedProtocol") -> None:
        """Record that a connection has ended."""
        self.works(connection)
        self._open -= 1

    def _warn(self) -> None:
        self._cut += 1
        now = asyncio.get_running_loop().time()
        if now - self._warned_at >= WARNING_EVERY_S:
            log.warning("too many HTTP connections: the longest idle are closed", most=self.limits.most, cut=self._cut)
            self._warned_at, self._cut = now, 0


class Listener(socket.socket):
    """A listening socket that accepts no more connections than there is room for.

    asyncio accepts all queued connections before any of them gets a protocol: a limit there comes too late.
    """

    def __init__(self, plain: socket.socket, connections: Connections) -> None:
        """Replace *plain*, which is detached."""
        super().__init__(plain.family, plain.type, plain.proto, plain.detach())
        self._connections = connections

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection. Raises BlockingIOError if none is available now."""
        if self._connections.must_wait():
            raise BlockingIOError
        connection, address = super().accept()
        if self._connections.admit():
            return connection, address
        with connection:
            connection.setblocking(False)
            connection.send(_answer(503))
        raise BlockingIOError


class _Debt(NamedTuple):
    """The part of a request that we wait for, and the deadline; none where uvicorn has one."""

    what: str
    request: int
    seconds: float | None


class BoundedProtocol(H11Protocol):
    """A connection that ends if its client takes too long, or if others need the room."""

    def __init__(
        self,
        connections: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._bounds = connections
        self._owed: _Debt | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._bounds.begun()
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._bounds.closed(self)
        super().connection_lost(exc)

    def cut(self, status: int) -> None:
        """Close the connection; a client that has begun a request receives *status*, if no answer has begun."""
        self._forget()
        self._bounds.works(self)
        has_begun = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        if has_begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and not self.transport.is_closing():
            self.transport.write(_answer(status))
        self.transport.abort()

    def _look(self) -> None:
        """Start the deadline of the client, once for each debt."""
        owed = self._debt()
        if owed == self._owed:
            return
        self._forget()
        self._bounds.works(self)
        self._owed = owed
        if owed is not None:
            self._bounds.waits(self)
            if owed.seconds is not None:
                self._deadline = self.loop.call_later(owed.seconds, self.cut, 408)

    def _debt(self) -> _Debt | None:
        limits, request = self._bounds.limits, id(self.cycle)
        if self.flow.write_paused or (self.transport.is_closing() and self.transport.get_write_buffer_size()):
            return _Debt("reading", request, limits.body_s)
        if self.transport.is_closing():
            return None
        if self.conn.their_state is h11.IDLE:
            if self.timeout_keep_alive_task is not None and not self.conn.trailing_data[0]:
                return _Debt("next request", request, None)
            return _Debt("head", request, limits.head_s)
        if self.conn.their_state is h11.SEND_BODY:
            return _Debt("body", request, limits.body_s)
        return None

    def _forget(self) -> None:
        self._owed = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded(connections: Connections) -> type[asyncio.Protocol]:
    """Return the protocol factory for uvicorn."""
    make: Callable[..., BoundedProtocol] = partial(BoundedProtocol, connections)
    return cast("type[asyncio.Protocol]", make)  # it only calls it


_REASONS = {408: "Request Timeout", 503: "Service Unavailable"}


def _answer(status: int) -> bytes:
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nconnection: close\r\ncontent-length: 0\r\n"
    return (head + ("retry-after: 10\r\n\r\n" if status == 503 else "\r\n")).encode()
