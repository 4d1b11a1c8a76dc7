"""Downloads a file from its platform to disk, piece by piece, under a size limit and a deadline."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import structlog

from adapters.abilities import FetchesFiles
from adapters.channel import Attachment, ChannelUnavailableError, FetchRefusedError, InboundMessage
from gateway.delivery.sender import Adapters
from gateway.runtime.clock import Clock, pause
from gateway.stores.disk import disk_trouble
from workspaces.attachments import DownloadedFile
from workspaces.image_info import PictureFacts, picture_facts
from workspaces.run_blocking import RunBlocking
from workspaces.secrets import redact_bytes

FETCH_TIMEOUT_S = 60.0
"""How long one file may take; our choice."""
RETRIES_S = (1.0, 4.0, 10.0)
"""Delays before a retry: right after a start a channel needs some seconds until it is ready."""


TEXT_MOST = 4 * 1024 * 1024
"""Largest text file, in bytes, that is searched for known secrets; no larger text is read from a workspace."""

log = structlog.get_logger()


class TooLargeToTakeError(Exception):
    """The file is larger than the limit."""


class Fetcher:
    """Requests files from the channel that brought a message."""

    def __init__(self, adapters: Adapters, run: RunBlocking, clock: Clock) -> None:
        """*run* executes blocking work."""
        self._adapters = adapters
        self._run = run
        self._clock = clock

    async def fetch(
        self, message: InboundMessage, attachment: Attachment, spool: Path, name: str, most: int
    ) -> DownloadedFile:
        """Fetch a file of at most *most* bytes into *spool*, with retries where these may help.

        Raises TooLargeToTakeError, ChannelError, TimeoutError, and StoreError when the disk refuses.
        """
        if attachment.size is not None and attachment.size > most:
            raise TooLargeToTakeError
        for wait_s in RETRIES_S:
            try:
                return await self._download(message, attachment, spool, name, most)
            except (ChannelUnavailableError, TimeoutError):
                await pause(self._clock, wait_s)
        return await self._download(message, attachment, spool, name, most)

    async def spool(self, pieces: AsyncIterator[bytes], spool: Path, name: str, most: int) -> DownloadedFile:
        """Write *pieces* into *spool*, with known secrets removed from text.

        Raises TooLargeToTakeError, and StoreError when the disk refuses.
        """
        size, digest = 0, hashlib.sha256()
        with _translated_errors(spool):
            file = await self._run(_open_spool, spool)
            try:
                async for piece in pieces:
                    size += len(piece)
                    if size > most:
                        raise TooLargeToTakeError
                    digest.update(piece)
                    await self._run(file.write, piece)
            finally:
                await self._run(file.close)
            if size <= TEXT_MOST and (clean := await self._run(_redacted_content, spool)):
                size, digest = len(clean), hashlib.sha256(clean)
        return DownloadedFile(spool, name, size, digest.hexdigest())

    async def picture(self, incoming: DownloadedFile) -> PictureFacts | None:
        """Return the facts in the header of a fetched picture; `None` for other files.

        Raises StoreError when the disk refuses.
        """
        with _translated_errors(incoming.place):
            return picture_facts(await self._run(incoming.place.read_bytes))

    async def remove(self, spool: Path) -> None:
        """Remove the fetched file, if it exists."""
        with _translated_errors(spool):
            await self._run(_remove, spool)

    async def _download(
        self, message: InboundMessage, attachment: Attachment, spool: Path, name: str, most: int
    ) -> DownloadedFile:
        adapter = self._adapters.of(message.address)
        if not isinstance(adapter, FetchesFiles):
            raise FetchRefusedError(f"the channel {adapter.channel} has no file downloads")
        async with asyncio.timeout(FETCH_TIMEOUT_S):
            return await self.spool(adapter.fetch(attachment), spool, name, most)


async def once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


@contextmanager
def _translated_errors(spool: Path) -> Iterator[None]:
    try:
        yield
    except TimeoutError:  # an OSError too, but not one of the disk
        raise
    except OSError as exc:
        raise disk_trouble(spool, exc) from exc


def _redacted_content(spool: Path) -> bytes | None:
    """Remove known secrets from a text; return the new content, `None` if it held none."""
    content = spool.read_bytes()
    if (clean := redact_bytes(content)) is content:
        return None
    log.warning("a known secret was removed from a file")
    spool.write_bytes(clean)
    return clean


def _open_spool(spool: Path) -> BinaryIO:
    spool.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return spool.open("wb")


def _remove(spool: Path) -> None:
    spool.unlink(missing_ok=True)
