"""The HTTP server of a real gateway on loopback, with a scripted model."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from openai import AsyncOpenAI

from gateway.app.app import App
from gateway.home import Home
from gateway.runtime.http_server import serving
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Script
from tests.journeys.house import ENVIRON, make_home, openai_section, running
from workspaces.access import AgentId
from workspaces.workspace import Workspace

OWNER_TOKEN = "the-owners-token-0123456789"
GUEST_TOKEN = "a-guests-token-0123456789ab"
TOKENS = {"OWNER_TOKEN": OWNER_TOKEN, "GUEST_TOKEN": GUEST_TOKEN, "HOOK_SECRET": "a-secret-of-the-webhook"}
WEB = """
[web]
enabled = true
port = 0
max_body_kb = 64
[web.tokens.laptop]
token_env = "OWNER_TOKEN"
owner = true
[web.tokens.visitor]
token_env = "GUEST_TOKEN"
agents = ["main"]
[agents.work]
[memory.embeddings]
provider = "none"
"""
"""Without an embedder: the page shows what a search finds, and a worker with a model takes 0.2 s more to start."""


@dataclass(frozen=True, slots=True)
class House:
    """A gateway whose HTTP door is open."""

    app: App
    model: OpenAIStub
    address: str
    http: httpx2.AsyncClient
    """Shows no token."""
    owner: AsyncOpenAI
    guest: AsyncOpenAI


@asynccontextmanager
async def open_house(folder: Path, script: Script, extra: str = "") -> AsyncIterator[House]:
    """Give a gateway with agents `main`, whose model follows *script*, and `work`, which answers offline.

    *extra* begins with `[web]`, whose further settings it holds.
    """
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(OpenAIStub(script))
        app, address = await stack.enter_async_context(door(make_web_home(folder, model.url, extra)))
        http = await stack.enter_async_context(
            httpx2.AsyncClient(base_url=address, trust_env=False, timeout=PATIENCE_S)
        )
        owner = await stack.enter_async_context(client(address, OWNER_TOKEN))
        guest = await stack.enter_async_context(client(address, GUEST_TOKEN))
        yield House(app, model, address, http, owner, guest)


def make_web_home(folder: Path, model_url: str, extra: str = "") -> Home:
    """Write the configuration of a home as `open_house` has it, below *folder*."""
    home = make_home(folder / "home", model=openai_section(model_url))
    home.write(home.config_file, home.config_file.read_text("utf-8") + WEB.replace("[web]\n", extra or "[web]\n"))
    Workspace.create(home.agent("work").workspace, AgentId("work")).folder.close()
    return home


@asynccontextmanager
async def door(home: Home) -> AsyncIterator[tuple[App, str]]:
    """Run the gateway of *home* and open its HTTP door, at the address that is given."""
    async with running(home, TOKENS) as app:
        await _listening(app)
        web = app.web(ENVIRON | TOKENS)
        assert web is not None
        async with serving(web.app, "127.0.0.1", 0, on_stop=web.close) as address:
            yield app, address


async def _listening(app: App) -> None:
    """Return once every account takes messages; those of the page, which have no state, begin to listen last."""
    health, loaded = app.parts.health, app.parts.resources.channels.adapters.loaded
    keys = {account.key for account in app.accounts}
    async with asyncio.timeout(PATIENCE_S):
        while keys - loaded.keys() or {bot.state for bot in health.accounts} - {"listening"}:  # noqa: ASYNC110  # no event
            await asyncio.sleep(0.01)


def client(address: str, token: str) -> AsyncOpenAI:
    """Return OpenAI's own client, unmodified; it does not try again by itself, so that a refusal is seen as it is."""
    return AsyncOpenAI(base_url=f"{address}/v1", api_key=token, max_retries=0, timeout=PATIENCE_S)


def bearer(token: str) -> Mapping[str, str]:
    """Return the header that shows *token*."""
    return {"authorization": f"Bearer {token}"}
