"""Files that are part of the request that brought their message, as data URIs."""

from base64 import b64decode
from collections.abc import AsyncIterator

from adapters.channel import Attachment, FetchRefusedError

_PIECE = 65_536


async def embedded_content(attachment: Attachment) -> AsyncIterator[bytes]:
    """Yield the content of *attachment*, which is a data URI. Raises FetchRefusedError for any other."""
    head, _, data = attachment.ref.partition(";base64,")
    if not head.startswith("data:"):
        raise FetchRefusedError("the file is not part of its request")
    content = b64decode(data)
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]
