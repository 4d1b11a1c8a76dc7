"""This file tells whoever waits for a message's turn what it came to."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from gateway.stores.ports import InboxRow, OutboxRow

KEPT = 1_000
"""Outcomes that are remembered; the oldest are forgotten."""


class Outcomes:
    """What the latest turns came to, by the message that they answered."""

    def __init__(self) -> None:
        self._futures: OrderedDict[str, asyncio.Future[Sequence[OutboxRow]]] = OrderedDict()

    def tell(self, row: InboxRow, replies: Sequence[OutboxRow]) -> None:
        """Say what the turn of *row* committed: an answer, silence, or the notice that it must wait."""
        future = self._future(row.message.id)
        if not future.done():
            future.set_result(replies)

    async def of(self, message_id: str) -> Sequence[OutboxRow]:
        """Return what the turn of the message came to, when it has; it stays known for a while."""
        return await asyncio.shield(self._future(message_id))

    def known(self, message_id: str) -> Sequence[OutboxRow]:
        """Return what the turn of the message came to, nothing if that is not known yet."""
        future = self._futures.get(message_id)
        return future.result() if future is not None and future.done() and not future.cancelled() else ()

    def _future(self, message_id: str) -> asyncio.Future[Sequence[OutboxRow]]:
        future = self._futures.get(message_id)
        if future is None:
            future = self._futures[message_id] = asyncio.get_running_loop().create_future()
        while len(self._futures) > KEPT:
            self._futures.popitem(last=False)
        return future
