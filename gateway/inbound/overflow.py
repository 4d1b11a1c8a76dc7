"""Messages that are only in the inbox: no more wait in memory than there is room for."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from gateway.admission.routing import SessionKey
from gateway.inbound.queue_modes import Item
from gateway.inbound.settings import QueueSettings
from gateway.runtime.queues import Queues
from gateway.stores.rows import InboxId, InboxRow
from workspaces.access import AgentId

Read = Callable[[InboxId, int], Awaitable[Sequence[InboxRow]]]
"""Reads that many unanswered messages after one, oldest first."""


class Rest(Struct):
    """The messages of a session that are only in the inbox."""

    first: InboxId
    """First message that may be missing in memory."""
    newest: InboxId
    count: int = 0

    def grow(self, row: InboxRow) -> None:
        """Leave *row* there too, unless it is known."""
        if row.id > self.newest:
            self.newest, self.count = row.id, self.count + 1

    def stay(self, row: InboxRow) -> None:
        """Note that there is no room for *row*, which is the first that is missing."""
        self.first = row.id

    def shrink(self, row: InboxRow) -> None:
        """Note that *row*, its first message, is in memory now."""
        self.first, self.count = InboxId(row.id + 1), max(self.count - 1, 0)


class Depth(Struct, frozen=True):
    """The waiting messages of one agent."""

    messages: int = 0
    oldest: datetime | None = None


class Overflow(Struct, frozen=True):
    """The sessions with such messages, and the room for them in memory."""

    queues: Queues[SessionKey, Item]
    read: Read
    settings: QueueSettings = field(default_factory=QueueSettings)
    rests: dict[SessionKey, Rest] = field(default_factory=dict)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the inbox is to be read on."""

    def has_room(self, key: SessionKey) -> bool:
        """Return whether a message of the session may wait in memory."""
        held = self.queues.held(key)
        return held == 0 or (held < self.settings.session_memory and self.queues.total < self.settings.memory)

    def heed(self, key: SessionKey) -> None:
        """Note that messages of the session are done; read on when half of the room is free, so that each read brings
        many."""
        if not self.rests:
            return
        held, is_half_free = self.queues.held(key), self.queues.total <= self.settings.memory // 2
        if key not in self.rests:
            has_changed = self.queues.total == self.settings.memory // 2
        else:
            has_changed = held == 0 or (held <= self.settings.session_memory // 2 and is_half_free)
        if has_changed:
            self.wanted.set()

    def depths(self) -> Mapping[AgentId, Depth]:
        """Return the number of each agent's waiting messages, in memory and behind it."""
        found: dict[AgentId, Depth] = {}
        for key, held, oldest in self.queues:
            since = oldest.received_at if isinstance(oldest, InboxRow) else None
            left = self.rests[key].count if key in self.rests else 0
            before = found.get(key.agent, Depth())
            times = [time for time in (before.oldest, since) if time is not None]
            found[key.agent] = Depth(before.messages + held + left, min(times, default=None))
        return found
