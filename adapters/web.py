"""This file is the channel of the owner's page: one chat an agent, which any number of open pages show.

What was said and answered lately has numbers that grow, so that a page whose connection broke asks for what came after
the last one that it has. The numbers begin anew with the process: what is older stands in the conversation.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from uuid_utils import uuid7

from adapters.channel import (
    Address,
    Body,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sender,
    Sent,
)

CHANNEL = "web"
CHAT = "owner"
OWNER = Sender(id="0", name="owner")
"""Whoever is signed in at the page: nobody else can be."""
REMEMBERED = 200
"""Events that a page can ask for again."""


class Kind(StrEnum):
    """What a page is shown."""

    SAID = "said"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class PageEvent:
    """Something that belongs to the chat."""

    number: int
    kind: Kind
    text: str
    at: datetime
    turn: str
    """Which turn an answer belongs to, as the conversation's records name it; the id of what was said."""


Reader = Callable[[PageEvent | None], None]
"""Told of each event, at once and in the event loop; `None` is the end."""


class WebAdapter:
    """The pages that are open for one agent."""

    channel = CHANNEL

    def __init__(self, account: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Take the name of the *account*: a gateway gives each of its agents one."""
        self.account = account
        self.address = Address(CHANNEL, account, CHAT)
        self.epoch = secrets.token_hex(4)
        """Which process the numbers are of."""
        self._now = now
        self._receive: Receive | None = None
        self._recent: deque[PageEvent] = deque(maxlen=REMEMBERED)
        self._readers: list[Reader] = []
        self._wakes: list[Callable[[], None]] = []
        self._count = 0

    async def say(self, text: str) -> str:
        """Say *text* as the owner; return the message's id once it is durable.

        Raises ChannelUnavailableError while the gateway does not listen or refuses it, and what the gateway raises
        when it cannot keep the message.
        """
        if self._receive is None:
            raise ChannelUnavailableError("the gateway takes no messages now")
        message = InboundMessage(
            self.address, str(uuid7()), OWNER, ChatKind.DIRECT, text, is_for_us=True, sent_at=self._now()
        )
        refusal = await self._receive(message)
        if refusal is not None:
            raise ChannelUnavailableError(f"refused: {refusal}")
        self._show(Kind.SAID, text, message.id)
        return message.id

    @property
    def readers(self) -> int:
        """How many pages are open."""
        return len(self._readers)

    def since(self, epoch: str, number: int) -> Sequence[PageEvent] | None:
        """Return what came after the event *number*; `None` if nobody knows any more."""
        oldest = self._recent[0].number if self._recent else self._count + 1
        if epoch != self.epoch or not oldest - 1 <= number <= self._count:
            return None
        return [event for event in self._recent if event.number > number]

    @property
    def latest(self) -> int:
        """The number of the newest event."""
        return self._count

    @contextmanager
    def reading(self, reader: Reader) -> Iterator[None]:
        """Tell *reader* of everything that comes until the block ends; what waits for a reader is sent now."""
        self._readers.append(reader)
        for wake in self._wakes:
            wake()
        try:
            yield
        finally:
            self._readers.remove(reader)

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a page is opened."""
        self._wakes.append(wake)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as it is: a page has no limit, and is given safe HTML by who serves it."""
        return [Body(markdown)]

    async def listen(self, receive: Receive) -> None:
        """Let messages through to *receive* until cancelled."""
        self._receive = receive
        try:
            await asyncio.Event().wait()
        finally:
            self._receive = None

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* on every page that is open. Raises ChannelUnavailableError when none is."""
        if not self._readers:
            raise ChannelUnavailableError("no page is open")
        return Sent(str(self._show(Kind.ANSWER, message.body.text, message.turn)))

    async def close(self) -> None:
        """Part from all pages."""
        self.end()

    def end(self) -> None:
        """Tell every page that this is the end."""
        self._receive = None
        for reader in tuple(self._readers):
            reader(None)

    def _show(self, kind: Kind, text: str, turn: str) -> int:
        self._count += 1
        event = PageEvent(self._count, kind, text, self._now(), turn)
        self._recent.append(event)
        for reader in tuple(self._readers):
            reader(event)
        return event.number
