"""Configuration of tool servers, valid and refused."""

from pathlib import Path

import pytest

from adapters.channel import Address
from gateway.agent.mcp.server import Standing, ToolServer
from gateway.agent.mcp.settings import ProgramServer, ServerSettings, Site
from gateway.app.tool_servers import server_settings, tell_of_tool_server
from gateway.config import read_config
from gateway.delivery.owner_notices import Notices
from gateway.delivery.waker import OutboxWaker
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock


def servers_of(path: Path, section: str, **environ: str) -> list[ServerSettings]:
    file = path / "config.toml"
    file.write_text(section, "utf-8")
    file.chmod(0o600)
    return server_settings(read_config(file), environ, Home(path))


def test_a_program_is_given_what_it_needs_to_run_and_what_is_named(tmp_path: Path) -> None:
    """The gateway's own keys are not among it, nor is any secret shown in a log."""
    (server,) = servers_of(
        tmp_path,
        '[mcp.time]\ncommand = ["uvx", "time"]\nenv_from = ["TOKEN"]\nsessions = ["main", "subagent"]\ntools = ["now"]',
        PATH="/bin",
        COHERE_API_KEY="a-secret-key",
        TOKEN="a-secret-token",
    )
    assert server.place == ProgramServer(("uvx", "time"), {"PATH": "/bin", "TOKEN": "a-secret-token"}, tmp_path)
    assert server.rules.sessions == ("main", "subagent")
    assert server.rules.tools == ("now",)
    assert "a-secret-token" not in repr(server)


def test_a_site_is_given_its_token(tmp_path: Path) -> None:
    """And only the owner's own conversation uses it, unless others are named."""
    section = '[mcp.house]\nurl = "https://house.example/mcp/"\ntoken_env = "TOKEN"'
    (server,) = servers_of(tmp_path, section, TOKEN="a-secret-token")
    assert server.place == Site("https://house.example/mcp", "a-secret-token")
    assert server.rules.sessions == ("main",)
    assert "a-secret-token" not in repr(server)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ("[mcp.a]", "needs either command"),
        ('[mcp.a]\ncommand = ["x"]\nurl = "http://127.0.0.1"', "needs either command"),
        ('[mcp.a]\ncommand = ["x"]\ntoken_env = "T"', "a token is for url"),
        ('[mcp.a]\nurl = "http://127.0.0.1"\nenv_from = ["T"]', "env_from is for command"),
        ('[mcp.a]\nurl = "http://127.0.0.1"\ntoken_env = "T"\ntoken_file = "t"', "has both token_env and token_file"),
        ('[mcp.a]\ncommand = ["x"]\nsessions = ["everybody"]', "mcp.a.sessions"),
        ('[mcp."a b"]\ncommand = ["x"]', "mcp.a b"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(tmp_path: Path, section: str, why: str) -> None:
    """With the key, before anything is started."""
    with pytest.raises(ConfigError, match=why):
        servers_of(tmp_path, section)


def test_a_server_without_its_secret_is_left_out(tmp_path: Path) -> None:
    """The others are there."""
    sections = '[mcp.a]\ncommand = ["x"]\nenv_from = ["T"]\n[mcp.b]\ncommand = ["x"]'
    assert [each.name for each in servers_of(tmp_path, sections)] == ["b"]


async def test_the_owner_is_told_once_until_a_server_has_come_up(tmp_path: Path) -> None:
    """However often it fails meanwhile; again after it was up, and once a day at most; of a slow start once for all."""
    store = await SqliteStore.open(tmp_path / "state.db")
    notices, clock = Notices(store, Address("terminal", "main", "owner"), OutboxWaker().wake), ManualClock()
    server = ToolServer(
        ServerSettings("fake", Site("http://127.0.0.1:1", None)), clock.now, store.count, lambda _: None
    )
    server.trouble = "it ended"

    async def told(*standings: Standing) -> list[str]:
        for each in standings:
            await tell_of_tool_server(notices, store, clock.now, server, each)
        return [row.outgoing.text[:36] for row in await store.outbox.unfinished()]

    starting, down = "The tool server fake is still starti", "The tool server fake is unavailable:"
    assert await told(Standing.STARTING, Standing.STARTING, Standing.UP) == [starting]
    assert await told(Standing.DOWN, Standing.STARTING, Standing.DOWN) == [starting, down]
    assert await told(Standing.UP, Standing.DOWN) == [starting, down]
    clock.advance(86_400)
    assert await told(Standing.DOWN) == [starting, down]
    assert await told(Standing.UP, Standing.DOWN) == [starting, down, down]
    await store.close()
