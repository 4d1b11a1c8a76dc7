"""Files of the page's chat: those that the owner sends, and the workspace files that answers link."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

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
from workspaces.secrets import redact_bytes

FILES_AT_MOST = 50
"""Files of one message; `attachments.per_message` is the owner's own limit."""


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


@dataclass(frozen=True, slots=True)
class LinkedFiles:
    """The workspace files that the owner opens from an answer."""

    frame: ViewFrame
    agents: Mapping[AgentId, Agent]

    def routes(self) -> list[Route]:
        return [self.frame.get("/agents/{agent}/work/file", self.file)]

    async def file(self, request: Request) -> Response:
        """Send a file as it is now: a picture and a text to be seen in the browser, any other to be saved."""
        agent = self.agents[AgentId(self.frame.agent(request))]
        path = clean_path(request.query_params.get("path", ""))
        content = await agent.run(_whole, agent.workspace.pieces(path, terminal_access(agent.id), LARGEST))
        mime = safe_type(content)
        how = "inline" if mime else "attachment"
        headers = {"content-disposition": f"{how}; filename*=utf-8''{quote(path.name)}"}
        return Response(content, media_type=mime or "application/octet-stream", headers=headers)


def _whole(pieces: Iterable[bytes]) -> bytes:
    return redact_bytes(b"".join(pieces))


def safe_type(content: bytes) -> str:
    """Return the type as which a browser may show *content*, which may be anybody's: never as a page with scripts.

    Empty if it can only be saved. Pure.
    """
    if facts := picture_facts(content):
        return facts.mime
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else "text/plain; charset=utf-8"
