"""Reports the outcome of a message's turn to its waiters."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from adapters import http, terminal
from adapters.channel import Address
from gateway.runtime.bounded_dict import BoundedDict
from gateway.stores.rows import InboxRow, OutboxRow

ASKED = frozenset({http.CHANNEL, terminal.CHANNEL})
"""The channels whose readers may ask after the turn is over; others subscribe before it."""
KEPT = 1_000
"""Outcomes remembered for these; the oldest are evicted."""

Outcome = Sequence[OutboxRow]
"""The committed result of a message's turn: an answer, silence, or the notice that it must wait."""


class Outcomes:
    """The outcomes of the latest turns, by the message answered."""

    def __init__(self, listeners: Sequence[Callable[[InboxRow, Outcome], None]] = ()) -> None:
        """*listeners* are called at once, in the event loop, with every turn's result."""
        self._told: BoundedDict[str, Outcome] = BoundedDict(KEPT)
        self._listeners = list(listeners)
        self._waiting: defaultdict[str, list[Callable[[Outcome], None]]] = defaultdict(list)
        self._postponed: defaultdict[Address, list[Callable[[str, bool], None]]] = defaultdict(list)

    def tell(self, row: InboxRow, replies: Outcome) -> None:
        """Set the outcome of the turn of *row*; the first outcome of a message stands."""
        for listener in self._listeners:
            listener(row, replies)
        message_id = row.message.id
        if message_id in self._told:
            return
        if row.message.address.channel in ASKED:
            self._told[message_id] = replies
        for hear in tuple(self._waiting.get(message_id, ())):
            hear(replies)

    def postpone(self, row: InboxRow, reason: str, lets_pass: bool) -> None:
        """Report that the message of *row* must wait, after an attempt to answer it; *reason* is a sentence.

        *lets_pass* tells whether commands behind it may pass it.
        """
        for hear in tuple(self._postponed.get(row.message.address, ())):
            hear(reason, lets_pass)

    @contextmanager
    def postponements(self, address: Address, hear: Callable[[str, bool], None]) -> Iterator[None]:
        """Call *hear* with the reason whenever a message at *address* must wait, until the block ends.

        The messages behind it wait too; those that may pass it do not, if it lets them: the second argument.
        """
        self._postponed[address].append(hear)
        try:
            yield
        finally:
            self._postponed[address].remove(hear)
            if not self._postponed[address]:
                del self._postponed[address]

    async def of(self, message_id: str) -> Outcome:
        """Return the outcome of the message's turn once it is known; it stays known for a while."""
        told: asyncio.Queue[Outcome] = asyncio.Queue()
        with self.awaited(message_id, told.put_nowait):
            return await told.get()

    @contextmanager
    def awaited(self, message_id: str, hear: Callable[[Outcome], None]) -> Iterator[None]:
        """Call *hear* once, at once and in the event loop, if the turn ends before the block does, or has ended."""
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
        """Return the outcome of the message's turn, or nothing if it is not known yet."""
        return self._told.get(message_id, ())
