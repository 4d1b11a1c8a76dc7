"""Serves an HTTP application inside the gateway's own event loop, and knows its valid hosts."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import ConfigError
from gateway.runtime.http_connections import Connections, Listener, bounded, connection_limits
from gateway.runtime.http_library import Config, Server
from workspaces.lazy_pattern import lazy_pattern
from workspaces.secrets import redact_bytes

GRACE_S = 2
"""Seconds that open requests may continue when the gateway stops."""
_HOST = lazy_pattern(
    r"(?:\[(?P<numeric>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9.]{1,45}))(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)
"""A whole Host header: rejects anything that a URL parser would treat as a path, a user or a fragment."""
_LAST_PORT = 65_535


@asynccontextmanager
async def serving(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    grace_s: int = GRACE_S,
    key: str = "gateway.port",
    on_stop: Callable[[], None] | None = None,
) -> AsyncIterator[str]:
    """Serve *app* while the block runs; yields the address. Port 0 is a free one.

    At the end, requests may continue for *grace_s* seconds before they are cut; *on_stop* ends those that would never
    end by themselves.

    Raises ConfigError, which names the setting *key*, if the port is not available.
    """
    connections = Connections(connection_limits())
    listener = Listener(listening(host, port, key), connections)
    settings = Config(
        without_secrets(app),
        http=bounded(connections),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=connections.limits.idle_s,  # type: ignore[arg-type]  # it goes to `call_later`
        timeout_graceful_shutdown=grace_s,
    )
    server = _UvicornServer(settings)
    with closing(listener):  # also if the block fails before the server has begun
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[listener]))
            try:
                yield _address(listener)
            finally:
                if on_stop is not None:
                    on_stop()
                server.should_exit = True


def without_secrets(app: ASGIApp) -> ASGIApp:
    """Return *app* with known secrets redacted from its responses; chunks of a stream are redacted one by one.

    A file sent in chunks after its length stays as it is: only the page has such files.
    """

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect):  # the client is gone
            await app(scope, receive, _RedactedResponse(send))

    return answered


class _RedactedResponse:
    """Sends a response without known secrets; a head with a length waits for the body."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None
        self._is_sized = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_sized = "content-length" in MutableHeaders(raw=message["headers"])
            if self._is_sized:
                self._head = message
                return
        elif not self._is_sized:
            message = _redact_message(message)
        elif self._head is not None:
            head, self._head = self._head, None
            if not message.get("more_body"):
                before, message = message, _redact_message(message)
                if message is not before:
                    MutableHeaders(raw=head["headers"])["content-length"] = str(len(message["body"]))
            await self._send(head)
        await self._send(message)


def _redact_message(message: Message) -> Message:
    body = message.get("body", b"")
    return message if (clean := redact_bytes(body)) is body else {**message, "body": clean}


class _UvicornServer(Server):
    """Ignores signals: they are the gateway's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def is_numeric_or_local(host: str) -> bool:
    """Say whether a Host header names an IP address or `localhost`, with or without a port."""
    found = _HOST.fullmatch(host)
    if found is None or int(found["port"] or 0) > _LAST_PORT:
        return False
    name = found["numeric"] or found["name"].lower()
    try:
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def listening(host: str, port: int, key: str) -> socket.socket:
    """Return a listening socket. Raises ConfigError, which names the setting *key*, if the port is not available."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family)
    except OSError as exc:
        why = str(exc.strerror).partition(" (")[0]  # Python adds the address
        raise ConfigError(f"{key}: cannot listen on {host} port {port}: {why}; choose another") from exc
    # Connections inherit it. asyncio sets it for sockets that name their protocol, but Python's own do not: without it
    # the body of a response waits for the acknowledgement of its head, which the other side delays by 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:  # every interface: this machine reaches it on loopback
        host = "::1" if address.version == 6 else "127.0.0.1"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"
