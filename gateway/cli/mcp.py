"""This file is `strandline mcp`: it serves an agent's memory to another program, over standard input and output."""

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import AgentOption, HomeOption, Invocation
from gateway.cli.reach import reach
from gateway.control.desk import EXPECTED
from gateway.control.tools_wire import OfferedTool, ToolAnswer, ToolOrder
from gateway.errors import StrandlineError
from gateway.home import Home

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Offer no tool that notes anything.")]


def mcp(
    context: typer.Context, agent: AgentOption = None, read_only: ReadOnlyOption = False, home: HomeOption = None
) -> None:
    """Serve an agent's memory to another program of yours, by the Model Context Protocol (stdio)."""
    invocation: Invocation = context.obj
    try:
        asyncio.run(_serve(MemoryServer(invocation, invocation.home(home), agent, read_only)))
    except ImportError as exc:
        raise StrandlineError("the package for it is missing; run: pip install 'strandline[mcp]'") from exc


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """Answers a program that speaks the protocol.

    The desk is looked for at each question: the gateway may be started, stopped and started anew meanwhile, and its
    home is locked only while a question is answered without one.
    """

    invocation: Invocation
    home: Home
    agent: str | None
    read_only: bool

    async def tools(self, _: "ServerRequestContext[object]", __: "PaginatedRequestParams | None") -> "ListToolsResult":
        """Tell which tools there are."""
        from mcp_types import ListToolsResult, Tool, ToolAnnotations

        return ListToolsResult(
            tools=[
                Tool(
                    name=each.name,
                    description=each.description,
                    input_schema=json.loads(each.schema),
                    annotations=ToolAnnotations(read_only_hint=not each.writes),
                )
                for each in await self._offered()
            ]
        )

    async def call(self, _: "ServerRequestContext[object]", params: "CallToolRequestParams") -> "CallToolResult":
        """Call one; what fails is said in words."""
        from mcp_types import CallToolResult, TextContent

        try:
            answer = await self._called(params.name, json.dumps(params.arguments or {}))
        except EXPECTED as exc:
            answer = ToolAnswer(text=str(exc), is_error=True)
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=answer.is_error)

    async def _called(self, name: str, arguments: str) -> ToolAnswer:
        if self.read_only and name not in {each.name for each in await self._offered()}:
            return ToolAnswer(text=f"there is no tool {name!r} here", is_error=True)
        return await self._ask(ToolOrder("call", self.agent, name, arguments))

    async def _offered(self) -> list[OfferedTool]:
        offered = (await self._ask(ToolOrder("list", self.agent))).tools
        return [each for each in offered if not (self.read_only and each.writes)]

    async def _ask(self, order: ToolOrder) -> ToolAnswer:
        async with reach(self.invocation, self.home, "strandline mcp") as reached:
            return await reached.desk.tools(order)


async def _serve(memory: MemoryServer) -> None:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    server = Server("strandline", on_list_tools=memory.tools, on_call_tool=memory.call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
