"""Answers probes and the operator in place of a gateway that waits for its store, with the reason."""

import time

import msgspec
from msgspec import Struct, field, structs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gateway.control.order import path_of
from gateway.control.server import ControlGuard
from gateway.control.status_wire import Status, StatusOrder


class StandbyApp(Struct):
    """A gateway that runs no agent until its store answers again."""

    state: Status
    """Not ready, and on standby."""
    since: float = field(default_factory=time.monotonic)

    def wait_for(self, trouble: str) -> None:
        """Show that the store is away, and why."""
        self.state = structs.replace(self.state, waits_for=(trouble,), store_trouble=trouble)

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
        state = structs.replace(self.state, store_away_s=away_s)
        return Response(msgspec.json.encode(state), media_type="application/json")

    async def _refusal(self, _: Request) -> Response:
        return JSONResponse({"error": f"this gateway is on standby: {'; '.join(self.state.waits_for)}"}, 503)
