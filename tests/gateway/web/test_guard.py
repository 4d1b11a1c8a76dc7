"""Which requests pass the guard at the HTTP door."""

import httpx2
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


async def test_a_browser_reads_why_it_is_refused() -> None:
    """In words, with the setting; programs get JSON."""
    guard = RequestGuard(PlainTextResponse("passed"), None, 1_000)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=guard), base_url="http://hall.lan:8181") as http:
        shown = await http.get("/", headers={"accept": "text/html,*/*;q=0.8"})
        assert (shown.status_code, shown.headers["content-type"]) == (421, "text/plain; charset=utf-8")
        assert "web.public_url" in shown.text
        assert "web.public_url" in (await http.get("/")).json()["error"]["message"]
