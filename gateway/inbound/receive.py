"""Receives messages: admits them, makes them durable, routes them, and passes them on to their lanes."""

from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from adapters.channel import Address, InboundMessage
from gateway.admission.gate import AdmissionGate, with_context
from gateway.admission.policy import Refused
from gateway.admission.routing import route
from gateway.errors import StoreError
from gateway.hooks import Hooks
from gateway.inbound.entrance import Entrance
from gateway.sessions.hook_events import note_received
from gateway.stores.ports import Arrivals, Store
from gateway.stores.rows import FIRST
from workspaces.access import AgentId
from workspaces.secrets import redact_all

PAGE = 500
"""Messages of an earlier run read at a time."""


class StoreTrouble(Struct, frozen=True):
    """Who is told while messages cannot be stored."""

    not_taken: Callable[[InboundMessage, StoreError | None], Awaitable[None]]
    """Told of a message of somebody who may talk to us, and why it was not stored; `None`: it came behind one."""
    worked: Callable[[], None]
    """Told of each message that was."""


class Reception(Struct, frozen=True):
    """The only entry for messages from platforms."""

    entrance: Entrance
    store: Store
    admission: AdmissionGate
    learn: Callable[[InboundMessage, AgentId], Awaitable[None]]
    """Called with each admitted message and its agent, before it is stored."""
    exposed: Callable[[InboundMessage], Awaitable[None]]
    """Called with each message that contained a known secret, redacted; admitted or not."""
    trouble: StoreTrouble
    hooks: Hooks = field(default_factory=Hooks)

    async def receive(self, message: InboundMessage) -> str | None:
        """Store *message* without known secrets, or refuse it and return the reason; on return it is durable.

        Raises StoreError if it cannot be stored; its sender is told, if they may talk to us.
        """
        try:
            refused = await self._receive(message)
        except StoreError as exc:
            await self.held_back(message, exc)
            raise
        self.trouble.worked()
        return refused

    async def held_back(self, message: InboundMessage, exc: StoreError | None = None) -> None:
        """Take notice of *message*, which cannot be stored, or came behind one that could not; it comes again."""
        if await self.admission.may_talk(message):
            await self.trouble.not_taken(message, exc)

    async def _receive(self, message: InboundMessage) -> str | None:
        if (clean := redact_all(message)) is not message:
            await self.exposed(message := clean)
        decision = await self.admission.decide(message)
        if isinstance(decision, Refused):
            await self.admission.turn_away(message, decision)
            return decision.reason
        envelope = route(message, self.entrance.routes)
        await self.learn(message, envelope.key.agent)
        context = await self.admission.context(message)
        row = await self.store.inbox.append(with_context(message, context))
        if row is None:
            await self.store.count("duplicate")
            return None
        if context.heard:  # only now that the message includes it: a crash before shows it twice, and loses nothing
            await self.store.overheard.forget(message.address, context.last)
        note_received(self.hooks, message, envelope)
        self.entrance.took_in(row, envelope)
        return None

    async def recover(self, is_ours: Callable[[Address], bool]) -> int:
        """Pass on the stored, unanswered messages from addresses that are ours; return their number."""
        if isinstance(self.store.inbox, Arrivals):
            return 0  # `follow` begins with them
        count, last = 0, FIRST
        while rows := await self.store.inbox.waiting(last, PAGE):
            ours = [row for row in rows if is_ours(row.message.address)]
            for row in ours:
                self.entrance.submit(row)
            count, last = count + len(ours), rows[-1].id
        return count

    async def follow(self, is_ours: Callable[[Address], bool]) -> None:
        """Pass on the messages that any of several gateways stores for our agents, for as long as this runs."""
        if isinstance(self.store.inbox, Arrivals):
            async for row in self.store.inbox.arrivals():
                if is_ours(row.message.address):
                    self.entrance.submit(row)
