"""Discord on loopback, in front of `tests.fakes.discord_api`: its REST API, its gateway, its file server.

The gateway is a WebSocket with HELLO, IDENTIFY, READY, heartbeats, RESUME and INVALID_SESSION, compressed as requested
by the SDK. Inside a test: `async with Discord() as server`.
"""

import asyncio
import json
import socket
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import WSMsgType, web

from adapters.discord import Servers
from adapters.discord.connection import CALL_TIMEOUT_S
from tests.fakes.discord_api import Answer, DiscordApi, Posted, Request
from tests.fakes.discord_shapes import BOT_ID, GUILD, MESSAGE_CONTENT, ROLES, TOKEN, Json, user
from tests.fakes.patience import PATIENCE_S

__all__ = ["Discord", "Fault", "Posted", "servers_of"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault sent in place of an answer; a request that it *accepts* takes effect before."""

    path: str = "/messages"
    """Suffix of the request's path."""
    status: int = 200
    answer: Json | None = None
    page: str | None = None
    """Sent as an HTML page instead of Discord's JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    accepts: bool = False
    drops: bool = False
    """The connection is reset without an answer."""
    hangs: bool = False
    """No answer until the client disconnects."""


class Discord(DiscordApi):
    """Discord's state for one bot, and its servers."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[str, str, Any]] = []
        """Method, path and body of every REST call."""
        self.heard: list[Json] = []
        """Payloads sent by the bot over the gateway."""
        self.faults: list[Fault] = []
        self.token = TOKEN
        self.may_read_content = True
        self.resume_url: str | None = None
        """Resume address sent to the bot; by default the initial one."""
        self._session = ""
        self._log: list[Json] = []
        self._unsaid: list[tuple[str, Json]] = []
        self.has_forgotten = False
        """A session was lost, with all messages until the next one began."""
        self._sockets: dict[web.WebSocketResponse, _Wire] = {}
        self._waiting: set[asyncio.Event] = set()
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        app.router.add_route("*", "/api/{path:.*}", self._rest)
        app.router.add_get("/attachments/{path:.*}", self._file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        self._port = 0

    @property
    def url(self) -> str:
        """The base URL of the REST API."""
        return f"http://127.0.0.1:{self._port}/api"

    @property
    def cdn_url(self) -> str:
        """Address of the file server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def gateway_url(self) -> str:
        """Address of the gateway."""
        return f"ws://127.0.0.1:{self._port}/gateway"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        listener = socket.create_server(("127.0.0.1", 0))
        self._port = listener.getsockname()[1]
        await web.SockSite(self._runner, listener).start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Shut down: connections are refused from now on."""
        for ws in list(self._sockets):
            await ws.close(code=1001)
        await self._runner.cleanup()

    # --- control by tests

    def dispatch(self, name: str, data: Json) -> None:
        """Send an event to the bot; before its first session, once that begins, and between two sessions never."""
        if not self._session:
            self._unsaid += [] if self.has_forgotten else [(name, data)]
            return
        event = {"op": 0, "t": name, "s": len(self._log) + 1, "d": data}
        self._log.append(event)
        for wire in self._sockets.values():
            if wire.has_session:
                wire.out.put_nowait(event)

    def sends(self, payload: Json) -> None:
        """Send *payload* to every connected client."""
        for wire in self._sockets.values():
            wire.out.put_nowait(payload)

    def replay(self, name: str) -> None:
        """Send the last event of this name again, as after a RESUME from before it."""
        self.sends(next(event for event in reversed(self._log) if event["t"] == name))

    def drop(self) -> None:
        """Drop every gateway connection without a close frame."""
        for wire in self._sockets.values():
            _reset(wire.transport)

    def forget_session(self) -> None:
        """Make every session unresumable; messages in between are only in the histories."""
        self._session, self.has_forgotten = "", True
        self._log.clear()

    def fault(self, *faults: Fault) -> None:
        """Answer the next requests of each fault's path with it, one request per fault."""
        self.faults.extend(faults)

    async def until(self, is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Wait until *is_so*, checked after every change. Raises TimeoutError."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(timeout_s):
                while not is_so():
                    await changed.wait()
                    changed.clear()
        finally:
            self._waiting.discard(changed)

    async def wait_for_posted(self, number: int) -> list[Posted]:
        """Wait until this number of messages exists in total."""
        await self.until(lambda: len(self.posted) >= number)
        return self.posted

    async def wait_for_op(self, op: int, number: int = 1) -> None:
        """Wait until the bot has sent *op* this number of times."""
        await self.until(lambda: len(self.ops(op)) >= number)

    def ops(self, op: int) -> list[Json]:
        """Payloads sent by the bot with *op*."""
        return [said for said in self.heard if said["op"] == op]

    def calls(self, ending: str) -> list[Any]:
        """Bodies of REST calls to paths with this ending."""
        return [body for _, path, body in self.requests if path.endswith(ending)]

    # --- REST API

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        body, upload = await _read(request)
        self.requests.append((request.method, path, body))
        self.notify()
        if request.headers.get("Authorization") != f"Bot {self.token}":
            return _answer({"message": "401: Unauthorized", "code": 0}, 401)
        fault = next((fault for fault in self.faults if path.endswith(fault.path)), None)
        if fault is not None:
            self.faults.remove(fault)
            if not fault.accepts:
                return await _meet(fault, request)
        answer = self.call(Request(request.method, path, request.query, body, upload))
        return _response(answer) if fault is None else await _meet(fault, request)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        fault = next((fault for fault in self.faults if request.path.endswith(fault.path)), None)
        if fault is not None:
            self.faults.remove(fault)
            return await _meet(fault, request)
        content = self.files.get(request.path.removeprefix("/"))
        return web.Response(status=404) if content is None else web.Response(body=content)

    # --- gateway

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        assert request.transport is not None
        wire = self._sockets[ws] = _Wire(ws, request.transport, request.query.get("compress") == "zlib-stream")
        wire.out.put_nowait({"op": 10, "d": {"heartbeat_interval": 30_000}})
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(wire.write())
                async for frame in ws:
                    if frame.type is WSMsgType.TEXT:
                        await self._hear(wire, json.loads(frame.data))
                writing.cancel()
        finally:
            del self._sockets[ws]
        return ws

    async def _hear(self, wire: "_Wire", said: Json) -> None:
        self.heard.append(said)
        self.notify()
        match said["op"]:
            case 1:
                wire.out.put_nowait({"op": 11})
            case 2 if said["d"]["token"] != self.token:
                await wire.ws.close(code=4004, message=b"Authentication failed.")
            case 2 if said["d"]["intents"] & MESSAGE_CONTENT and not self.may_read_content:
                await wire.ws.close(code=4014, message=b"Disallowed intent(s).")
            case 2:
                wire.has_session = True
                self._begin()
            case 6 if said["d"]["session_id"] == self._session:
                for event in self._log[said["d"]["seq"] :]:
                    wire.out.put_nowait(event)
                wire.has_session = True
                self.dispatch("RESUMED", {})
            case 6:
                wire.out.put_nowait({"op": 9, "d": False})

    def _begin(self) -> None:
        self._session, self.has_forgotten = f"session-{self.new_id()}", False
        self._log.clear()
        self.dispatch(
            "READY",
            {
                "v": 10,
                "user": user(BOT_ID, is_bot=True),
                "session_id": self._session,
                "resume_gateway_url": self.resume_url or self.gateway_url,
                "guilds": [{"id": GUILD, "unavailable": True}],
            },
        )
        here = [
            channel | {"last_message_id": self.newest_in(channel["id"])}
            for channel in self.channels.values()
            if channel.get("guild_id") == GUILD
        ]
        threads = [channel for channel in here if "parent_id" in channel]
        plain = [channel for channel in here if "parent_id" not in channel]
        self.dispatch("GUILD_CREATE", {"id": GUILD, "channels": plain, "threads": threads, "roles": ROLES})
        unsaid, self._unsaid = self._unsaid, []
        for name, data in unsaid:
            self.dispatch(name, data)

    def notify(self) -> None:
        """Wake all waiters for a change."""
        for changed in self._waiting:
            changed.set()


class _Wire:
    """One gateway connection."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport, compresses: bool) -> None:
        self.ws = ws
        self.transport = transport
        self.out: asyncio.Queue[Json] = asyncio.Queue()
        self.has_session = False
        """It has started or resumed a session: only then does the bot receive events."""
        self._zlib = zlib.compressobj() if compresses else None

    async def write(self) -> None:
        """Send the payloads in `out`, in order."""
        with suppress(ConnectionError):
            while not self.ws.closed:
                text = json.dumps(await self.out.get())
                if self._zlib is None:
                    await self.ws.send_str(text)
                else:
                    await self.ws.send_bytes(self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH))


def servers_of(server: Discord, call_timeout_s: float = CALL_TIMEOUT_S) -> Servers:
    """Return the addresses of *server* for an adapter, and its timeout of each call."""
    return Servers(server.url, server.gateway_url, server.cdn_url, call_timeout_s)


async def _read(request: web.Request) -> tuple[Any, bytes | None]:
    """Return the body and its file."""
    if request.content_type != "multipart/form-data":
        return await request.json() if request.can_read_body else {}, None
    form = await request.post()
    file = form["files[0]"]
    assert isinstance(file, web.FileField)
    return json.loads(str(form["payload_json"])), file.file.read()


def _response(answer: Answer) -> web.Response:
    return web.Response(status=204) if answer.content is None else _answer(answer.content, answer.status)


def _answer(content: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """The SDK rejects a charset after the type."""
    given = {"Content-Type": "application/json", **(headers or {})}
    return web.Response(status=status, body=json.dumps(content).encode(), headers=given)


def _reset(transport: asyncio.BaseTransport | None) -> None:
    if isinstance(transport, asyncio.Transport):
        reset = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        transport.abort()


async def _meet(fault: Fault, request: web.Request) -> web.Response:
    if fault.hangs:
        await asyncio.Event().wait()
    if fault.drops:
        _reset(request.transport)
    if fault.page is not None:
        return web.Response(status=fault.status, text=fault.page, content_type="text/html", headers=fault.headers)
    return _answer(fault.answer or {}, fault.status, fault.headers)
