from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.agent.tools.loading import _tools_of, tool_faults
from gateway.agent.tools.tool import FromOutside, Tool, done
from gateway.errors import ToolError
from gateway.plugins import TOOLS, plugins
from tests.fakes.packages import Install
from workspaces.access import Access, AgentId, Scope, SessionType

CODE = """
from strandline.tools import SessionType, ToolError, tool

def tools(turn):
    async def plain() -> str:
        return "high water"

    async def shared() -> str:
        raise KeyError("secret")

    async def refuses() -> str:
        raise ToolError("no such harbour")

    return [tool(plain), tool(shared, [SessionType.MAIN, SessionType.GROUP]), tool(refuses)]
"""


def offered(session_type: SessionType) -> dict[str, Tool]:
    """Return the tools that the package gives to a session, by name."""
    access = Access(AgentId("main"), session_type, Scope("private"), "telegram:1", 0, frozenset())
    turn: Any = SimpleNamespace(access=access, clock=lambda: datetime.now(UTC))
    return {tool.spec.name: tool for tool in _tools_of(plugins(TOOLS)["tide"], turn)}


@pytest.mark.parametrize("session_type", list(SessionType))
def test_only_the_sessions_that_a_tool_names_have_it(install: Install, session_type: SessionType) -> None:
    """Unless it names some, the owner's direct chat alone: no guest, group, subagent, job or heartbeat."""
    install("tide-tool", "[strandline.tools]\ntide = tide_tool:tools\n", CODE)
    expected = {SessionType.MAIN: {"plain", "shared", "refuses"}, SessionType.GROUP: {"shared"}}
    assert set(offered(session_type)) == expected.get(session_type, set())


async def test_results_are_others_words_and_failures_end_no_turn(install: Install) -> None:
    """The model is told the kind of failure, and no text of it; a refusal stands as it is."""
    install("tide-tool", "[strandline.tools]\ntide = tide_tool:tools\n", CODE)
    tools = offered(SessionType.MAIN)
    assert await tools["plain"].run() == done(FromOutside("high water"), "used", "plain")
    with pytest.raises(ToolError) as failed:
        await tools["shared"].run()
    assert str(failed.value) == "shared failed (KeyError); go on without it"
    with pytest.raises(ToolError, match=r"^no such harbour$"):
        await tools["refuses"].run()


def test_a_package_whose_tools_cannot_be_loaded_is_one_sentence(install: Install) -> None:
    """Of those of Strandline there is none."""
    assert tool_faults() == []
    install("tide-tool", "[strandline.tools]\ntide = tide_tool:tools\n", "import not_there")
    (fault,) = tool_faults()
    assert fault.startswith(
        'tide-tool: the entry point "tide" of strandline.tools (tide_tool:tools) cannot be loaded: '
    )
