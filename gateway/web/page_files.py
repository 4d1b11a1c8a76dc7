"""Files that the owner sends from the page."""

import base64
import binascii

from pydantic import BaseModel, Field

from adapters.channel import Attachment, AttachmentKind
from gateway.web.errors import HttpError
from workspaces.image_info import picture_facts

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
