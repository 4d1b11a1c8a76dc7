"""This file holds what passes between another program of the owner's and the gateway about an agent's memory tools."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ToolOrder:
    """A question which tools there are, or a call of one."""

    act: Literal["list", "call"]
    agent: str | None = None
    name: str = ""
    arguments: str = "{}"
    """JSON, an object."""


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
    """The tools, or what one said; as far as it was asked for."""

    tools: tuple[OfferedTool, ...] = ()
    text: str = ""
    is_error: bool = False
