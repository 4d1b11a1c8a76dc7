"""Serves the operator API and the health probes."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.control.expected_errors import EXPECTED, operator_error
from gateway.control.operator_api import LocalApi, Readiness
from gateway.control.order import LongOrder, path_of
from gateway.control.stream_wire import ChatOrder, StreamEvent
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
        await self._operator.foresee(request.url.path)
        answers = self._operator.answers
        kind = next((kind for kind in (*answers.short, *answers.long) if path_of(kind) == request.url.path), None)
        if kind is None:
            return _problem(f"{request.url.path} is unknown here; is the command of another version?", 404)
        order = await _body(request, kind)
        if isinstance(order, LongOrder):
            return _LineStream(partial(self._follow, order))
        answer = await self._operator.ask(order)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    async def _follow(self, order: LongOrder, tell: Tell) -> str:
        return await self._operator.follow(order, lambda *steps: tell(StreamEvent("progress", "", *steps)))

    async def chat(self, request: Request) -> Response:
        order = await _body(request, ChatOrder)

        async def work(tell: Tell) -> str:
            async def on_reply(text: str, is_answer: bool) -> None:
                tell(StreamEvent("reply" if is_answer else "earlier", text))

            tell(StreamEvent("accepted"))
            return await self._operator.chat(order, on_reply, lambda sign: tell(StreamEvent(sign.kind, sign.text)))

        return _LineStream(work)


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
                body = msgspec.json.encode(event) + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": not is_last})
                if is_last:
                    break
            work.cancel()  # nobody reads on: an answer that comes now waits for the next reader
            presence.cancel()

    async def _last(self, tell: Tell) -> None:
        try:
            tell(StreamEvent("done", await self._work(tell)))
        except (*EXPECTED, OSError) as exc:
            if (told := operator_error(exc)) is None:
                raise
            tell(StreamEvent("error", str(told)))


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
    refusals = dict.fromkeys((*EXPECTED, OSError), _error_response)
    pages = Starlette(routes=ControlPages(operator, readiness).routes(), exception_handlers=refusals)
    return ControlGuard(pages, token)


async def _body(request: Request, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.DecodeError as exc:
        raise StrandlineError(f"the request is not understood: {exc}") from exc


async def _error_response(_: Request, exc: Exception) -> Response:
    if (told := operator_error(exc)) is None:
        raise exc
    return _problem(str(told), 400)


def _problem(error: str, status: int) -> Response:
    return JSONResponse({"error": error}, status)
