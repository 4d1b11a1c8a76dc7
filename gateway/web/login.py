"""The page itself, signing in and out, and the list of signed-in browsers."""

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import compare_digest
from typing import TypeVar
from urllib.parse import parse_qsl

from msgspec import Struct, field
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from gateway.admission.sign_in import SESSION_FOR, SignIns, TooManyTriesError, csrf_token
from gateway.web.errors import AUTHENTICATION, PERMISSION, HttpError
from gateway.web.rendering import render

T = TypeVar("T", bound=BaseModel)

COOKIE = "strandline"
CSRF_HEADER = "x-csrf-token"
_STATIC = Path(__file__).parent / "static"
_LONGEST_CODE = 64
_MOST_FIELDS = 200
_FILES = {
    "page.css": "text/css",
    "messages.js": "text/javascript",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "manifest.json": "application/manifest+json",
}


class _CodeBody(BaseModel):
    code: str = Field(max_length=_LONGEST_CODE)


class Login(Struct, frozen=True):
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

    async def page(self, request: Request) -> Response:
        """Return the chat, or the entrance for whoever is not signed in: it tells nothing."""
        secret = request.cookies.get(COOKIE, "")
        is_known = bool(secret) and await self.sign_ins.session(secret) is not None
        return await render("chat.html", {"refusal": "", "is_known": is_known})

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            raise HttpError(404, "there is no such file")
        return FileResponse(_STATIC / name, media_type=_FILES[name])

    async def sign_in(self, request: Request) -> Response:
        """Sign a browser in; it sends the code as JSON, or as a form while it runs no scripts."""
        _check_origin(request)
        if not is_form(request):
            secret = await self._enter(read_body(_CodeBody, await request.body()).code)
            return self._with_cookie(Response(status_code=204), secret)
        try:
            secret = await self._enter((await read_form(request)).get("code", ""))
        except HttpError as exc:
            return await render("chat.html", {"refusal": str(exc), "is_known": False}, exc.status)
        return self._with_cookie(RedirectResponse("/memory", 303), secret)

    async def _enter(self, code: str) -> str:
        try:
            secret = await self.sign_ins.enter(code[:_LONGEST_CODE])
        except TooManyTriesError as exc:
            raise HttpError(429, str(exc), AUTHENTICATION) from exc
        if secret is None:
            raise HttpError(401, "this code is wrong or expired; create another", AUTHENTICATION)
        return secret

    def _with_cookie(self, response: Response, secret: str) -> Response:
        seconds = int(SESSION_FOR.total_seconds())
        response.set_cookie(COOKIE, secret, max_age=seconds, secure=self.is_tls, httponly=True, samesite="strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        if is_form(request):
            await self.check_form(request)
            response: Response = RedirectResponse("/", 303)
        else:
            await self.check_act(request)
            response = Response(status_code=204)
        if session := await self.sign_ins.session(request.cookies.get(COOKIE, "")):
            await self.sign_ins.revoke(session.id)
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
        _check_token(request, request.headers.get(CSRF_HEADER, ""), secret)

    async def check_form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form of our own page. Raises HttpError 400, 401 or 403."""
        secret = await self.check(request)
        if not is_form(request):
            raise HttpError(400, "the request is not a form of the page's")
        form = await read_form(request)
        _check_token(request, form.pop("csrf", ""), secret)
        return form


def is_form(request: Request) -> bool:
    """Return whether the body of *request* is that of a form."""
    return request.headers.get("content-type", "").partition(";")[0].strip() == "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HttpError 400."""
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"))
    except ValueError as exc:
        raise HttpError(400, "the request is not a form of the page's") from exc


def _check_token(request: Request, given: str, secret: str) -> None:
    """Require an origin and the session's token. Raises HttpError 403."""
    _check_origin(request)
    if not compare_digest(given.encode(), csrf_token(secret).encode()):
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
