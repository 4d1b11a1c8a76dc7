"""Wire types for an agent's memory tools, shared by other programs of the owner's and the gateway."""

from dataclasses import dataclass
from typing import Literal

from gateway.control.order import Order


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that another program may call."""

    name: str
    description: str
    schema: str
    """The JSON schema of its arguments, as JSON."""
    writes: bool


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The tools, or the result of a call; only the requested part is set."""

    tools: tuple[OfferedTool, ...] = ()
    text: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolOrder(Order[ToolAnswer]):
    """A request to list the tools, or to call one."""

    act: Literal["list", "call"]
    agent: str | None = None
    name: str = ""
    arguments: str = "{}"
    """JSON, an object."""
