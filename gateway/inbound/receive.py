"""This file takes a message in: admitted, made durable, routed, handed to its lane."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

from adapters.channel import Address, InboundMessage
from gateway.admission.gate import Doorkeeper, with_context
from gateway.admission.internal_channels import is_inner
from gateway.admission.policy import Refused
from gateway.admission.routing import Routes, SessionKey, route
from gateway.hooks import Hooks
from gateway.sessions.hook_events import note_received
from gateway.stores.ports import Arrivals, Inbox, Store
from gateway.stores.rows import FIRST, InboxRow
from workspaces.secrets import redact_all

PAGE = 500
"""Messages of an earlier run that are read at a time."""


async def _unheeded(_: InboundMessage) -> None:
    """Learn nothing."""


@dataclass(frozen=True, slots=True)
class Reception:
    """The one way in."""

    routes: Routes
    store: Store
    submit: Callable[[SessionKey, InboxRow], None]
    """Hands a stored message to the lane of its session."""
    door: Doorkeeper
    learn: Callable[[InboundMessage], Awaitable[None]] = _unheeded
    """Told of each message that is admitted, before it is taken in."""
    hooks: Hooks = field(default_factory=Hooks)
    exposed: Callable[[InboundMessage], Awaitable[None]] = _unheeded
    """Told of each message that held a known secret, without it; whether it is admitted or not."""

    async def receive(self, message: InboundMessage) -> str | None:
        """Take *message* in without known secrets, or refuse it and return why; on return it is durable.

        Raises StoreError when it cannot be kept.
        """
        if (clean := redact_all(message)) is not message:
            await self.exposed(message := clean)
        decision = await self.door.decide(message)
        if isinstance(decision, Refused):
            await self.door.turn_away(message, decision)
            return decision.reason
        await self.learn(message)
        context = await self.door.context(message)
        row = await self.store.inbox.append(with_context(message, context))
        if row is None:
            await self.store.count("duplicate")
            return None
        if context.heard:  # only now that it is in the message: a crash before shows it twice, and loses nothing
            await self.store.overheard.forget(message.address, context.last)
        note_received(self.hooks, message, self.routes)
        self.took_in(row)
        return None

    async def enter(self, message: InboundMessage) -> bool:
        """Take in what the gateway itself asks of an agent; say whether it was new. Raises StoreError."""
        if not is_inner(message):
            raise ValueError(f"{message.address} is somebody's chat, not the gateway's own")
        row = await self.store.inbox.append(message)
        if row is not None:
            self.took_in(row)
        return row is not None

    def took_in(self, row: InboxRow) -> None:
        """Hand on a message that was just stored, unless it comes back in its order among what others take in."""
        if not _gives_back(type(self.store.inbox)):
            self._hand_on(row)

    async def recover(self, is_ours: Callable[[Address], bool]) -> int:
        """Hand on the messages from addresses that are ours, taken in before and not answered; return how many."""
        if isinstance(self.store.inbox, Arrivals):
            return 0  # `follow` begins with them
        count, last = 0, FIRST
        while rows := await self.store.inbox.waiting(last, PAGE):
            ours = [row for row in rows if is_ours(row.message.address)]
            for row in ours:
                self._hand_on(row)
            count, last = count + len(ours), rows[-1].id
        return count

    async def follow(self, is_ours: Callable[[Address], bool]) -> None:
        """Hand on what any of several gateways takes in for our agents, as long as this runs."""
        if isinstance(self.store.inbox, Arrivals):
            async for row in self.store.inbox.arrivals():
                if is_ours(row.message.address):
                    self._hand_on(row)

    def _hand_on(self, row: InboxRow) -> None:
        self.submit(route(row.message, self.routes).key, row)


@cache
def _gives_back(inbox: type[Inbox]) -> bool:
    """Say whether such an *inbox* gives all that it takes in back in order; Python takes long to see what it can do."""
    return issubclass(inbox, Arrivals)
