"""Tools of your own: a function that returns them, registered as an entry point of `strandline.tools`."""

from collections.abc import Awaitable, Callable, Iterable

from msgspec import structs
from pydantic import Field

from gateway.agent.tools import tool as tools
from gateway.agent.tools.families import ToolResources
from gateway.agent.tools.tool import Told, Tool
from gateway.errors import ToolError
from workspaces.access import Access, SessionType

__all__ = ["Access", "Field", "SessionType", "Told", "Tool", "ToolError", "ToolResources", "tool"]


def tool(
    function: Callable[..., Awaitable[Told]],
    sessions: Iterable[SessionType] = (SessionType.MAIN,),
    *,
    sends: bool = True,
) -> Tool:
    """Make a tool of *function*: name and parameters from its signature, description from its docstring.

    Only sessions of the types *sessions* have it: unless named, the owner's direct chat alone. *function* raises
    ToolError with a sentence for the model.

    Pass `sends=False` for a function that passes its arguments on to nobody: otherwise its calls wait for the owner
    in turns that have read others' words.
    """
    return structs.replace(tools.tool(function, sends=sends), sessions=frozenset(sessions))
