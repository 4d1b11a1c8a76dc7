"""This file is Discord on loopback: its REST API and its gateway, for one bot.

The gateway is a WebSocket that speaks HELLO, IDENTIFY, READY, heartbeats, RESUME and INVALID_SESSION, compressed as
the SDK asks for. Bodies are checked against Discord's published schema where it lies beside the repository. Inside a
test: `async with Discord() as server`.
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

from tests.fakes.discord_shapes import (
    APPLICATION,
    BOT_ID,
    BOT_ROLE,
    CHANNEL,
    DIRECT,
    GUILD,
    LIMIT,
    MESSAGE_CONTENT,
    PERSON,
    THREAD,
    TOKEN,
    Json,
    message,
    problems_of,
    user,
)


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


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that Discord took from the bot."""

    id: str
    channel: str
    body: Json

    @property
    def text(self) -> str:
        """What people read."""
        return str(self.body["content"])

    @property
    def reply_to(self) -> str | None:
        """What it answers, if that exists."""
        reference = self.body.get("message_reference")
        return None if reference is None else str(reference["message_id"])


class Discord:
    """What Discord knows of one bot, its server, a channel with a thread, and a direct chat."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.requests: list[tuple[str, str, Json]] = []
        """Method, path and body of every REST call."""
        self.problems: list[str] = []
        """What Discord's schema says against the bodies that came."""
        self.heard: list[Json] = []
        """What the bot said at the gateway."""
        self.faults: list[Fault] = []
        self.token = TOKEN
        self.may_read_content = True
        self.resume_url: str | None = None
        """Where the bot is told to resume; not set: where it began."""
        self.channels: dict[str, Json] = {
            CHANNEL: {"id": CHANNEL, "type": 0, "guild_id": GUILD, "name": "general"},
            THREAD: {"id": THREAD, "type": 11, "guild_id": GUILD, "parent_id": CHANNEL, "name": "a thread"},
            DIRECT: {"id": DIRECT, "type": 1, "recipients": [user(PERSON)]},
        }
        self.closed_channels: set[str] = set()
        self._messages: dict[str, str] = {}
        """The channel of each message, by its id."""
        self._nonces: dict[tuple[str, str], Posted] = {}
        self._next_id = 1_000_000
        self._session = ""
        self._log: list[Json] = []
        self._unsaid: list[tuple[str, Json]] = []
        self._sockets: dict[web.WebSocketResponse, _Wire] = {}
        self._waiting: set[asyncio.Event] = set()
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        app.router.add_route("*", "/api/{path:.*}", self._rest)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        self._port = 0

    @property
    def url(self) -> str:
        """The base URL of the REST API."""
        return f"http://127.0.0.1:{self._port}/api"

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

    def says(self, text: str, channel: str = DIRECT, person: str = PERSON, **extra: Any) -> str:
        """A person writes, once the bot is online; mentions are marked as Discord marks them. Returns the id."""
        said: Json = message(self._new_id(channel), channel, user(person), text)
        said["mentions"] = [user(BOT_ID, is_bot=True)] if f"<@{BOT_ID}>" in text else []
        if "guild_id" in self.channels.get(channel, {}):
            said |= {"guild_id": GUILD, "member": {"nick": None, "roles": []}}
        self.dispatch("MESSAGE_CREATE", said | extra)
        return str(said["id"])

    def dispatch(self, name: str, data: Json) -> None:
        """Tell the bot of something; before its first session, once that begins."""
        if not self._session:
            self._unsaid.append((name, data))
            return
        event = {"op": 0, "t": name, "s": len(self._log) + 1, "d": data}
        self._log.append(event)
        for wire in self._sockets.values():
            wire.out.put_nowait(event)

    def sends(self, payload: Json) -> None:
        """Say *payload* to whoever is connected."""
        for wire in self._sockets.values():
            wire.out.put_nowait(payload)

    def drop(self) -> None:
        """Lose every gateway connection, without a goodbye."""
        for wire in self._sockets.values():
            _reset(wire.transport)

    def forget_session(self) -> None:
        """Let no session be resumed; what is said meanwhile waits for the next one."""
        self._session = ""
        self._log.clear()

    def fault(self, *faults: Fault) -> None:
        """Meet the next requests of each fault's path with it, one request a fault."""
        self.faults.extend(faults)

    async def until(self, is_so: Callable[[], bool], timeout_s: float = 10) -> None:
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

    def calls(self, ending: str) -> list[Json]:
        """The bodies of REST calls whose path ends so."""
        return [body for _, path, body in self.requests if path.endswith(ending)]

    # The REST API.

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        body = await request.json() if request.can_read_body else {}
        self.requests.append((request.method, path, body))
        self._notify()
        if request.headers.get("Authorization") != f"Bot {self.token}":
            return _answer({"message": "401: Unauthorized", "code": 0}, 401)
        fault = next((fault for fault in self.faults if path.endswith(fault.path)), None)
        if fault is not None:
            self.faults.remove(fault)
            if not fault.accepts:
                return await _meet(fault, request)
        answer = self._call(request.method, path, body)
        return answer if fault is None else await _meet(fault, request)

    def _call(self, method: str, path: str, body: Json) -> web.Response:
        match [method, *path.strip("/").split("/")]:
            case ["GET", *_] if path in self._known:
                return _answer(self._known[path])
            case ["POST", "channels", channel, _] if channel in self.closed_channels:
                return _answer({"message": "Missing Access", "code": 50001}, 403)
            case ["POST", "channels", channel, "messages"] if channel in self.channels:
                return self._create(channel, body)
            case ["POST", "channels", channel, "typing"] if channel in self.channels:
                return web.Response(status=204)
        return _answer({"message": "Unknown Channel", "code": 10003}, 404)

    @property
    def _known(self) -> dict[str, Json]:
        channels = {f"/channels/{number}": channel for number, channel in self.channels.items()}
        return {"/users/@me": user(BOT_ID, is_bot=True), "/oauth2/applications/@me": APPLICATION, **channels}

    def _create(self, channel: str, body: Json) -> web.Response:
        self.problems += problems_of(body)
        text = body.get("content", "")
        if not text.strip():
            return _answer({"message": "Cannot send an empty message", "code": 50006}, 400)
        if len(text) > LIMIT:
            return _answer({"message": "Invalid Form Body", "code": 50035}, 400)
        reference = body.get("message_reference")
        if reference and self._messages.get(str(reference["message_id"])) != channel:
            if reference.get("fail_if_not_exists", True):
                return _answer({"message": "Unknown message", "code": 50035}, 400)
            body = {name: value for name, value in body.items() if name != "message_reference"}
        key = (channel, str(body.get("nonce", "")))
        posted = self._nonces.get(key) if body.get("enforce_nonce") else None
        if posted is None:
            posted = Posted(self._new_id(channel), channel, body)
            self._nonces[key] = posted
            self.posted.append(posted)
            self._notify()
            said = message(posted.id, channel, user(BOT_ID, is_bot=True), text)
            self.dispatch("MESSAGE_CREATE", said)
        return _answer(message(posted.id, channel, user(BOT_ID, is_bot=True), posted.text))

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
        self._notify()
        match said["op"]:
            case 1:
                wire.out.put_nowait({"op": 11})
            case 2 if said["d"]["token"] != self.token:
                await wire.ws.close(code=4004, message=b"Authentication failed.")
            case 2 if said["d"]["intents"] & MESSAGE_CONTENT and not self.may_read_content:
                await wire.ws.close(code=4014, message=b"Disallowed intent(s).")
            case 2:
                self._begin()
            case 6 if said["d"]["session_id"] == self._session:
                for event in self._log[said["d"]["seq"] :]:
                    wire.out.put_nowait(event)
                self.dispatch("RESUMED", {})
            case 6:
                wire.out.put_nowait({"op": 9, "d": False})

    def _begin(self) -> None:
        self._session = f"session-{self._new_id('')}"
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
        here = [channel for channel in self.channels.values() if channel.get("guild_id") == GUILD]
        roles = [{"id": GUILD, "name": "@everyone"}, {"id": BOT_ROLE, "name": "Strand", "tags": {"bot_id": BOT_ID}}]
        threads = [channel for channel in here if "parent_id" in channel]
        plain = [channel for channel in here if "parent_id" not in channel]
        self.dispatch("GUILD_CREATE", {"id": GUILD, "channels": plain, "threads": threads, "roles": roles})
        unsaid, self._unsaid = self._unsaid, []
        for name, data in unsaid:
            self.dispatch(name, data)

    def _new_id(self, channel: str) -> str:
        self._next_id += 1
        self._messages[str(self._next_id)] = channel
        return str(self._next_id)

    def _notify(self) -> None:
        for changed in self._waiting:
            changed.set()


class _Wire:
    """One gateway connection."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport, compresses: bool) -> None:
        self.ws = ws
        self.transport = transport
        self.out: asyncio.Queue[Json] = asyncio.Queue()
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


def _answer(content: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
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
