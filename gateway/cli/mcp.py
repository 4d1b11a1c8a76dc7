"""This file is `strandline mcp`: it offers an agent's memory to another program of the owner's."""

import asyncio
from typing import Annotated

import typer

from gateway.cli.connect import reach
from gateway.cli.invocation import AgentOption, HomeOption, Invocation
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.errors import StrandlineError

ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Offer no tool that notes anything.")]


def mcp(
    context: typer.Context, agent: AgentOption = None, read_only: ReadOnlyOption = False, home: HomeOption = None
) -> None:
    """Serve an agent's memory to another program of yours, by the Model Context Protocol (stdio).

    The home is locked only while a question is answered without a gateway: one may be started meanwhile.
    """
    try:
        from gateway.control.memory_server import MemoryServer
    except ImportError as exc:
        raise StrandlineError("the package for it is missing; run: pip install 'strandline[mcp]'") from exc
    invocation: Invocation = context.obj
    place = invocation.home(home)

    async def ask(order: ToolOrder) -> ToolAnswer:
        async with reach(invocation, place, "strandline mcp") as reached:
            return await reached.desk.tools(order)

    asyncio.run(MemoryServer(ask, agent, read_only).serve())
