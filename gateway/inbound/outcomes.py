"""This file tells whoever waits for a message's turn what it came to."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from adapters import http, terminal
from gateway.stores.rows import InboxRow, OutboxRow

ASKED = frozenset({http.CHANNEL, terminal.CHANNEL})
"""The channels whose readers may ask when the turn is over already; who waits for another's asks before."""
KEPT = 1_000
"""Outcomes that are remembered of these; the oldest are forgotten."""

Outcome = Sequence[OutboxRow]
"""What the turn of a message committed: an answer, silence, or the notice that it must wait."""


class Outcomes:
    """What the latest turns came to, by the message that they answered."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, Outcome] = OrderedDict()
        self.listeners: list[Callable[[InboxRow, Outcome], None]] = []
        """Told, at once and in the event loop, what every turn committed; whoever composes the gateway adds them."""
        self._waiting: defaultdict[str, list[Callable[[Outcome], None]]] = defaultdict(list)

    def tell(self, row: InboxRow, replies: Outcome) -> None:
        """Say what the turn of *row* committed; the first that is told of a message stands."""
        for listener in self.listeners:
            listener(row, replies)
        message_id = row.message.id
        if message_id in self._told:
            return
        if row.message.address.channel in ASKED:
            self._told[message_id] = replies
        for hear in tuple(self._waiting.get(message_id, ())):
            hear(replies)
        while len(self._told) > KEPT:
            self._told.popitem(last=False)

    async def of(self, message_id: str) -> Outcome:
        """Return what the turn of the message came to, when it has; it stays known for a while."""
        told: asyncio.Queue[Outcome] = asyncio.Queue()
        with self.awaited(message_id, told.put_nowait):
            return await told.get()

    @contextmanager
    def awaited(self, message_id: str, hear: Callable[[Outcome], None]) -> Iterator[None]:
        """Let *hear* be told once, at once and in the event loop, if the turn ends before the block does, or has."""
        if message_id in self._told:
            hear(self._told[message_id])
        self._waiting[message_id].append(hear)
        try:
            yield
        finally:
            self._waiting[message_id].remove(hear)
            if not self._waiting[message_id]:
                del self._waiting[message_id]

    def known(self, message_id: str) -> Outcome:
        """Return what the turn of the message came to, nothing if that is not known yet."""
        return self._told.get(message_id, ())
