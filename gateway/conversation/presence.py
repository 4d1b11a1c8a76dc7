"""This file shows, where a channel can, that an answer is being written."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog

from adapters.channel import Adapter, Address, ChannelError, ShowsTyping

log = structlog.get_logger()

FIRST_AFTER_S = 0.5
"""An answer that comes sooner needs no sign."""
REFRESH_S = 4.0
"""Telegram's sign fades after five seconds, Discord's after ten."""


class Presence:
    """Keeps typing signs alive while turns run; `async with` owns their tasks."""

    def __init__(self, adapters: Mapping[tuple[str, str], Adapter]) -> None:
        self._adapters = adapters
        self._signs = asyncio.TaskGroup()

    async def __aenter__(self) -> "Presence":
        await self._signs.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._signs.__aexit__(None, None, None)

    @asynccontextmanager
    async def typing(self, address: Address) -> AsyncIterator[None]:
        """Show the sign at *address* until the block ends; a sign that fails never disturbs the turn."""
        adapter = self._adapters.get((address.channel, address.account))
        if not isinstance(adapter, ShowsTyping):
            yield
            return
        sign = self._signs.create_task(_keep_typing(adapter, address))
        try:
            yield
        finally:
            sign.cancel()


async def _keep_typing(adapter: ShowsTyping, address: Address) -> None:
    await asyncio.sleep(FIRST_AFTER_S)
    try:
        while True:
            await adapter.show_typing(address)
            await asyncio.sleep(REFRESH_S)
    except ChannelError as exc:
        log.info("no typing sign", detail=str(exc))
