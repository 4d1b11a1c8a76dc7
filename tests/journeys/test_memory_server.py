"""`strandline mcp` with the library's own client over stdio, as another program uses it."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent

from gateway.app.app import App
from gateway.control.server import control_app
from gateway.home import ControlFile, Home
from gateway.runtime.http_server import serving
from tests.journeys.house import make_home, running


@asynccontextmanager
async def served(home: Home, *more: str) -> AsyncIterator[Client]:
    words = ["-m", "gateway", "mcp", "--home", str(home.path), *more]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    async with Client(StdioServerParameters(command=sys.executable, args=words, env=environ)) as client:
        yield client


@asynccontextmanager
async def at_the_door(app: App, home: Home) -> AsyncIterator[None]:
    """Open the control door, as `strandline up` does."""
    async with serving(control_app(app.operator, app.parts.health, "token"), "127.0.0.1", 0, grace_s=0) as address:
        with home.announced(ControlFile(address, "token", os.getpid())):
            yield


async def said(client: Client, name: str, **arguments: object) -> str:
    result = await client.call_tool(name, arguments)
    return "".join(each.text for each in result.content if isinstance(each, TextContent))


def with_memory(path: Path) -> Home:
    home = make_home(path)
    (home.agent("main").workspace / "MEMORY.md").write_text("- The boat is called Tern.\n", "utf-8")
    return home


async def test_another_program_searches_and_notes_while_the_gateway_runs(tmp_path: Path) -> None:
    """It reads as the owner does, adds to the day's notes, and what would last waits for the owner's approval."""
    home = with_memory(tmp_path / "home")
    async with running(home) as app, at_the_door(app, home), served(home) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"memory_search", "memory_get", "search_history", "add_note", "save_memory", "update_memory"}
        found = json.loads(await said(client, "memory_search", query="What is the boat called?"))
        assert "Tern" in found["hits"][0]["snippet"]
        assert "Tern" in await said(client, "memory_get", path="MEMORY.md")
        assert "Noted in memory/" in await said(client, "add_note", text="The mast was mended.")
        assert "waits for your owner's approval as #1" in await said(
            client, "save_memory", text="The boat is sold.", category="notes"
        )
        (waiting,) = await app.parts.approvals.waiting()
        assert waiting.proposal.session == "another program"
    assert "sold" not in (home.agent("main").workspace / "MEMORY.md").read_text("utf-8")


async def test_without_a_gateway_it_answers_alone_and_leaves_the_home_free(tmp_path: Path) -> None:
    """Between two questions a gateway may be started."""
    home = with_memory(tmp_path / "home")
    async with served(home, "--read-only") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            "memory_search",
            "memory_get",
            "search_history",
        }
        assert "Tern" in await said(client, "memory_get", path="MEMORY.md")
        assert "there is no tool 'add_note' here" in await said(client, "add_note", text="no")
        with home.lock("another process"):
            pass


async def test_what_cannot_be_done_is_said_in_words(tmp_path: Path) -> None:
    """A home that is not there, an argument that is missing, an agent that is misspelt."""
    async with served(Home(tmp_path / "nowhere")) as client:
        assert "there is no home at" in await said(client, "memory_get", path="MEMORY.md")
    async with served(with_memory(tmp_path / "home")) as client:
        assert "memory_get: path: missing" in await said(client, "memory_get")
    async with served(with_memory(tmp_path / "other"), "--agent", "mian") as client:
        assert "there is no agent 'mian'; the agents are: main" in await said(client, "memory_get", path="MEMORY.md")
