"""Limits the messages waiting in memory: the rest stays in the inbox until there is room."""

from collections.abc import Callable, Mapping
from typing import Never

import structlog
from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.admission.routing import Envelope, SessionKey
from gateway.errors import StoreError
from gateway.inbound.overflow import Overflow, Rest
from gateway.inbound.queue_modes import Item, Queueing
from gateway.runtime.clock import Clock, pause
from gateway.runtime.lanes import Lanes
from gateway.stores.rows import InboxId, InboxRow
from workspaces.access import Access

log = structlog.get_logger()

PAGE = 500
"""Messages read at a time."""
AGAIN_S = 1.0
"""Seconds before an unreadable store is read again. Our choice."""


class Backlog(Struct, frozen=True):
    """Passes messages on to their lanes in order, as many as there is room for."""

    queueing: Queueing
    overflow: Overflow
    lanes: Lanes[SessionKey, Item]
    key_of: Callable[[InboxRow], SessionKey | None]
    """Returns the session of a message; `None` if it is not for this run."""
    is_stop: Callable[[InboundMessage, Access], bool]
    """Returns whether a message, with the access of its turn, is an authorised `/stop`."""
    cancel: Callable[[SessionKey], int]
    """Cancels the subagents of a session, and returns their number."""
    page: int = PAGE

    def take(self, envelope: Envelope, row: InboxRow) -> None:
        """Pass on *row*, just stored or found at a start, or leave it in the inbox behind others of its session.

        What it does to a running turn takes effect before it waits.
        """
        key, is_stop = envelope.key, self.is_stop(row.message, envelope.access)
        if is_stop:
            self.queueing.stop(key, row.id, self.cancel(key))
        else:
            self.queueing.arrived(key, row)
        rest = self.overflow.rests.get(key)
        if rest is not None:
            rest.grow(row)
        elif self.overflow.has_room(key):
            self.lanes.submit(key, row)
        else:
            self.overflow.rests[key] = Rest(row.id, row.id, 1)

    async def refill(self, clock: Clock) -> Never:
        """Read messages left in the inbox whenever there is room, until cancelled."""
        while True:
            await self.overflow.wanted.wait()
            self.overflow.wanted.clear()
            try:
                await self._read_on()
            except StoreError as exc:
                log.warning("the inbox cannot be read now", detail=str(exc))
                await pause(clock, AGAIN_S)
                self.overflow.wanted.set()

    async def _read_on(self) -> None:
        """Read the inbox once, from the first missing message, until no session has room.

        A session found full takes no later message in this pass, and one that was not behind at its start takes none:
        so none is skipped.
        """
        open_ = set(self.overflow.rests)
        after = min((self.overflow.rests[key].first for key in open_), default=InboxId(1)) - 1
        while open_:
            offered = {key: self.overflow.rests[key].newest for key in open_}
            rows = await self.overflow.read(InboxId(after), self.page)
            for row in rows:
                self._offer(row, open_)
            if len(rows) < self.page:
                self._close(offered, open_)
                return
            after = rows[-1].id

    def _offer(self, row: InboxRow, open_: set[SessionKey]) -> None:
        key = self.key_of(row)
        if key is None or key not in open_ or row.id < self.overflow.rests[key].first:
            return
        rest = self.overflow.rests[key]
        if not self.overflow.has_room(key):
            open_.discard(key)
            rest.stay(row)
            return
        self.lanes.submit(key, row)
        rest.shrink(row)

    def _close(self, offered: Mapping[SessionKey, InboxId], open_: set[SessionKey]) -> None:
        """Forget the sessions that have everything in memory now; look again if more arrived meanwhile."""
        for key in open_:
            if self.overflow.rests[key].newest == offered[key]:
                del self.overflow.rests[key]
            else:
                self.overflow.wanted.set()
