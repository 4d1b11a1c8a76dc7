"""This file gives a turn its notebook: a note of the day, with a receipt of where it stands."""

from collections.abc import Callable
from datetime import datetime

from gateway.agent.tools.tool import Run, Tool, tool
from gateway.errors import ToolError
from workspaces.access import Access, rights
from workspaces.notes import append_note
from workspaces.workspace import Workspace


def note_tools(workspace: Workspace, access: Access, run: Run, clock: Callable[[], datetime]) -> list[Tool]:
    """Return the note tools of one turn; *clock* tells the time in the owner's zone."""

    async def add_note(text: str) -> str:
        """Write a note into today's notes: what happened, was decided, or shall be remembered."""
        try:
            receipt = await run(append_note, workspace, access, text, clock())
        except ValueError as exc:
            raise ToolError(str(exc)) from exc
        return f"Noted in {receipt.path}#L{receipt.line}."

    row = rights(access)
    return [tool(add_note)] if row.writes and row.memory_tools else []
