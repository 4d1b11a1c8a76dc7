"""Reads the images of a request, embedded as data: nothing is fetched from elsewhere."""

import base64
import binascii
import re

from msgspec import Struct

from adapters.channel import Attachment, AttachmentKind
from gateway.web.errors import HttpError
from workspaces.image_info import picture_facts
from workspaces.lazy_pattern import lazy_pattern

_DATA = lazy_pattern(r"data:(?P<mime>[A-Za-z0-9.+/-]{1,100});base64,", re.IGNORECASE)
_KINDS = "JPEG, PNG, WebP or GIF"


class ImageCaps(Struct, frozen=True):
    """Limits on the number and size of a request's images; the same as for any other channel."""

    count: int
    size: int
    """Bytes of one image."""


def image(url: str, param: str, caps: ImageCaps) -> Attachment:
    """Return the image in the data URI *url* as an attachment. Raises HttpError 400 at *param*.

    Its bytes are part of the stored message until its turn: any gateway of a cluster may answer it.
    """
    head = _DATA.match(url)
    if head is None:
        said = f"an image must be a data URI (data:image/png;base64,…); addresses are not fetched: {url[:40]!r}"
        raise HttpError(400, said, param=param, code="invalid_image_url")
    try:
        content = base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError) as exc:
        raise HttpError(400, "the image is not valid base64", param=param, code="invalid_base64_image") from exc
    if len(content) > caps.size:
        most = f"an image may have at most {caps.size:,} bytes; attachments.max_mb sets it"
        raise HttpError(400, most, param=param, code="image_too_large")
    facts = picture_facts(content)
    if facts is None:
        raise HttpError(400, f"the image is not {_KINDS}", param=param, code="invalid_image_format")
    plain = f"data:{facts.mime};base64,{base64.b64encode(content).decode()}"
    return Attachment(AttachmentKind.PHOTO, plain, mime=facts.mime, size=len(content))
