"""Receives messages: admits them, makes them durable, routes them, and passes them on to their lanes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

from adapters.channel import Address, InboundMessage
from gateway.admission.gate import AdmissionGate, with_context
from gateway.admission.internal_channels import is_inner
from gateway.admission.policy import Refused
from gateway.admission.routing import Envelope, Routes, route
from gateway.errors import StoreError
from gateway.hooks import Hooks
from gateway.sessions.hook_events import note_received
from gateway.stores.ports import Arrivals, Inbox, Store
from gateway.stores.rows import FIRST, InboxRow
from workspaces.access import AgentId
from workspaces.secrets import redact_all

PAGE = 500
"""Messages of an earlier run read at a time."""


async def _unheeded(_: InboundMessage) -> None:
    """No-op listener."""


async def _unlearned(_: InboundMessage, __: AgentId) -> None:
    """Learn nothing."""


async def _untold(_: InboundMessage, __: StoreError | None) -> None:
    """Tell nobody."""


def _unnoted() -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True)
class StoreTrouble:
    """Who is told while messages cannot be stored."""

    not_taken: Callable[[InboundMessage, StoreError | None], Awaitable[None]] = _untold
    """Told of a message of somebody who may talk to us, and why it was not stored; `None`: it came behind one."""
    worked: Callable[[], None] = _unnoted
    """Told of each message that was."""


@dataclass(frozen=True, slots=True)
class Reception:
    """The only entry for messages."""

    routes: Routes
    store: Store
    submit: Callable[[Envelope, InboxRow], None]
    """Passes a stored message on to the lane of its session."""
    admission: AdmissionGate
    learn: Callable[[InboundMessage, AgentId], Awaitable[None]] = _unlearned
    """Called with each admitted message and its agent, before it is stored."""
    hooks: Hooks = field(default_factory=Hooks)
    exposed: Callable[[InboundMessage], Awaitable[None]] = _unheeded
    """Called with each message that contained a known secret, redacted; admitted or not."""
    trouble: StoreTrouble = StoreTrouble()

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
        envelope = route(message, self.routes)
        await self.learn(message, envelope.key.agent)
        context = await self.admission.context(message)
        row = await self.store.inbox.append(with_context(message, context))
        if row is None:
            await self.store.count("duplicate")
            return None
        if context.heard:  # only now that the message includes it: a crash before shows it twice, and loses nothing
            await self.store.overheard.forget(message.address, context.last)
        note_received(self.hooks, message, envelope)
        self._pass_on(row, envelope)
        return None

    async def enter(self, message: InboundMessage) -> bool:
        """Store the gateway's own request to an agent; return whether it was new. Raises StoreError."""
        if not is_inner(message):
            raise ValueError(f"{message.address} is somebody's chat, not the gateway's own")
        row = await self.store.inbox.append(message)
        if row is not None:
            self.took_in(row)
        return row is not None

    def took_in(self, row: InboxRow) -> None:
        """Pass on *row*, which was just stored, or put back into the inbox."""
        self._pass_on(row, route(row.message, self.routes))

    async def recover(self, is_ours: Callable[[Address], bool]) -> int:
        """Pass on the stored, unanswered messages from addresses that are ours; return their number."""
        if isinstance(self.store.inbox, Arrivals):
            return 0  # `follow` begins with them
        count, last = 0, FIRST
        while rows := await self.store.inbox.waiting(last, PAGE):
            ours = [row for row in rows if is_ours(row.message.address)]
            for row in ours:
                self.submit(route(row.message, self.routes), row)
            count, last = count + len(ours), rows[-1].id
        return count

    async def follow(self, is_ours: Callable[[Address], bool]) -> None:
        """Pass on the messages that any of several gateways stores for our agents, for as long as this runs."""
        if isinstance(self.store.inbox, Arrivals):
            async for row in self.store.inbox.arrivals():
                if is_ours(row.message.address):
                    self.submit(route(row.message, self.routes), row)

    def _pass_on(self, row: InboxRow, envelope: Envelope) -> None:
        """Pass on a stored message, unless a shared inbox returns it in order with other gateways' messages."""
        if not _gives_back(type(self.store.inbox)):
            self.submit(envelope, row)


@cache
def _gives_back(inbox: type[Inbox]) -> bool:
    """Return whether *inbox* returns all its messages in order; Python takes long to check a protocol."""
    return issubclass(inbox, Arrivals)
