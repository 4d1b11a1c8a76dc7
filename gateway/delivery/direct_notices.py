"""Notices that need no room on the disk: sent at once, past the outbox, while the state cannot be written."""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

import structlog

from adapters.channel import Adapter, Address, Body, ChannelError, InboundMessage, OutboundMessage
from gateway.errors import StoreError
from gateway.runtime.bounded_dict import BoundedDict
from gateway.runtime.clock import Clock
from gateway.stores.ports import LeaseLostError, RowStateError, StoreServerError
from workspaces.secrets import redact

log = structlog.get_logger()

EVERY = timedelta(minutes=10)
"""How often a chat is told at most. Our choice."""
SEND_S = 10.0
"""How long one of these sends may take: what comes next waits for it."""
MOST_CHATS = 1_000
"""Chats of which is known when they were told."""
NOT_TAKEN = (
    "I cannot store anything right now, so I have not accepted your message yet. It is not lost: I will read and "
    "answer it once that is fixed."
)
KEPT = "I cannot write to my disk right now. Your message is kept; I answer as soon as it works again."
SERVER_AWAY = (
    "The server that stores my data does not work right now. Your message is kept; I answer as soon as it does."
)


def kept_notice(exc: Exception) -> str:
    """Return what the sender of a stored message is told when *exc* delays its answer."""
    return SERVER_AWAY if isinstance(exc, StoreServerError) else KEPT


class DirectNotices:
    """Tells chats, and the owner, that the state cannot be written; each chat once in a while."""

    def __init__(
        self,
        adapter_of: Callable[[Address], Adapter],
        accounts: Collection[tuple[str, str]],
        owner: Callable[[], Address | None],
        clock: Clock,
    ) -> None:
        """Only by *accounts*, the bots', anybody is told; *owner* gives the owner's chat without asking the store.

        *adapter_of* raises ChannelError where nothing can be sent.
        """
        self._adapter_of = adapter_of
        self._accounts = accounts
        self._owner = owner
        self._clock = clock
        self._told: BoundedDict[Address, datetime] = BoundedDict(MOST_CHATS)
        self._failures = 0
        """In a row."""
        self._latest: StoreError | None = None

    def worked(self) -> None:
        """Note that a message was stored."""
        self._failures = 0

    async def not_taken(self, message: InboundMessage, exc: StoreError | None) -> None:
        """Tell the sender of *message*, who may talk to us, that it was not taken in; and the owner why.

        Without *exc* it only came behind one that was not. A single failure is told to nobody: the message comes again
        after a second.
        """
        if exc is not None:
            self._failures += 1
            self._latest = exc
        if self._failures > 1 and self._latest is not None:
            await self.tell(message.address, NOT_TAKEN, self._latest)

    async def kept(self, message: InboundMessage, exc: StoreError) -> None:
        """Tell the sender of *message*, which was taken in, that its answer cannot be stored; and the owner why."""
        await self.tell(message.answer_address, kept_notice(exc), exc)

    async def tell(self, chat: Address, said: str, exc: StoreError) -> None:
        """Say *said* in *chat*, and why to the owner."""
        if isinstance(exc, LeaseLostError | RowStateError):  # another gateway answers; a fault of the program
            return
        owner = self._owner()
        if chat != owner:
            await self._send(chat, said)
        if owner is not None:
            why = redact(str(exc))
            more = f"{said} The reason: {why}" if chat == owner else f"I cannot answer anybody right now: {why}"
            await self._send(owner, more)

    async def _send(self, chat: Address, said: str) -> None:
        now = self._clock.now()
        last = self._told.get(chat)
        if (chat.channel, chat.account) not in self._accounts or (last is not None and abs(now - last) < EVERY):
            return
        self._told[chat] = now
        key = f"direct.{now.timestamp():.6f}"
        try:
            async with asyncio.timeout(SEND_S):
                await self._adapter_of(chat).send(OutboundMessage(chat, Body(said), key))
        except (ChannelError, TimeoutError) as exc:
            log.warning("chat not told that the state cannot be written", channel=chat.channel, why=type(exc).__name__)
