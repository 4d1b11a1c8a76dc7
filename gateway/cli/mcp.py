"""`strandline mcp`: offers an agent's memory to another program of the owner's."""

import asyncio
from typing import Annotated

import typer

from gateway.cli.call import Call
from gateway.cli.connect import reach
from gateway.cli.invocation import AgentOption
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.errors import StrandlineError, leaves
from workspaces.extras import install_command

ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Offer no tool that writes notes.")]


def mcp(call: Call, agent: AgentOption = None, read_only: ReadOnlyOption = False) -> None:
    """Serve an agent's memory to another program over MCP (stdio).

    Without a running gateway, the home is locked only during each request, so that one can be started meanwhile.
    """
    try:
        from gateway.control.memory_server import MemoryServer
    except ImportError as exc:
        raise StrandlineError(f"the package for it is missing; run: {install_command('mcp')}") from exc
    place = call.home

    async def ask(order: ToolOrder) -> ToolAnswer:
        try:
            async with reach(call.invocation, place, "strandline mcp") as reached:
                return await reached.operator.ask(order)
        except ExceptionGroup as group:  # of a gateway composed for this request
            raise leaves(group)[0] from group

    asyncio.run(MemoryServer(ask, agent, read_only).serve())
