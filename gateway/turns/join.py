"""Joins waiting messages to the turn of another; each keeps an entry of its own in the journal."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from msgspec import Struct

from gateway.agent.entries import Entry, UserEntry
from gateway.inbound.queue_modes import Current
from gateway.inbound.settings import QueueMode
from gateway.stores.rows import InboxRow
from gateway.turns.journal import TurnJournal


class Joining(Struct, frozen=True):
    """The messages of one turn; its journal alone determines these."""

    current: Current
    journal: TurnJournal
    said: Callable[[InboxRow], Awaitable[UserEntry]]
    """Makes an entry of a message."""
    may_join: Callable[[], Awaitable[bool]]
    """Returns whether the turn's sender may still write."""

    async def begin(self) -> None:
        """Record the turn's message, and waiting ones to be answered with it; after a crash, nothing is added."""
        known = self.journal.message_ids
        is_begun = bool(known)
        rows = self.current.take(known, not is_begun)
        if is_begun and self.current.is_overtaken():
            self.current.halt.after_tool()
        if not is_begun:
            others = [replace(await self.said(each), joins=True) for each in rows]
            await self.journal.append(await self.said(self.current.row), *others)

    async def steered(self, hears: Callable[[Entry], None] | None) -> Sequence[UserEntry]:
        """Record and return the messages since then; none in any other mode. *hears* is called with each."""
        known = self.journal.message_ids
        is_open = self.current.mode is QueueMode.STEER and not self.current.halt.soon.is_set()
        rows = self.current.take(known, is_open and await self.may_join())
        new = [replace(await self.said(each), joins=True) for each in rows if str(each.id) not in known]
        if new:
            await self.journal.append(*new)
            if hears is not None:
                for entry in new:
                    hears(entry)
        return new
