"""Download of message attachments, from Discord's own file servers only."""

from collections.abc import AsyncIterator

from aiohttp import ClientError, ClientSession, ClientTimeout
from discord.http import Route
from yarl import URL

from adapters.channel import Attachment, ChannelUnavailableError, FetchRefusedError
from adapters.discord.calls import DiscordCalls, number
from adapters.discord.wire import PostedMessage

CDN = "https://cdn.discordapp.com"
_PIECE = 65_536
_GONE = frozenset({403, 404, 410})


class Files:
    """Downloads for one bot."""

    def __init__(self, calls: DiscordCalls, cdn_url: str | None, timeout_s: float) -> None:
        """Take *cdn_url* in place of Discord's; *timeout_s* is the timeout of each piece."""
        self._calls = calls
        self._origin = URL(cdn_url or CDN).origin()
        self._timeout = ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the file's content. Raises ChannelUnavailableError, and FetchRefusedError where a retry cannot help."""
        url = await self._address(attachment)
        try:
            async with (
                ClientSession(timeout=self._timeout, auto_decompress=False) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise _refusal(response.status)
                async for piece in response.content.iter_chunked(_PIECE):
                    yield piece
        except (ClientError, OSError) as fault:
            raise ChannelUnavailableError(f"the file cannot be downloaded ({type(fault).__name__})") from None

    async def _address(self, attachment: Attachment) -> URL:
        """Request the message again: the URLs of its files are signed for about a day."""
        channel, message, file = map(number, attachment.ref.split("/"))
        path = "/channels/{channel_id}/messages/{message_id}"
        found = await self._calls.read(PostedMessage, Route("GET", path, channel_id=channel, message_id=message))
        files = found.attachments if found else ()
        url = next((URL(each.url) for each in files if each.id == str(file)), None)
        if url is None:
            raise FetchRefusedError("the file no longer exists")
        if not url.absolute or url.origin() != self._origin:
            raise FetchRefusedError("the file is not hosted by Discord")
        return url


def _refusal(status: int) -> ChannelUnavailableError | FetchRefusedError:
    if status in _GONE:
        return FetchRefusedError("the file no longer exists")
    return ChannelUnavailableError(f"Discord's file server responds with status {status}")
