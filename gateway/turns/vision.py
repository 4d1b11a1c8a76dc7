"""This file shows a model the pictures that came with the message that its turn answers."""

import hashlib
from base64 import b64encode
from pathlib import PurePosixPath

from gateway.agent.agent import Agent
from gateway.agent.entries import Picture
from gateway.agent.models.port import Look
from workspaces.access import Access, attachments_folder
from workspaces.attachments import is_content_of
from workspaces.errors import BadPathError, NoSuchFileError, TooLargeError
from workspaces.workspace import Workspace


def sight_of(agent: Agent, access: Access) -> Look:
    """Return what gives a model of *agent* the pictures of a turn: those of the turn's own audience, and no other's."""

    async def look(picture: Picture) -> str | None:
        return await agent.run(_seen, agent.workspace, access, picture)

    return look


def _seen(workspace: Workspace, access: Access, picture: Picture) -> str | None:
    """Return *picture* as a data URI; `None` if it is not there any more, as it came, where this turn's files lie."""
    path = PurePosixPath(picture.path)
    if path.parent != attachments_folder(access):
        return None
    try:
        content = b"".join(workspace.pieces(path, access, picture.size))
    except (NoSuchFileError, BadPathError, TooLargeError):
        return None
    if not is_content_of(path, hashlib.sha256(content).hexdigest()):
        return None
    return f"data:{picture.mime};base64,{b64encode(content).decode()}"
