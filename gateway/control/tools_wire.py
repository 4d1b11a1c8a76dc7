"""Wire types for an agent's memory tools, shared by other programs of the owner's and the gateway."""

from typing import Literal

from msgspec import Struct

from gateway.control.order import Order


class OfferedTool(Struct, frozen=True):
    """A tool that another program may call."""

    name: str
    description: str
    schema: str
    """The JSON schema of its arguments, as JSON."""
    writes: bool


class ToolAnswer(Struct, frozen=True):
    """The tools, or the result of a call; only the requested part is set."""

    tools: tuple[OfferedTool, ...] = ()
    text: str = ""
    is_error: bool = False


class ToolOrder(Order[ToolAnswer], frozen=True):
    """A request to list the tools, or to call one."""

    act: Literal["list", "call"]
    agent: str | None = None
    name: str = ""
    arguments: str = "{}"
    """JSON, an object."""
