"""Tools with which an agent starts and cancels subagents."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from gateway.agent.tools.tool import Told, Tool, done, tool, unoffered
from gateway.errors import ToolError

TASK_CHARS = 20_000
"""Longest task, in characters; our choice."""
_NAME_CHARS = 24


class SubagentOperations(Struct, frozen=True):
    """The subagent operations of one turn."""

    spawn: Callable[[str, str], Awaitable[str]]
    """Starts one on a task, with a name for it; returns its id. Raises ToolError at a limit."""
    cancel: Callable[[str], None]
    """Cancels the one with that id. Raises ToolError, which names those that run here, for an unknown id."""


def name_part(name: str) -> str:
    """Return *name* as the beginning of an id: small ASCII letters, digits and hyphens."""
    plain = "".join(each if each.isascii() and each.isalnum() else "-" for each in name.lower())
    return "-".join(filter(None, plain.split("-")))[:_NAME_CHARS].strip("-") or "helper"


def spawn_tools(helpers: SubagentOperations) -> list[Tool]:
    """Return the tools over *helpers*; the turn decides whose they are, never an argument."""

    async def spawn(
        task: Annotated[str, Field(max_length=TASK_CHARS)] = "",
        name: str = "helper",
        cancel: str | None = None,
    ) -> Told:
        """Delegate a task to a subagent, which knows only your words, or cancel one by id."""
        if cancel is not None:
            return await cancel_subagent(cancel)
        if not task:
            raise ToolError("a subagent needs a task; nothing was started")
        found = await helpers.spawn(task, name_part(name))
        said = f"Subagent {found} is running. Do not wait: its result arrives here as a message; report it then."
        return done(said, "started", found)

    async def cancel_subagent(task_id: str) -> Told:
        """Cancel a subagent; it returns no result."""
        helpers.cancel(task_id)
        return done(f"Subagent {task_id} is cancelled.", "stopped", task_id)

    return [tool(spawn), unoffered(cancel_subagent)]
