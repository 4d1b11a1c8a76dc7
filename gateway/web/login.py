"""The page itself, signing in and out, and the list of signed-in browsers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import compare_digest
from typing import TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from gateway.admission.sign_in import SESSION_FOR, SignIns, TooManyTriesError, csrf_token
from gateway.web.errors import AUTHENTICATION, PERMISSION, HttpError

T = TypeVar("T", bound=BaseModel)

COOKIE = "strandline"
CSRF_HEADER = "x-csrf-token"
_STATIC = Path(__file__).parent / "static"
_FILES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


class _CodeBody(BaseModel):
    code: str = Field(max_length=64)


@dataclass(frozen=True, slots=True)
class Login:
    """Signs in the owner's browser, and recognises its session."""

    sign_ins: SignIns
    agents: Sequence[str]
    """Agents that this gateway runs."""
    is_tls: bool
    """Whether browsers connect over TLS: the cookie is then restricted to it."""
    version: str = field(default_factory=partial(version, "strandline"))
    """Read once, as it is in a file."""

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/static/{name}", self.static),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
            Route("/chat/me", self.me),
        ]

    async def page(self, _: Request) -> Response:
        return FileResponse(_STATIC / "page.html", media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            raise HttpError(404, "there is no such file")
        return FileResponse(_STATIC / name, media_type=_FILES[name])

    async def sign_in(self, request: Request) -> Response:
        _check_origin(request)
        try:
            secret = await self.sign_ins.enter(read_body(_CodeBody, await request.body()).code)
        except TooManyTriesError as exc:
            raise HttpError(429, str(exc), AUTHENTICATION) from exc
        if secret is None:
            raise HttpError(401, "this code is wrong or expired; create another", AUTHENTICATION)
        response = Response(status_code=204)
        seconds = int(SESSION_FOR.total_seconds())
        response.set_cookie(COOKIE, secret, max_age=seconds, secure=self.is_tls, httponly=True, samesite="strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        await self.check_act(request)
        if session := await self.sign_ins.session(request.cookies.get(COOKIE, "")):
            await self.sign_ins.revoke(session.id)
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, secure=self.is_tls, httponly=True, samesite="strict")
        return response

    async def me(self, request: Request) -> Response:
        secret = await self.check(request)
        return JSONResponse({"agents": list(self.agents), "csrf": csrf_token(secret), "version": self.version})

    async def check(self, request: Request) -> str:
        """Return the secret of the request's session. Raises HttpError 401 without a valid one."""
        secret = request.cookies.get(COOKIE, "")
        if not secret or await self.sign_ins.session(secret) is None:
            raise HttpError(401, "sign in first", AUTHENTICATION)
        return secret

    async def check_act(self, request: Request) -> None:
        """Check that a request with side effects comes from our own page. Raises HttpError 401 or 403."""
        secret = await self.check(request)
        _check_origin(request)
        if not compare_digest(request.headers.get(CSRF_HEADER, "").encode(), csrf_token(secret).encode()):
            raise HttpError(403, "the page is out of date; load it again", PERMISSION)


def _check_origin(request: Request) -> None:
    """Require an origin: the guard has checked one that is named, but a page's action must name it."""
    if "origin" not in request.headers:
        raise HttpError(403, "needs the Origin header, as browsers send it", PERMISSION)


def read_body(kind: type[T], body: bytes) -> T:
    """Return *body* as *kind*. Raises HttpError 400."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as exc:
        raise HttpError(400, "the request is not one of the page's") from exc
