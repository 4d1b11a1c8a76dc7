"""Limits on pictures in memory: for one request, and for all requests that run at the same time."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from gateway.agent.entries import Entry, Picture, UserEntry

MEGABYTE = 1024 * 1024
MOST_AT_ONCE = 48 * MEGABYTE
"""For all requests together; our choice. In Base64 and in the body of a request they take some three times as much."""


def shown_pictures(entries: Iterable[Entry], most: int) -> list[Picture]:
    """Return the pictures of *entries* that fit into *most* bytes, the newest first, each once.

    One that is too large for the remaining room is skipped in favour of older ones that fit.
    """
    said = [entry for entry in entries if isinstance(entry, UserEntry)]
    pictures = {each.path: each for entry in reversed(said) for each in reversed(entry.pictures)}
    shown: list[Picture] = []
    for each in pictures.values():
        if each.size <= most:
            shown.append(each)
            most -= each.size
    return shown


class ImageBudget:
    """Room that the pictures of all running requests share; requests without room wait in the order of arrival."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._taken = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Reserve *size* bytes while the block runs.

        A request for more than the whole room is granted when no other runs.
        """
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
