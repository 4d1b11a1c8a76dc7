"""Files of the page's chat: those that the owner sends, and the workspace files that answers link."""

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.channel import Attachment, AttachmentKind
from gateway.agent.agent import Agent
from gateway.control.agents import terminal_access
from gateway.delivery.outgoing_files import LARGEST
from gateway.web.errors import HttpError
from gateway.web.view_frame import ViewFrame
from workspaces.access import AgentId
from workspaces.image_info import picture_facts
from workspaces.paths import clean_path

FILES_AT_MOST = 50
"""Files of one message; `attachments.per_message` is the owner's own limit."""
LONGEST_SHOWN = 200_000
"""Bytes of a text that is shown in the browser; a longer one is saved. Our choice."""


class FileBody(BaseModel):
    """A file in a request of the page's."""

    name: str = Field(max_length=255)
    mime: str = Field("", pattern="^[A-Za-z0-9.+/-]{0,100}$")
    base64: str

    def attachment(self) -> Attachment:
        """Return the file as an attachment. Raises HttpError 400.

        Its content is part of the stored message until its turn: any gateway of a cluster may answer it.
        """
        try:
            content = base64.b64decode(self.base64, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise HttpError(400, f"{self.name} did not arrive whole; send it again", param="files") from exc
        facts = picture_facts(content)
        kind, mime = (AttachmentKind.PHOTO, facts.mime) if facts else (AttachmentKind.DOCUMENT, self.mime)
        mime = mime or "application/octet-stream"
        return Attachment(kind, f"data:{mime};base64,{self.base64}", self.name, mime, len(content))


class LinkedFiles(Struct, frozen=True):
    """The workspace files that the owner opens from an answer."""

    frame: ViewFrame
    agents: Mapping[AgentId, Agent]

    def routes(self) -> list[Route]:
        return [self.frame.get("/agents/{agent}/work/file", self.file)]

    async def file(self, request: Request) -> Response:
        """Show a file as it is now, if it is a text or a picture and is not asked for to be saved; send any other.

        It may be anybody's: a browser gets it as nothing else, and never as a page with scripts.
        """
        agent = self.agents[AgentId(self.frame.agent(request))]
        path, is_saved = clean_path(request.query_params.get("path", "")), "save" in request.query_params
        content = await agent.run(b"".join, agent.workspace.pieces(path, terminal_access(agent.id), LARGEST))
        text = None if is_saved else readable_text(content)
        if text is not None:
            return await self.frame.show(request, "work_file.html", {"tab": "", "path": str(path), "text": text})
        facts = None if is_saved else picture_facts(content)
        how, mime = ("inline", facts.mime) if facts else ("attachment", "application/octet-stream")
        headers = {"content-disposition": f"{how}; filename*=utf-8''{quote(path.name)}"}
        return Response(content, media_type=mime, headers=headers)


def readable_text(content: bytes) -> str | None:
    """Return *content* as a text to be read on a page; `None` if it is none, or too long for that. Pure."""
    if len(content) > LONGEST_SHOWN or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
