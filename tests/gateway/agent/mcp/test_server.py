"""A tool server reached by HTTP, with the library's own server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mcp.server import MCPServer
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.agent.mcp.settings import ServerSettings, Site, ToolServerRules
from gateway.runtime.http_server import serving
from tests.fakes.patience import PATIENCE_S
from tests.gateway.agent.mcp.test_servers import House, house

PATIENT = ToolServerRules(timeout_s=PATIENCE_S)


class Door:
    """Lets in who shows the token, and remembers what was shown."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.shown: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.shown.add(dict(scope["headers"]).get(b"authorization", b""))
        await self._app(scope, receive, send)


@asynccontextmanager
async def reached() -> AsyncIterator[tuple[House, Door]]:
    server = MCPServer("site")

    @server.tool()
    def echo(text: str) -> str:
        """Say what was said."""
        return f"echo: {text}"

    @server.tool()
    def flood() -> str:
        """Say more than anybody reads."""
        return "x" * 9_000_000

    app = server.streamable_http_app()
    door = Door(app)
    async with (
        app.router.lifespan_context(app),
        serving(door, "127.0.0.1", 0, grace_s=0) as address,
        house(
            [ServerSettings("site", Site(f"{address}/mcp", "the-token"), ToolServerRules(timeout_s=PATIENCE_S))]
        ) as home,
    ):
        yield home, door


async def test_a_tool_at_an_address_is_called_with_the_token() -> None:
    """As one of a program is."""
    async with asyncio.timeout(PATIENCE_S), reached() as (home, door):
        said = await home.say("site_echo", text="hello")
    assert (said.text, said.from_outside) == ("echo: hello", True)
    assert door.shown == {b"Bearer the-token"}


async def test_an_answer_without_end_is_broken_off() -> None:
    """The call fails, and a later one is answered."""
    async with asyncio.timeout(PATIENCE_S), reached() as (home, _):
        said = await home.say("site_flood")
        assert "x" * 100 not in said.text
        await home.until_ended()
        home.clock.advance(5)
        assert (await home.say("site_echo", text="again")).text == "echo: again"


async def test_a_server_is_reached_directly_and_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment, and an address that a server here points to, would read what stays here."""
    async with asyncio.timeout(PATIENCE_S), reached() as (_, other):
        other.shown.clear()
        async with (
            serving(other, "127.0.0.1", 0, grace_s=0) as elsewhere,
            serving(Door(RedirectResponse(f"{elsewhere}/mcp", 307)), "127.0.0.1", 0, grace_s=0) as here,
        ):
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, elsewhere)
            async with house([ServerSettings("site", Site(f"{here}/mcp", "the-token"), PATIENT)]) as home:
                assert await home.names() == []
                assert home.counted
        assert other.shown == set()
