"""Which requests pass the guard at the HTTP door."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from gateway.web.guard import RequestGuard


async def answered(guard: RequestGuard, *headers: tuple[bytes, bytes]) -> int:
    """Return the status of a request with these *headers*."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": list(headers)}
    await guard(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize("host", [b"", b" ", b"user@127.0.0.1", b"127.0.0.1/?#evil.com", b"127.0.0.1:99999"])
@pytest.mark.parametrize("public_url", [None, "https://agents.example.org"])
async def test_a_host_that_is_blank_or_no_host_passes_nowhere(public_url: str | None, host: bytes) -> None:
    """Whether a public address is set or not; nor does a request without a Host header."""
    guard = RequestGuard(PlainTextResponse("passed"), public_url, 1_000)
    assert await answered(guard, (b"host", host)) == 421
    assert await answered(guard) == 421
    assert await answered(guard, (b"host", b"127.0.0.1:8181")) == 200
