"""One address for all runs of a gateway: between two of them requests wait, and its settings can be asked for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.control.server import ControlGuard
from gateway.control.settings_wire import SETTINGS_PATH, SettingsReport

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
            return Response(msgspec.json.encode(self._report()), media_type="application/json")

        return [
            Route("/healthz", alive),
            Route("/control/alive", alive),
            Route("/readyz", ready),
            Route(SETTINGS_PATH, settings, methods=["POST"]),
        ]


_BUSY = JSONResponse({"error": "the gateway takes up its new settings; try again in a moment"}, 503)
