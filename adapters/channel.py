"""This file is the contract between the gateway and a chat platform.

Errors an adapter raises, and nothing else:

    ChannelError
    ├── ChannelConfigError       the account cannot work as configured (wrong token): say so, do not retry
    ├── ChannelUnavailableError  not now; try again, after `retry_after_s` if it is given
    ├── UnsureSendError          the platform may or may not have taken the message
    └── SendRefusedError         the platform will never take this message (chat gone, bot blocked)
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Address:
    """Where a message comes from and where its answer goes."""

    channel: str
    account: str
    """Which of our bots on that platform, by its name in the configuration."""
    chat: str
    thread: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.channel, self.account, self.chat, self.thread) if part is not None)


class ChatKind(StrEnum):
    """How many people read a chat."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote a message, as the transport says, never as a text claims."""

    id: str
    """The platform's numeric id; empty for anonymous senders and channels, who get least privilege."""
    name: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody else's words inside a message (a reply's target, a forward): data, not the sender speaking."""

    author: str
    text: str
    is_ours: bool = False
    """The sender's own earlier words, or our bot's: the transport says so, and they were not forwarded."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message as a platform delivered it."""

    address: Address
    id: str
    """The platform's id of the message within its chat; together with the address it is unique."""
    sender: Sender
    kind: ChatKind
    text: str
    is_for_us: bool
    """The platform marks it as meant for the bot: a direct chat, a mention, or a reply to one of our messages."""
    sent_at: datetime
    """In UTC, with its zone."""
    quote: Quote | None = None


class EntityType(StrEnum):
    """The formatting that platforms share."""

    BOLD = "bold"
    ITALIC = "italic"
    UNDERLINE = "underline"
    STRIKETHROUGH = "strikethrough"
    SPOILER = "spoiler"
    CODE = "code"
    PRE = "pre"
    TEXT_LINK = "text_link"
    BLOCKQUOTE = "blockquote"
    EXPANDABLE_BLOCKQUOTE = "expandable_blockquote"


@dataclass(frozen=True, slots=True)
class Entity:
    """A formatted stretch of a `Body`; offset and length are in UTF-16 code units, as Telegram counts."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What one platform message shows; it fits the platform's limits."""

    text: str
    entities: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """One message to send: a whole answer, or a part of one that was too long."""

    address: Address
    body: Body
    key: str
    """The same for every try at the same part: a nonce where the platform takes one."""
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """The platform's receipt."""

    message_id: str


class ChannelError(Exception):
    """A chat platform did not do what was asked."""


class ChannelConfigError(ChannelError):
    """The account cannot work as it is configured."""


class ChannelUnavailableError(ChannelError):
    """The platform cannot be reached, or asked us to wait."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class UnsureSendError(ChannelError):
    """The connection broke after the request went out: the message may or may not be there."""


class SendRefusedError(ChannelError):
    """The platform refused the message for good."""


Receive = Callable[[InboundMessage], Awaitable[None]]
"""Returns once the message is durable (or refused for good); only then may the platform be told that we have it."""

Count = Callable[[str], Awaitable[None]]
"""Counts, by its reason code, something that an adapter dropped or sent in a lesser form."""


class Adapter(Protocol):
    """One bot account on one chat platform."""

    channel: str
    account: str

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as messages that fit the platform; pure, deterministic, losing no text."""

    async def listen(self, receive: Receive) -> None:
        """Hand every incoming message to *receive*, in order, until cancelled.

        Raises ChannelUnavailableError when the connection is lost (the gateway waits and calls again) and
        ChannelConfigError when calling again cannot help.
        """

    async def send(self, message: OutboundMessage) -> Sent:
        """Deliver *message*; the result carries the platform's message id. Raises ChannelError."""

    async def close(self) -> None:
        """Release connections; nothing is sent afterwards."""


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel that can show that an answer is being written."""

    async def show_typing(self, address: Address) -> None:
        """Show the sign once; it fades by itself. Raises ChannelError."""


@runtime_checkable
class Wakes(Protocol):
    """A channel whose readers come and go: replies wait for them and need not wait for the next try."""

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* from now on, at once and in the adapter's event loop, whenever somebody begins to read."""
