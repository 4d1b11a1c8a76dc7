"""Download of message attachments, piece by piece."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from aiogram.exceptions import TelegramBadRequest
from aiogram.methods import GetFile
from aiohttp import ClientError, ClientResponseError

from adapters.channel import Attachment, ChannelUnavailableError, FetchRefusedError
from adapters.telegram.calls import CALL_TIMEOUT_S, TelegramCalls
from adapters.telegram.faults import CALL_FAULTS

LARGEST_FILE = 20_000_000
"""Largest file that a bot may fetch, in bytes (Bot API, `getFile`: 20 MB)."""
PIECE = 64 * 1024
FETCH_TIMEOUT_S = 180
"""Timeout for one file: 20 MB at 1 Mbit/s take 160 s."""


class FileDownloads:
    """Downloads for one bot."""

    def __init__(self, calls: TelegramCalls) -> None:
        self._calls = calls

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Implements `FetchesFiles`."""
        _check(attachment.size)
        path = await self._path(attachment.ref)
        bot, taken = self._calls.bot, 0
        url = bot.session.api.file_url(bot.token, path)
        try:
            async with aclosing(bot.session.stream_content(url, timeout=FETCH_TIMEOUT_S, chunk_size=PIECE)) as pieces:
                async for piece in pieces:
                    taken += len(piece)
                    _check(taken)
                    yield piece
        except ClientResponseError as fault:
            said = f"Telegram does not serve the file (HTTP {fault.status})"
            error = FetchRefusedError if fault.status in {400, 403, 404, 410} else ChannelUnavailableError
            raise error(said) from None  # the SDK's message contains the address, and with it the token
        except (ClientError, TimeoutError) as fault:
            raise ChannelUnavailableError(f"the download was interrupted ({type(fault).__name__})") from None

    async def _path(self, ref: str) -> str:
        try:
            file = await self._calls.bot(GetFile(file_id=ref), request_timeout=CALL_TIMEOUT_S)
        except TelegramBadRequest as fault:
            raise FetchRefusedError(str(self._calls.faults.of_call(fault))) from None
        except CALL_FAULTS as fault:
            raise self._calls.faults.of_call(fault) from None
        _check(file.file_size)
        if not file.file_path:
            raise FetchRefusedError("Telegram gave no path for the file")
        return file.file_path


def _check(size: int | None) -> None:
    if size is not None and size > LARGEST_FILE:
        raise FetchRefusedError(
            f"the file is larger than the {LARGEST_FILE // 1_000_000} MB that Telegram lets a bot download"
        )
