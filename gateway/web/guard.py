"""Guard of the HTTP server: checks the hosts and origins of requests, and their length.

Another site's page, open in the owner's browser, can make that browser send requests here. It cannot make it name
another origin than its own, nor a host of its own that is an IP address.
"""

from urllib.parse import urlsplit

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.runtime.http_server import is_numeric_or_local
from gateway.web.errors import PERMISSION, HttpError, is_browser

WEBHOOKS = "/telegram/"
"""Called by a platform's servers: they know a secret that no browser does, and may use any host that leads here."""
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with "no-referrer" browsers send forms without their origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class RequestGuard(Struct, frozen=True):
    """Rejects forbidden requests, and adds security headers to every response."""

    app: ASGIApp
    public_url: str | None
    """Such as `https://agents.example.org`: an allowed host and origin besides our own."""
    max_body: int
    """In bytes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["path"])
        except HttpError as exc:
            is_read = is_browser(Headers(scope=scope))
            refusal = PlainTextResponse(f"{exc}\n", exc.status) if is_read else exc.response()
            await refusal(scope, receive, with_headers)
            return
        await self.app(scope, receive, with_headers)

    def _check(self, headers: Headers, path: str) -> None:
        if not path.startswith(WEBHOOKS):
            self._check_names(headers.get("host", ""), headers.get("origin"))
        if "transfer-encoding" in headers:
            raise HttpError(411, "a request must announce its length by Content-Length")
        if int(headers.get("content-length", "0")) > self.max_body:
            raise HttpError(413, f"a request may have {self.max_body:,} bytes; web.max_body_kb sets it")

    def _check_names(self, host: str, origin: str | None) -> None:
        public = urlsplit(self.public_url).netloc.lower() if self.public_url else None
        if not is_numeric_or_local(host) and host.lower() != public:
            raise HttpError(
                421,
                "this page is open at an IP address, at localhost, and at web.public_url: set that to use another name",
            )
        if origin is not None and origin.lower() not in self.origins(host):
            raise HttpError(403, "not for pages of other origins", PERMISSION)

    def origins(self, host: str) -> set[str]:
        """Return the allowed origins of a request to *host*: our own page's."""
        own = {f"http://{host}".lower()} if is_numeric_or_local(host) else set()
        return own | ({self.public_url.lower()} if self.public_url else set())
