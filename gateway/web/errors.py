"""This file is what goes wrong at the HTTP door, in the shape that clients of OpenAI's API expect."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

INVALID = "invalid_request_error"
AUTHENTICATION = "authentication_error"
PERMISSION = "permission_error"
SERVER = "server_error"
NOT_TAKEN = "not_taken"
"""The code of a message that was not kept: to ask again cannot say it twice."""


class HttpError(Exception):
    """A request that is not answered as it asks; the message is a sentence for whoever wrote the program."""

    def __init__(
        self, status: int, message: str, kind: str = INVALID, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code

    def body(self) -> dict[str, object]:
        """Return what the client reads."""
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}}

    def response(self) -> Response:
        """Return the answer; a client tries again by itself only what was certainly not taken."""
        headers = {"x-should-retry": "true" if self.code == NOT_TAKEN else "false"}
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return JSONResponse(self.body(), self.status, headers)


async def answer_error(_: Request, exc: Exception) -> Response:
    """Answer an HttpError, as Starlette asks."""
    assert isinstance(exc, HttpError)  # noqa: S101  # registered for nothing else
    return exc.response()
