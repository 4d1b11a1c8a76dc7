"""Tools of a turn: those of every plug-in that can be loaded and that the turn's access permits."""

from collections.abc import Awaitable, Callable

import structlog
from msgspec import structs

from gateway.agent.tools.families import ToolResources
from gateway.agent.tools.tool import ActedResult, FromOutside, Told, Tool, done
from gateway.errors import ToolError
from gateway.plugins import TOOLS, Plugin, each_of, unique
from workspaces.errors import WorkspaceError

log = structlog.get_logger()


def load_tools(turn: ToolResources) -> list[Tool]:
    """Return the tools of a turn; a plug-in that cannot be used is logged, and the turn goes on without it."""
    offers, faults = each_of(TOOLS, lambda plugin: _tools_of(plugin, turn))
    kept, taken = unique([(plugin, tool.spec.name, tool) for plugin, tool in offers])
    for fault in (*faults, *taken):
        log.error("a plug-in cannot be used", detail=fault)
    return kept


def tool_faults() -> list[str]:
    """Return a sentence for each package whose tools cannot be loaded."""
    return each_of(TOOLS, lambda plugin: [plugin.load()])[1]


def _tools_of(plugin: Plugin, turn: ToolResources) -> list[Tool]:
    """Return the tools of *plugin* for *turn*: of a package only those that it offers to this kind of session."""
    tools = plugin.call(Tool, turn)
    if plugin.is_built_in:
        return tools
    return [_contained_tool(plugin, tool) for tool in tools if turn.access.session_type in tool.sessions]


def _contained_tool(plugin: Plugin, tool: Tool) -> Tool:
    """Return *tool* of a package: its results are others' words, and its failures are told to the model alone."""
    return structs.replace(tool, run=_bounded_run(plugin, tool.spec.name, tool.run), is_here=False)


def _bounded_run(plugin: Plugin, name: str, run: Callable[..., Awaitable[Told]]) -> Callable[..., Awaitable[Told]]:
    async def bounded(**arguments: object) -> Told:
        try:
            output = await run(**arguments)
        except (ToolError, WorkspaceError):
            raise
        except Exception as exc:
            log.exception("a tool of a package failed", package=plugin.package, tool=name)
            raise ToolError(f"{name} failed ({type(exc).__name__}); go on without it") from exc
        said = output.said if isinstance(output, ActedResult) else output
        return done(said if isinstance(said, FromOutside) else FromOutside(str(said)), "used", name)

    return bounded
