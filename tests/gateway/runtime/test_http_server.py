"""The one HTTP server of a gateway, on a free port of loopback, and the hosts that it goes by."""

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway.runtime.http_server import is_numeric_or_local, serving
from workspaces.secrets import REMOVED, guarding

CANARY = 'canary-"of-the-server'


async def whole(_: Request) -> Response:
    return JSONResponse({"detail": f"asked {CANARY}"})


async def pieces(_: Request) -> Response:
    async def events() -> AsyncIterator[bytes]:
        yield b"data: one\n\n"
        yield f"data: {CANARY}\n\n".encode()

    return StreamingResponse(events())


async def clean(_: Request) -> Response:
    return JSONResponse({"detail": "ä"})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/whole", f'{{"detail":"asked {REMOVED}"}}'),
        ("/pieces", f"data: one\n\ndata: {REMOVED}\n\n"),
        ("/clean", '{"detail":"ä"}'),
    ],
)
async def test_no_answer_holds_a_known_secret(path: str, text: str) -> None:
    """Whole answers, whose length is told anew, and streams; what holds none comes as it is, and to HEAD its length."""
    app = Starlette(routes=[Route("/whole", whole), Route("/pieces", pieces), Route("/clean", clean)])
    with guarding([CANARY]):
        async with serving(app, "127.0.0.1", 0) as address, httpx.AsyncClient(base_url=address) as client:
            assert (await client.get(path)).text == text
            head = await client.head("/clean")
    assert (head.status_code, head.headers["content-length"]) == (200, str(len('{"detail":"ä"}'.encode())))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8181", "[::1]", "[::1]:80", "localhost", "LOCALHOST:8181"])
def test_an_ip_address_and_localhost_are_known(host: str) -> None:
    """With a port and without."""
    assert is_numeric_or_local(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        " ",
        "127.0.0.1/?#evil.com",
        "127.0.0.1?evil.com",
        "127.0.0.1#evil.com",
        "user@127.0.0.1",
        "user@localhost:80",
        "127.0.0.1:99999",
        "127.0.0.1:",
        "127.0.0.1 ",
        "127.0.0.1\n",
        "127.0.0.1.evil.com",
        "[::1]evil.com",
        "[localhost]",
        "::1",
        "127.1",
    ],
)
def test_a_host_header_that_holds_more_than_a_host_and_a_port_is_not(host: str) -> None:
    """A parser of URLs would take the rest for a user, a path or a fragment, and see a known host."""
    assert not is_numeric_or_local(host)
