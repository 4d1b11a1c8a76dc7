"""Serves an agent's memory to another program over the Model Context Protocol (stdio)."""

import json
from collections.abc import Awaitable, Callable
from importlib.metadata import version

from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from msgspec import Struct

from gateway.control.expected_errors import EXPECTED
from gateway.control.tools_wire import OfferedTool, ToolAnswer, ToolOrder


class MemoryServer(Struct, frozen=True):
    """Answers a program that speaks MCP."""

    ask: Callable[[ToolOrder], Awaitable[ToolAnswer]]
    """Puts a request to an operator, which is looked up each time: raises one of `EXPECTED`."""
    agent: str | None
    read_only: bool

    async def serve(self) -> None:
        """Answer until the program closes our input."""
        server = Server("strandline", version=version("strandline"), on_list_tools=self.tools, on_call_tool=self.call)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def tools(self, _: ServerRequestContext[object], __: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools."""
        return ListToolsResult(tools=[_tool(each) for each in await self._list_tools()])

    async def call(self, _: ServerRequestContext[object], params: CallToolRequestParams) -> CallToolResult:
        """Call a tool; a failure is returned as text."""
        try:
            answer = await self._call_tool(params.name, json.dumps(params.arguments or {}))
        except EXPECTED as exc:
            answer = ToolAnswer(text=str(exc), is_error=True)
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=answer.is_error)

    async def _call_tool(self, name: str, arguments: str) -> ToolAnswer:
        if self.read_only and name not in {each.name for each in await self._list_tools()}:
            return ToolAnswer(text=f"there is no tool {name!r} here", is_error=True)
        return await self.ask(ToolOrder("call", self.agent, name, arguments))

    async def _list_tools(self) -> list[OfferedTool]:
        offered = (await self.ask(ToolOrder("list", self.agent))).tools
        return [each for each in offered if not (self.read_only and each.writes)]


def _tool(offered: OfferedTool) -> Tool:
    hints = ToolAnnotations(read_only_hint=not offered.writes)
    schema = json.loads(offered.schema)
    return Tool(name=offered.name, description=offered.description, input_schema=schema, annotations=hints)
