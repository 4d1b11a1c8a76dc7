"""This file bounds the pictures in memory: how much one request shows of them, and all that run at the same time."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from gateway.agent.entries import Entry, Picture, UserEntry

MEGABYTE = 1024 * 1024
MOST_AT_ONCE = 48 * MEGABYTE
"""Of all requests together; our choice. In Base64 and in the body of a request they take some three times as much."""


def shown_pictures(entries: Iterable[Entry], most: int) -> list[Picture]:
    """Return the pictures of *entries* that have room in *most* bytes, the newest first; each once.

    One that is too large for what is left makes way for older ones that are not.
    """
    said = [entry for entry in entries if isinstance(entry, UserEntry)]
    pictures = {each.path: each for entry in reversed(said) for each in reversed(entry.pictures)}
    shown: list[Picture] = []
    for each in pictures.values():
        if each.size <= most:
            shown.append(each)
            most -= each.size
    return shown


class PictureRoom:
    """What the pictures of all running requests may take together; who finds no room waits, in the order of coming."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._taken = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Have room for *size* bytes while the block runs; more than there is at all has it when nobody else does."""
        if not size:
            yield
            return
        async with self._turn:
            while self._taken and self._taken + size > self._most:
                self._freed.clear()
                await self._freed.wait()
            self._taken += size
        try:
            yield
        finally:
            self._taken -= size
            self._freed.set()
