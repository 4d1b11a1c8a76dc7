"""This file is the channel of the owner's page: one chat an agent, which any number of open pages show.

What was said and answered lately has numbers that grow, so that a page whose connection broke asks for what came after
the last one that it has. The numbers begin anew with the process: what is older stands in the conversation.
"""

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import NoReturn

from adapters.channel import (
    Address,
    Body,
    Button,
    ChannelUnavailableError,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sent,
)
from adapters.readers import Readers
from adapters.spoken import CHAT, OWNER, Spoken

__all__ = ["CHANNEL", "CHAT", "OWNER", "Kind", "PageEvent", "Reader", "Sign", "Told", "WebAdapter"]

CHANNEL = "web"
REMEMBERED = 200
"""Events that a page can ask for again."""


class Kind(StrEnum):
    """What a page is shown."""

    SAID = "said"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Told:
    """A message or an answer, as a page shows it."""

    kind: Kind
    text: str
    at: datetime
    turn: str
    """Which turn an answer belongs to, as the conversation's records name it; marks of what was said."""
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class PageEvent:
    """Something that was told while the gateway ran."""

    number: int
    told: Told


class Sign(Enum):
    """What a page is shown for a moment."""

    WRITING = "writing"
    """An answer is on its way, and nothing of it can be read yet."""


Reader = Callable[[PageEvent | Sign | None], None]
"""Told of each event, at once and in the event loop; `None` is the end."""


class WebAdapter:
    """The pages that are open for one agent; their owner is whoever is signed in."""

    channel = CHANNEL

    def __init__(self, account: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Take the name of the *account*: a gateway gives each of its agents one."""
        self.account = account
        self.address = Address(CHANNEL, account, CHAT)
        self.epoch = secrets.token_hex(4)
        """Which process the numbers are of."""
        self._now = now
        self._spoken = Spoken(self.address, now)
        self._readers = Readers[Reader]()
        self._recent: deque[PageEvent] = deque(maxlen=REMEMBERED)
        self._count = 0

    async def say(self, text: str, message_id: str = "") -> InboundMessage:
        """Say *text* as the owner; return the message once it is durable.

        A page that does not know whether it was heard says it again by the same *message_id*. Raises
        ChannelUnavailableError on a closed adapter, and what the gateway raises when it cannot keep the message.
        """
        return await self._spoken.say(text, message_id)

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
    def recent(self) -> Sequence[Told]:
        """What was told lately, the oldest first."""
        return [event.told for event in self._recent]

    @property
    def latest(self) -> int:
        """The number of the newest event."""
        return self._count

    def attach(self, reader: Reader) -> AbstractContextManager[None]:
        """Tell *reader* of everything that comes until the block ends; what waits for a reader is sent now."""
        return self._readers.attached(reader)

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a page is opened."""
        self._readers.on_coming(wake)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as it is: a page has no limit, and is given safe HTML by who serves it."""
        return [Body(markdown)] if markdown.strip() else []

    async def listen(self, receive: Receive) -> NoReturn:
        """Hand over what is said, in order; what was being handed over when we were cancelled comes again."""
        await self._spoken.hand_over(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* on every page that is open. Raises ChannelUnavailableError when none is."""
        self._spoken.check_open()
        if not self._readers:
            raise ChannelUnavailableError("no page is open")
        told = Told(Kind.ANSWER, message.body.text, self._now(), message.turn, message.buttons)
        return Sent(str(self.tell(told)))

    async def show_typing(self, _: Address) -> None:
        """Show once, on every page that is open, that an answer is on its way; the sign fades by itself."""
        for reader in self._readers:
            reader(Sign.WRITING)

    def tell(self, told: Told) -> int:
        """Show what belongs to the chat, on every page that is open or comes back; return its number.

        The same is shown once, however often it is told.
        """
        for known in self._recent:
            if _is_same(known.told, told):
                return known.number
        self._count += 1
        event = PageEvent(self._count, told)
        self._recent.append(event)
        for reader in self._readers:
            reader(event)
        return event.number

    async def close(self) -> None:
        """Part from all pages and refuse what was said and not yet handed over."""
        self.end()
        self._spoken.close()

    def end(self) -> None:
        """Tell every page that this is the end."""
        for reader in self._readers:
            reader(None)


def _is_same(one: Told, other: Told) -> bool:
    """Say whether both are the same message, or the same part of an answer, told twice."""
    if not one.turn or (one.kind, one.turn) != (other.kind, other.turn):
        return False
    return one.kind is Kind.SAID or one.text == other.text
