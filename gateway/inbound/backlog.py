"""Limits the messages waiting in memory: the rest stays in the inbox until there is room."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Never

import structlog

from adapters.channel import InboundMessage
from gateway.admission.routing import Envelope, SessionKey
from gateway.errors import StoreError
from gateway.inbound.queue_modes import Item, Queueing
from gateway.runtime.clock import Clock
from gateway.runtime.lanes import Lanes
from gateway.runtime.queues import Queues
from gateway.stores.rows import InboxId, InboxRow
from workspaces.access import Access, AgentId

log = structlog.get_logger()

PAGE = 500
"""Messages read at a time."""
AGAIN_S = 1.0
"""Seconds before an unreadable store is read again. Our choice."""

Read = Callable[[InboxId, int], Awaitable[Sequence[InboxRow]]]
"""Reads that many unanswered messages after one, oldest first."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of messages waiting in memory."""

    session: int = 100
    every: int = 10_000
    """Of all sessions together; each always has room for one, so that no chat can keep another out."""


@dataclass(slots=True)
class _Rest:
    """The messages of a session that are only in the inbox."""

    first: InboxId
    """First message that may be missing in memory."""
    newest: InboxId
    count: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """The waiting messages of one agent."""

    messages: int = 0
    oldest: datetime | None = None


@dataclass(slots=True)
class Backlog:
    """Passes messages on to their lanes in order, as many as there is room for."""

    queueing: Queueing
    lanes: Lanes[SessionKey, Item]
    read: Read
    key_of: Callable[[InboxRow], SessionKey | None]
    """Returns the session of a message; `None` if it is not for this run."""
    is_stop: Callable[[InboundMessage, Access], bool]
    """Returns whether a message, with the access of its turn, is an authorised `/stop`."""
    bounds: Bounds = field(default_factory=Bounds)
    cancel: Callable[[SessionKey], int] = lambda _: 0
    """Cancels the subagents of a session, and returns their number."""
    _rests: dict[SessionKey, _Rest] = field(default_factory=dict)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.queues.on_done = self._heed

    @property
    def queues(self) -> Queues[SessionKey, Item]:
        """Return the queues of the lanes."""
        return self.queueing.queues

    def take(self, envelope: Envelope, row: InboxRow) -> None:
        """Pass on *row*, just stored or found at a start, or leave it in the inbox behind others of its session.

        What it does to a running turn takes effect before it waits.
        """
        key, is_stop = envelope.key, self.is_stop(row.message, envelope.access)
        if is_stop:
            self.queueing.stop(key, row.id, self.cancel(key))
        else:
            self.queueing.arrived(key, row)
        rest = self._rests.get(key)
        if rest is None and self._has_room(key):
            self.lanes.submit(key, row)
        elif rest is None:
            self._rests[key] = _Rest(row.id, row.id, 1)
        elif row.id > rest.newest:
            rest.newest, rest.count = row.id, rest.count + 1
        if is_stop:
            self.lanes.wake(lambda other: other == key)

    async def refill(self, clock: Clock) -> Never:
        """Read messages left in the inbox whenever there is room, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._read_on()
            except StoreError as exc:
                log.warning("the inbox cannot be read now", detail=str(exc))
                await clock.wait(asyncio.Event(), AGAIN_S)
                self._wanted.set()

    def depths(self) -> Mapping[AgentId, Depth]:
        """Return the number of each agent's waiting messages, in memory and behind it."""
        found: dict[AgentId, Depth] = {}
        for key, held, oldest in self.queues:
            since = oldest.received_at if isinstance(oldest, InboxRow) else None
            left = self._rests[key].count if key in self._rests else 0
            before = found.get(key.agent, Depth())
            times = [time for time in (before.oldest, since) if time is not None]
            found[key.agent] = Depth(before.messages + held + left, min(times, default=None))
        return found

    def _has_room(self, key: SessionKey) -> bool:
        held = self.queues.held(key)
        return held == 0 or (held < self.bounds.session and self.queues.total < self.bounds.every)

    def _heed(self, key: SessionKey) -> None:
        """Continue reading when half of the room is free, so that each read brings many."""
        if not self._rests:
            return
        held, is_half_free = self.queues.held(key), self.queues.total <= self.bounds.every // 2
        if key not in self._rests:
            has_changed = self.queues.total == self.bounds.every // 2
        else:
            has_changed = held == 0 or (held <= self.bounds.session // 2 and is_half_free)
        if has_changed:
            self._wanted.set()

    async def _read_on(self) -> None:
        """Read the inbox once, from the first missing message, until no session has room.

        A session found full takes no later message in this pass, and one that was not behind at its start takes none:
        so none is skipped.
        """
        open_ = set(self._rests)
        after = min((self._rests[key].first for key in open_), default=InboxId(1)) - 1
        while open_:
            offered = {key: self._rests[key].newest for key in open_}
            rows = await self.read(InboxId(after), PAGE)
            for row in rows:
                self._offer(row, open_)
            if len(rows) < PAGE:
                self._close(offered, open_)
                return
            after = rows[-1].id

    def _offer(self, row: InboxRow, open_: set[SessionKey]) -> None:
        key = self.key_of(row)
        if key is None or key not in open_ or row.id < self._rests[key].first:
            return
        rest = self._rests[key]
        if not self._has_room(key):
            open_.discard(key)
            rest.first = row.id
            return
        self.lanes.submit(key, row)
        rest.first, rest.count = InboxId(row.id + 1), max(rest.count - 1, 0)

    def _close(self, offered: Mapping[SessionKey, InboxId], open_: set[SessionKey]) -> None:
        """Forget the sessions that have everything in memory now; look again if more arrived meanwhile."""
        for key in open_:
            if self._rests[key].newest == offered[key]:
                del self._rests[key]
            else:
                self._wanted.set()
