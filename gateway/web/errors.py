"""Errors of the HTTP server, in the shape that clients of OpenAI's API expect."""

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

INVALID = "invalid_request_error"
AUTHENTICATION = "authentication_error"
PERMISSION = "permission_error"
SERVER = "server_error"
NOT_TAKEN = "not_taken"
"""Error code of a message that was not stored: a retry cannot repeat it."""


class HttpError(Exception):
    """A request that cannot be answered; the message is a sentence for the developer of the client."""

    def __init__(
        self, status: int, message: str, kind: str = INVALID, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code

    def body(self) -> dict[str, object]:
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}}

    def response(self) -> Response:
        """Return the response; a client retries automatically only if the message was certainly not stored."""
        headers = {"x-should-retry": "true" if self.code == NOT_TAKEN else "false"}
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return JSONResponse(self.body(), self.status, headers)


def is_browser(headers: Headers) -> bool:
    """Return whether a person's browser asks for a page: programs take JSON."""
    return "text/html" in headers.get("accept", "")


async def answer_error(_: Request, exc: Exception) -> Response:
    """Answer an HttpError, as Starlette asks."""
    assert isinstance(exc, HttpError)  # noqa: S101  # registered for nothing else
    return exc.response()
