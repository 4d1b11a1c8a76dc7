"""Loads the pictures of the message that a turn answers, for its model."""

import hashlib
from base64 import b64encode
from pathlib import PurePosixPath

from msgspec import structs

from gateway.agent.agent import Agent
from gateway.agent.entries import Picture
from gateway.agent.models.port import Look
from workspaces.access import Access, attachments_folder
from workspaces.attachments import is_content_of
from workspaces.errors import BadPathError, NoSuchFileError, TooLargeError
from workspaces.workspace import Workspace


def sight_of(agent: Agent, access: Access) -> Look:
    """Return a loader of pictures for *agent*'s model: those of the turn's own audience, and no others."""

    async def look(picture: Picture) -> str | None:
        return await agent.run(_data_uri, agent.workspace, access, picture)

    return look


def _data_uri(workspace: Workspace, access: Access, picture: Picture) -> str | None:
    """Return *picture* as a data URI; `None` unless it is unchanged in a folder that this turn may read."""
    path = PurePosixPath(picture.path)
    if path.parent not in {attachments_folder(structs.replace(access, is_house=each)) for each in (False, True)}:
        return None
    try:
        content = b"".join(workspace.pieces(path, access, picture.size))
    except (NoSuchFileError, BadPathError, TooLargeError):
        return None
    if not is_content_of(path, hashlib.sha256(content).hexdigest()):
        return None
    return f"data:{picture.mime};base64,{b64encode(content).decode()}"
