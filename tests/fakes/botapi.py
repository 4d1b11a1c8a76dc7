"""Telegram Bot API server on loopback, in front of `tests.fakes.telegram`.

Inside a test: `async with BotApi() as server`. As a separate process, to outlive the gateway it serves: `python -m
tests.fakes.botapi --port 0 --port-file FILE --record FILE`; then `POST /control/says`, `/control/update`,
`/control/join` and `/control/fault` take the arguments of the methods of those names as JSON, and `GET
/control/state?sent=50` waits for that many messages and returns them. It writes the port to FILE and then prints
"listening". The record has one JSON object per line: every request, every accepted message, every confirmation, with
its time.
"""

import argparse
import asyncio
import json
import signal
import socket
import struct
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from tests.fakes.telegram import Fault, Json, RefusedError, Telegram

TOKEN = "123456:loopback-bot-token"


class BotApi(Telegram):
    """A Bot API server on a free loopback port."""

    def __init__(self, token: str = TOKEN, port: int = 0, record: Path | None = None) -> None:
        super().__init__(record=record)
        self.token = token
        self.port = port
        app = web.Application(client_max_size=60_000_000)
        app.router.add_route("*", "/bot{token}/{method}", self._bot)
        app.router.add_get("/file/bot{token}/documents/{file}", self._content)
        app.router.add_post("/control/{what}", self._control)
        app.router.add_get("/control/state", self._state)
        # Handlers end when their client disconnects: a poll does, and so does a request that hangs.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        await web.SockSite(self._runner, listener).start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Shut down: connections are refused from now on."""
        await self._runner.cleanup()

    async def _bot(self, request: web.Request) -> web.StreamResponse:
        if ":" not in request.match_info["token"]:
            return _refusal(404, "Not Found")
        if request.match_info["token"] != self.token:
            return _refusal(401, "Unauthorized")
        method, params = request.match_info["method"], await _params(request)
        fault = self.note(method, params)
        if fault and not fault.accepts:
            return await _meet(fault, request)
        try:
            result = await self.call(method, params)
        except RefusedError as refused:
            return _refusal(refused.status, str(refused), refused.parameters)
        return await _meet(fault, request) if fault else web.json_response({"ok": True, "result": result})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["file"]
        fault = self.note("download", {"file": name})
        if fault:
            return await _meet(fault, request)
        if request.match_info["token"] != self.token or name not in self.files:
            return _refusal(404, "Not Found")
        return web.Response(body=self.files[name])

    async def _control(self, request: web.Request) -> web.Response:
        told = await request.json()
        match request.match_info["what"]:
            case "says":
                return web.json_response(self.says(**told))
            case "update":
                return web.json_response(self.update(**told))
            case "join":
                self.join(told["chat"], *told.get("topics", []))
                return web.json_response({})
            case "fault":
                self.fault(Fault(**told))
                return web.json_response({})
        raise web.HTTPNotFound

    async def _state(self, request: web.Request) -> web.Response:
        """With `?sent=N&polls=N`, wait for these totals, at most `&timeout_s=S` seconds (30)."""
        wanted = {name: int(number) for name, number in request.query.items() if name != "timeout_s"}
        with suppress(TimeoutError):
            await self.until(
                lambda: all(self._counts()[name] >= number for name, number in wanted.items()),
                float(request.query.get("timeout_s", 30)),
            )
        counts = self._counts()
        return web.json_response(
            {**counts, "sent": [asdict(message) for message in self.sent], "confirmed": self.confirmed}
        )

    def _counts(self) -> dict[str, int]:
        polls = len(self.calls("getUpdates"))
        return {"sent": len(self.sent), "confirmed": len(self.confirmed), "waiting": len(self.updates), "polls": polls}


async def _params(request: web.Request) -> Json:
    """Form fields that hold JSON are parsed; texts and ids stay unchanged."""
    if request.content_type == "application/json":
        told = await request.json()
        return {name: value if isinstance(value, list | dict) else _as_in_a_form(value) for name, value in told.items()}
    form = await request.post()
    return {name: _field(name, value) for name, value in form.items()}


def _as_in_a_form(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _field(name: str, value: object) -> Any:
    if isinstance(value, web.FileField):
        return {"name": value.filename, "size": len(value.file.read())}
    return json.loads(str(value)) if str(value)[:1] in "[{" and name not in {"text", "caption"} else str(value)


def _refusal(status: int, description: str, parameters: Json | None = None) -> web.Response:
    answer: Json = {"ok": False, "error_code": status, "description": description}
    return web.json_response(answer | ({"parameters": parameters} if parameters else {}), status=status)


async def _meet(fault: Fault, request: web.Request) -> web.Response:
    transport = request.transport
    if fault.hangs:
        await asyncio.Event().wait()
    if fault.drops and transport is not None:
        reset = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        transport.abort()
    if fault.location is not None:
        location = fault.location.format(token=request.match_info["token"])
        return web.Response(status=fault.status, headers={"Location": location})
    if fault.body is not None:
        page = fault.body.encode("utf-8", "surrogateescape")
        return web.Response(status=fault.status, body=page, content_type="text/html", charset="utf-8")
    return _refusal(fault.status, fault.description, fault.parameters)


async def _serve(server: BotApi, port_file: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        await asyncio.to_thread(port_file.write_text, str(server.port))
        print("listening", flush=True)
        await stop.wait()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A Telegram Bot API server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(_serve(BotApi(port=given.port, record=given.record), given.port_file))


if __name__ == "__main__":
    main()
