"""Serves the operator API and the health probes."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.control.expected_errors import EXPECTED
from gateway.control.operator_api import LocalApi, Progress, Readiness
from gateway.control.order import answer_of, path_of
from gateway.control.settings_wire import SETTINGS_PATH, SettingsReport
from gateway.control.status_wire import Status, StatusOrder
from gateway.control.stream_wire import ChatOrder, CheckOrder, IndexOrder, StreamEvent
from gateway.errors import StrandlineError
from gateway.runtime.http_server import is_numeric_or_local

BODY_CAP = 1_000_000
"""Largest request, in bytes."""

Body = TypeVar("Body")
Tell = Callable[[StreamEvent], None]


class ControlPages:
    """The pages behind the token check; each answers one path."""

    def __init__(self, operator: LocalApi, readiness: Readiness) -> None:
        self._operator = operator
        self._readiness = readiness

    def routes(self) -> list[Route]:
        return [
            Route("/", self.greeting),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/control/alive", self.healthz),
            Route("/control/chat", self.chat, methods=["POST"]),
            Route("/control/index", self.index, methods=["POST"]),
            Route("/control/check", self.check, methods=["POST"]),
            Route("/control/{order}", self.answer, methods=["POST"]),
        ]

    async def greeting(self, _: Request) -> Response:
        return PlainTextResponse("Strandline is running. Talk to it with: strandline chat\n")

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"alive": True})

    async def readyz(self, _: Request) -> Response:
        state = self._readiness
        told = {"ready": state.ready, "standby": state.standby, "loading": list(state.loading)}
        return JSONResponse(told, 200 if state.ready else 503)

    async def answer(self, request: Request) -> Response:
        kind = next((kind for kind in self._operator.answers if path_of(kind) == request.url.path), None)
        if kind is None:
            return _problem(f"{request.url.path} is unknown here; is the command of another version?", 404)
        answer = await self._operator.ask(await _body(request, kind))
        return Response(TypeAdapter(answer_of(kind)).dump_json(answer), media_type="application/json")

    async def chat(self, request: Request) -> Response:
        order = await _body(request, ChatOrder)

        async def work(tell: Tell) -> str:
            async def on_reply(text: str, is_answer: bool) -> None:
                tell(StreamEvent("reply" if is_answer else "earlier", text))

            tell(StreamEvent("accepted"))
            return await self._operator.chat(order, on_reply, lambda sign: tell(StreamEvent(sign.kind, sign.text)))

        return _LineStream(work)

    async def index(self, request: Request) -> Response:
        return await _follow(request, IndexOrder, self._operator.index)

    async def check(self, request: Request) -> Response:
        return await _follow(request, CheckOrder, self._operator.check)


class _LineStream(Response):
    """A streamed response: one JSON object a line, the last one `done` or `error`."""

    media_type = "application/x-ndjson"

    def __init__(self, work: Callable[[Tell], Awaitable[str]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        lines: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(self._last(lines.put_nowait))
            presence = tasks.create_task(_note_departure(receive, lambda: lines.put_nowait(None)))
            while event := await lines.get():
                is_last = event.event in {"done", "error"}
                body = json.dumps(asdict(event)).encode() + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": not is_last})
                if is_last:
                    break
            work.cancel()  # nobody reads on: an answer that comes now waits for the next reader
            presence.cancel()

    async def _last(self, tell: Tell) -> None:
        try:
            tell(StreamEvent("done", await self._work(tell)))
        except EXPECTED as exc:
            tell(StreamEvent("error", str(exc)))


async def _note_departure(receive: Receive, on_gone: Callable[[], None]) -> None:
    """Call *on_gone* when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    on_gone()


class ControlGuard:
    """Admits requests that name this machine and, for `/control/`, carry the token.

    A page in the owner's browser can make it send requests here, under a name that it resolves to loopback: such a
    name is no address and not `localhost`, and such a request carries an `Origin`.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope), scope["path"])
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> Response | None:
        if not is_numeric_or_local(headers.get("host", "")):
            return _problem("the Host header must be an IP address or localhost", 421)
        if not path.startswith("/control/"):
            return None
        if "origin" in headers:
            return _problem("not for browsers", 403)
        given = headers.get("authorization", "").removeprefix("Bearer ").encode()
        if not secrets.compare_digest(given, self._token):
            return _problem("needs the token of run/control.json", 401)
        if int(headers.get("content-length", "0")) > BODY_CAP or "transfer-encoding" in headers:
            return _problem(f"a request may have {BODY_CAP:,} bytes, announced by Content-Length", 413)
        return None


def control_app(operator: LocalApi, readiness: Readiness, token: str) -> ASGIApp:
    """Return the application: `/`, `/healthz`, `/readyz` for everyone, `/control/…` for holders of *token*."""
    refusals = dict.fromkeys(EXPECTED, _error_response)
    pages = Starlette(routes=ControlPages(operator, readiness).routes(), exception_handlers=refusals)
    return ControlGuard(pages, token)


async def _follow(request: Request, kind: type[Body], execute: Callable[[Body, Progress], Awaitable[str]]) -> Response:
    order = await _body(request, kind)
    return _LineStream(lambda tell: execute(order, lambda *steps: tell(StreamEvent("progress", "", *steps))))


async def _body(request: Request, kind: type[Body]) -> Body:
    try:
        return TypeAdapter(kind).validate_json(await request.body())
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        raise StrandlineError(f"{'.'.join(map(str, fault['loc'])) or 'the request'}: {fault['msg']}") from exc


async def _error_response(_: Request, exc: Exception) -> Response:
    return _problem(str(exc), 400)


def _problem(error: str, status: int) -> Response:
    return JSONResponse({"error": error}, status)


GRACE_S = 2.0
"""Seconds that open requests may continue when a run ends."""
PATIENCE_S = 30.0
"""Longest wait of a request for the next run. Both are our choice."""
_ALWAYS = {SETTINGS_PATH}
_BETWEEN = {"/healthz", "/readyz", "/control/alive"}


class Front:
    """The application of a gateway whose runs follow each other."""

    def __init__(self, token: str, report: Callable[[], SettingsReport]) -> None:
        self.token = token
        self._report = report
        self._app: ASGIApp | None = None
        self._is_there = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        self._own = ControlGuard(Starlette(routes=self._routes()), self.token)

    @asynccontextmanager
    async def showing(self, app: ASGIApp) -> AsyncIterator[None]:
        """Serve *app* while the block runs; afterwards its requests end within a grace."""
        self._app = app
        self._is_there.set()
        try:
            yield
        finally:
            self._app = None
            self._is_there.clear()
            await self._finish()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path in _ALWAYS or (self._app is None and path in _BETWEEN):
            await self._own(scope, receive, send)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._is_there.wait()
        if self._app is None:
            await _BUSY(scope, receive, send)
            return
        await self._forward(self._app, scope, receive, send)

    async def _forward(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sent(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        async def run() -> None:
            await app(scope, receive, sent)

        work = asyncio.create_task(run())
        self._open.add(work)
        try:
            await asyncio.wait([work])
        finally:
            self._open.discard(work)
            work.cancel()
        if work.cancelled():
            if not has_begun:
                await _BUSY(scope, receive, send)
            return
        work.result()

    async def _finish(self) -> None:
        """Let open requests end, and cut those that do not: their messages are kept."""
        if self._open:
            await asyncio.wait(self._open, timeout=GRACE_S)
        for work in self._open:
            work.cancel()

    def _routes(self) -> list[Route]:
        async def alive(_: Request) -> Response:
            return JSONResponse({"alive": True})

        async def ready(_: Request) -> Response:
            return JSONResponse({"ready": False, "standby": False, "loading": []}, 503)

        async def settings(_: Request) -> Response:
            return JSONResponse(asdict(self._report()))

        return [
            Route("/healthz", alive),
            Route("/control/alive", alive),
            Route("/readyz", ready),
            Route(SETTINGS_PATH, settings, methods=["POST"]),
        ]


_BUSY = JSONResponse({"error": "the gateway takes up its new settings; try again in a moment"}, 503)


@dataclass(slots=True)
class StandbyApp:
    """A gateway that runs no agent until its store answers again."""

    state: Status
    """Not ready, and on standby."""
    since: float = field(default_factory=time.monotonic)

    def wait_for(self, trouble: str) -> None:
        """Show that the store is away, and why."""
        self.state = replace(self.state, waits_for=(trouble,), store_trouble=trouble)

    def app(self, token: str) -> ASGIApp:
        """Return the application: probes for everyone, the state for holders of *token*, and a refusal of all else."""
        routes = [
            Route("/healthz", self._healthz),
            Route("/readyz", self._readyz),
            Route("/control/alive", self._healthz),
            Route(path_of(StatusOrder), self._status, methods=["POST"]),
            Route("/{path:path}", self._refusal, methods=["GET", "POST"]),
        ]
        return ControlGuard(Starlette(routes=routes), token)

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"alive": True})

    async def _readyz(self, _: Request) -> Response:
        return JSONResponse({"ready": False, "standby": True, "loading": []}, 503)

    async def _status(self, _: Request) -> Response:
        away_s = time.monotonic() - self.since if self.state.store_trouble else 0
        state = replace(self.state, store_away_s=away_s)
        return Response(TypeAdapter(Status).dump_json(state), media_type="application/json")

    async def _refusal(self, _: Request) -> Response:
        return JSONResponse({"error": f"this gateway is on standby: {'; '.join(self.state.waits_for)}"}, 503)
