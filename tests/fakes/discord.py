"""This file is Discord on loopback, in front of `tests.fakes.discord_api`: its REST API, its gateway, its file server.

The gateway is a WebSocket that speaks HELLO, IDENTIFY, READY, heartbeats, RESUME and INVALID_SESSION, compressed as
the SDK asks for. Inside a test: `async with Discord() as server`.
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
    """What one request meets instead of an answer; a request that it *accepts* has its effect before."""

    path: str = "/messages"
    """How the request's path ends."""
    status: int = 200
    answer: Json | None = None
    page: str | None = None
    """Sent as an HTML page instead of Discord's JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    accepts: bool = False
    drops: bool = False
    """The connection is reset and nothing comes back."""
    hangs: bool = False
    """Nothing comes back until the client goes away."""


class Discord(DiscordApi):
    """What Discord knows of one bot, and how the bot reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[str, str, Any]] = []
        """Method, path and body of every REST call."""
        self.heard: list[Json] = []
        """What the bot said at the gateway."""
        self.faults: list[Fault] = []
        self.token = TOKEN
        self.may_read_content = True
        self.resume_url: str | None = None
        """Where the bot is told to resume; not set: where it began."""
        self._session = ""
        self._log: list[Json] = []
        self._unsaid: list[tuple[str, Json]] = []
        self.has_forgotten = False
        """A session was lost, and with it what was said until the next one began."""
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
        """Where the file server is."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def gateway_url(self) -> str:
        """Where the gateway is."""
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
        """Go away: connections are refused from now on."""
        for ws in list(self._sockets):
            await ws.close(code=1001)
        await self._runner.cleanup()

    # What a test tells it.

    def dispatch(self, name: str, data: Json) -> None:
        """Tell the bot of something; before its first session, once that begins, and between two sessions never."""
        if not self._session:
            self._unsaid += [] if self.has_forgotten else [(name, data)]
            return
        event = {"op": 0, "t": name, "s": len(self._log) + 1, "d": data}
        self._log.append(event)
        for wire in self._sockets.values():
            if wire.has_session:
                wire.out.put_nowait(event)

    def sends(self, payload: Json) -> None:
        """Say *payload* to whoever is connected."""
        for wire in self._sockets.values():
            wire.out.put_nowait(payload)

    def replay(self, name: str) -> None:
        """Tell the last event of this name again, as after a RESUME from before it."""
        self.sends(next(event for event in reversed(self._log) if event["t"] == name))

    def drop(self) -> None:
        """Lose every gateway connection, without a goodbye."""
        for wire in self._sockets.values():
            _reset(wire.transport)

    def forget_session(self) -> None:
        """Let no session be resumed; what is said meanwhile stands in the histories alone."""
        self._session, self.has_forgotten = "", True
        self._log.clear()

    def fault(self, *faults: Fault) -> None:
        """Meet the next requests of each fault's path with it, one request a fault."""
        self.faults.extend(faults)

    async def until(self, is_so: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Wait until *is_so*; looked at after every change. Raises TimeoutError."""
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
        """Wait until so many messages are there in all."""
        await self.until(lambda: len(self.posted) >= number)
        return self.posted

    async def wait_for_op(self, op: int, number: int = 1) -> None:
        """Wait until the bot has said *op* so many times."""
        await self.until(lambda: len(self.ops(op)) >= number)

    def ops(self, op: int) -> list[Json]:
        """What the bot said with *op*."""
        return [said for said in self.heard if said["op"] == op]

    def calls(self, ending: str) -> list[Any]:
        """The bodies of REST calls whose path ends so."""
        return [body for _, path, body in self.requests if path.endswith(ending)]

    # The REST API.

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

    # The gateway.

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
        """Wake whoever waits for a change."""
        for changed in self._waiting:
            changed.set()


class _Wire:
    """One gateway connection."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport, compresses: bool) -> None:
        self.ws = ws
        self.transport = transport
        self.out: asyncio.Queue[Json] = asyncio.Queue()
        self.has_session = False
        """It was begun or resumed: only then is the bot told of what happens."""
        self._zlib = zlib.compressobj() if compresses else None

    async def write(self) -> None:
        """Say what is put into `out`, in order."""
        with suppress(ConnectionError):
            while not self.ws.closed:
                text = json.dumps(await self.out.get())
                if self._zlib is None:
                    await self.ws.send_str(text)
                else:
                    await self.ws.send_bytes(self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH))


def servers_of(server: Discord, call_timeout_s: float = CALL_TIMEOUT_S) -> Servers:
    """Where an adapter finds *server*, and its patience with each call."""
    return Servers(server.url, server.gateway_url, server.cdn_url, call_timeout_s)


async def _read(request: web.Request) -> tuple[Any, bytes | None]:
    """Return the body and the file beside it."""
    if request.content_type != "multipart/form-data":
        return await request.json() if request.can_read_body else {}, None
    form = await request.post()
    file = form["files[0]"]
    assert isinstance(file, web.FileField)
    return json.loads(str(form["payload_json"])), file.file.read()


def _response(answer: Answer) -> web.Response:
    return web.Response(status=204) if answer.content is None else _answer(answer.content, answer.status)


def _answer(content: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """A charset behind the type is more than the SDK takes."""
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
