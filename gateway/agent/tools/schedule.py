"""Tools with which a turn lists and changes its agent's scheduled jobs, as far as its owner asked for it."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from typing import Protocol

from gateway.agent.tools.tool import Told, Tool, tool, unoffered
from gateway.errors import ToolError
from workspaces.access import Access, rights


class JobRequests(Protocol):
    """The jobs of one agent, as one turn may change them. Every method raises ToolError."""

    async def add(self, when: str, what: str, *, private: bool) -> Told:
        """Add a job, or ask the owner; return the outcome as text."""

    async def listed(self) -> str:
        """Format the list of jobs."""

    async def cancel(self, number: int) -> Told:
        """Remove a job, or ask the owner; return the outcome as text."""

    async def move(self, number: int, when: str, what: str, *, private: bool) -> Told:
        """Replace a job, whose words stay without *what*; without a valid *when* the job stays."""


def schedule_tools(access: Access, book: JobRequests) -> list[Tool]:
    """Return the job tools, for turns over private memory."""

    async def schedule(
        when: str = "",
        what: str = "",
        with_memory: bool = False,
        cancel: int | None = None,
    ) -> Told:
        """Plan a reminder or job, cancel one (with when: move it), or list all (no arguments).

        when: at 2026-12-24 09:00, in 20m, every 2h, Mon-Fri 17:30, cron; owner's zone. what: words to yourself.
        """
        if cancel is not None and (when or what):
            return await book.move(cancel, when, what, private=with_memory)
        if cancel is not None:
            return await book.cancel(cancel)
        if not when and not what:
            return await book.listed()
        if not when or not what:
            raise ToolError("a job needs both when and what; nothing was scheduled")
        return await book.add(when, what, private=with_memory)

    async def list_schedule() -> str:
        """List the planned jobs by number, with what became of them."""
        return await book.listed()

    async def cancel_schedule(number: int) -> Told:
        """Remove a job from what is planned."""
        return await book.cancel(number)

    row = rights(access)
    if not (row.private and row.writes):
        return []
    return [tool(schedule), unoffered(list_schedule), unoffered(cancel_schedule)]
