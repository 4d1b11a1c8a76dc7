"""Tools of other programs, and turns that survive the failures of such a program."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from gateway.agent.entries import ResultEntry
from gateway.agent.mcp import server as server_module
from gateway.agent.mcp.offered import ListedTool, offer
from gateway.agent.mcp.server import Standing, ToolServer
from gateway.agent.mcp.servers import ToolServers, open_servers
from gateway.agent.mcp.settings import ProgramServer, ServerSettings, ToolServerRules
from gateway.agent.models.port import ToolSpec
from gateway.agent.tools.tool import Toolbox, tool
from tests.fakes.clock import ManualClock
from tests.fakes.model import call
from tests.fakes.patience import PATIENCE_S
from workspaces.access import PRIVATE, Access, AgentId, SessionType

ROOT = Path(__file__).parents[4]


def access(kind: SessionType = SessionType.MAIN) -> Access:
    return Access(AgentId("main"), kind, PRIVATE, "terminal:1", depth=0, grants=frozenset())


def program(manner: str = "", *more: str) -> ProgramServer:
    command = (sys.executable, "-m", "tests.fakes.tool_server", manner, *more)
    return ProgramServer(command, {"PATH": "/usr/bin:/bin", "SECRET": "a-secret"}, ROOT)


class House:
    """The servers of one gateway, what was counted, and a clock that stands still."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.counted: list[str] = []
        self.ended = asyncio.Event()
        self.servers = ToolServers()
        self.stood: list[Standing] = []
        """What became of the servers, in order."""

    async def stands(self, _: ToolServer, standing: Standing) -> None:
        self.stood.append(standing)

    async def count(self, reason: str) -> None:
        self.counted.append(reason)
        self.ended.set()

    async def toolbox(self, kind: SessionType = SessionType.MAIN) -> Toolbox:
        return Toolbox(await self.servers.tools(access(kind)), access(kind))

    async def names(self, kind: SessionType = SessionType.MAIN) -> list[str]:
        return [spec.name for spec in (await self.toolbox(kind)).specs]

    async def say(self, name: str, **arguments: object) -> ResultEntry:
        return await (await self.toolbox()).call(call(name, **arguments))

    @property
    def only(self) -> ToolServer:
        (server,) = self.servers.servers
        return server

    async def until_ended(self) -> None:
        """Return when the failure of the only server was taken in."""
        async with asyncio.timeout(PATIENCE_S):
            await self.ended.wait()
        self.ended.clear()


@asynccontextmanager
async def house(settings: Sequence[ServerSettings]) -> AsyncIterator[House]:
    home = House()
    async with open_servers(settings, home.clock.now, home.count, home.stands) as home.servers:
        yield home


async def test_a_tool_of_a_server_is_called_like_any_other() -> None:
    """Its name begins with the server's, its schema is the server's, and its answer counts as others' words."""
    async with house([ServerSettings("fake", program())]) as home:
        toolbox = await home.toolbox()
        (echo,) = (spec for spec in toolbox.specs if spec.name == "fake_echo")
        assert echo.parameters["properties"]
        assert "Say what was said" in echo.description
        said = await toolbox.call(call("fake_echo", text="hello"))
    assert (said.text, said.is_error, said.from_outside) == ("echo: hello", False, True)


async def test_a_program_is_given_its_own_variables_and_no_other() -> None:
    """What the gateway's environment holds beside them stays there."""
    async with house([ServerSettings("fake", program())]) as home:
        said = await home.say("fake_environment")
    assert {"PATH", "SECRET"} == set(said.text.split()) - {"LC_CTYPE"}


async def test_what_a_tool_says_of_its_failure_counts_as_others_words_too() -> None:
    """An error text is no way around the mark."""
    async with house([ServerSettings("fake", program())]) as home:
        said = await home.say("fake_refuse")
    assert "the moon is full" in said.text
    assert said.from_outside


async def test_only_turns_of_the_sessions_named_have_the_tools(tmp_path: Path) -> None:
    """And nothing is started before one of them comes."""
    started = tmp_path / "started"
    settings = ServerSettings("fake", program("", str(started)), ToolServerRules(("main", "subagent"), ("echo",)))
    async with house([settings]) as home:
        assert await home.names(SessionType.GROUP) == []
        assert not started.exists()
        assert await home.names(SessionType.SUBAGENT) == ["fake_echo"]
        assert started.exists()


async def test_one_process_serves_all_turns_and_ends_with_the_gateway() -> None:
    """A second turn starts no second one."""
    async with house([ServerSettings("fake", program())]) as home:
        first, second = await asyncio.gather(home.say("fake_pid"), home.say("fake_pid"))
        assert first.text == second.text
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.text), 0)


async def test_of_a_program_that_ends_at_once_its_status_is_told_and_its_last_line_kept() -> None:
    """The line is somebody else's words: it is shown at a terminal, and in no chat."""
    async with house([ServerSettings("fake", program("unset"))]) as home:
        assert await home.names() == []
        assert home.only.troubles() == ["tool server fake: it ended with status 3"]
        assert home.only.last_line == "Error: NOTES_DIR is not set"


async def test_a_server_that_hangs_costs_one_deadline() -> None:
    """Its call fails; a later turn has a fresh process."""
    async with house([ServerSettings("fake", program(), ToolServerRules(timeout_s=3))]) as home:
        before = await home.say("fake_pid")
        said = await home.say("fake_hang")
        assert said.is_error
        assert "did not answer in time" in said.text
        await home.until_ended()
        assert "did not answer within 3 s" in home.only.trouble
        home.clock.advance(2)
        assert (await home.say("fake_pid")).text != before.text


async def test_a_server_that_dies_in_the_middle_is_started_anew_after_a_rest() -> None:
    """Its tools are absent meanwhile, and each failure makes the rest longer; a clock that is set back ends one."""
    async with house([ServerSettings("fake", program())]) as home:
        for rest_s in (1, 2, 4):
            said = await home.say("fake_die")
            assert said.is_error
            assert "lost the connection" in said.text
            await home.until_ended()
            assert home.counted == ["mcp_unavailable"]
            home.counted.clear()
            home.clock.advance(rest_s - 0.5)
            assert await home.names() == []
            home.clock.advance(0.6 if rest_s < 4 else -400 * 86_400)
        assert "fake_echo" in await home.names()
        assert home.stood == [Standing.UP, *[Standing.DOWN, Standing.UP] * 3]


@pytest.mark.parametrize("how", ["flood", "torrent"])
async def test_a_flood_is_cut_off(how: str) -> None:
    """A hundred megabytes, in lines or in none, neither fill the memory nor keep others waiting."""
    async with house([ServerSettings("fake", program())]) as home:
        await home.names()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        said = await home.say(f"fake_{how}", megabytes=100)
        await home.until_ended()
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert said.is_error
    assert "it sent more than 8,000,000 bytes" in home.only.trouble
    assert grown_mb < 60


async def test_garbage_on_the_output_is_passed_over() -> None:
    """Programs greet, and print what is no message."""
    async with house([ServerSettings("fake", program("garbage"))]) as home:
        assert (await home.say("fake_echo", text="hello")).text == "echo: hello"


async def test_a_tool_that_no_model_takes_is_left_out() -> None:
    """The others are offered, and each that is not is named with its reason."""
    async with house([ServerSettings("fake", program("wrong"))]) as home:
        assert await home.names() == ["fake_good"]
        left_out = home.only.offered.left_out
    assert left_out == (
        "'a name' has a name that no model accepts",
        "'huge' has an argument schema of more than 8,000 characters",
        "'good' is there twice",
    )


async def test_no_tool_of_a_server_takes_the_place_of_our_own() -> None:
    """A server called memory that lists `search` would be asked, and answer, in place of the agent's own memory."""

    async def search(query: str) -> str:
        """Search."""
        return f"our own: {query}"

    listed = [ListedTool("search", "Search.", {"type": "object"}), ListedTool("store", "", {"type": "object"})]
    offered = offer("memory", listed, None)
    assert offered.specs.keys() == {"store"}
    assert offered.left_out == (
        "'search' would be called memory_search, as a tool of Strandline's own: give the server another name",
    )
    own = structs.replace(tool(search), spec=ToolSpec("memory_search", "", {}))
    box = Toolbox([own], access())
    box.add([structs.replace(own, arguments=own.arguments, run=_elsewhere)])
    assert (await box.call(call("memory_search", query="the code"))).text == "our own: the code"


async def _elsewhere(query: str) -> str:
    return f"somebody else's: {query}"


async def test_a_server_whose_answers_are_nonsense_has_no_tools() -> None:
    """The turn goes on, and it is said."""
    async with house([ServerSettings("fake", program("nonsense"))]) as home:
        assert await home.names() == []
        assert home.only.trouble
        assert home.counted == ["mcp_unavailable"]


async def test_a_server_that_is_not_there_leaves_its_tools_out() -> None:
    """The others' are there, and what is wrong is said."""
    gone = ProgramServer(("/nowhere/at-all",), {}, ROOT)
    async with house([ServerSettings("gone", gone), ServerSettings("fake", program())]) as home:
        assert "fake_echo" in await home.names()
        assert home.servers.away(access()) == ["gone"]
        assert home.servers.servers[0].trouble == "/nowhere/at-all cannot be started: No such file or directory"
        assert home.counted == ["mcp_unavailable"]


async def test_a_turn_does_not_wait_for_a_server_that_is_slow_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on without the tools, and stopping does not wait either."""
    monkeypatch.setattr(server_module, "PATIENCE_S", 0.1)
    async with asyncio.timeout(PATIENCE_S), house([ServerSettings("fake", program("silent"))]) as home:
        assert await home.names() == []
        assert home.servers.troubles() == ["tool server fake: it is still starting"]
        assert home.servers.away(access()) == ["fake"]
        assert home.servers.away(access(SessionType.GROUP)) == []
        assert home.stood == [Standing.STARTING]
