"""Tool with which a turn sends a workspace file, within its access, to the chat that it answers."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import structs
from pydantic import BaseModel, ConfigDict, Field

from gateway.agent.tools.tool import Told, Tool, done, tool
from workspaces.paths import clean_path

CAPTION_CHARS = 500
"""Longest caption of a file: Telegram takes 1,024 UTF-16 units, and a character may have two."""

Enclose = Callable[[PurePosixPath, str], Awaitable[int]]
"""Copies a file, to be sent after the answer with its caption; returns its size in bytes. Raises ToolError and
WorkspaceError.
"""


class SendArguments(BaseModel):
    """The arguments of `send_file`."""

    model_config = ConfigDict(extra="forbid")
    path: str
    caption: str = Field(default="", max_length=CAPTION_CHARS)


CheckFile = Callable[[PurePosixPath], Awaitable[None]]
"""Raises ToolError or WorkspaceError for a file that cannot be sent."""


def send_tools(enclose: Enclose, check: CheckFile) -> list[Tool]:
    """Return the tool that sends a file; the turn decides the destination, never an argument."""

    async def send_file(
        path: str,
        caption: Annotated[str, Field(max_length=CAPTION_CHARS)] = "",
    ) -> Told:
        """Send the person a file, after your answer."""
        size = await enclose(clean_path(path), caption)
        sent = clean_path(path)
        return done(f"{sent} ({size:,} bytes) goes out with your answer.", "sends", sent)

    async def check_file(path: str, caption: str) -> None:
        await check(clean_path(path))

    return [structs.replace(tool(send_file, sends=True), check=check_file)]
