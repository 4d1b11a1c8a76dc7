"""The contract between the gateway and a chat platform.

An adapter raises these errors and no others:

    ChannelError
    ├── ChannelConfigError       the account cannot work as configured (wrong token): say so, do not retry
    ├── ChannelUnavailableError  not now; try again, after `retry_after_s` if it is given
    ├── UnsureSendError          the platform may or may not have taken the message
    ├── SendRefusedError         the platform will never take this message (chat gone, bot blocked)
    └── FetchRefusedError        the platform will never give this file (too large, gone)
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Address:
    """The chat that a message comes from and its answer goes to."""

    channel: str
    account: str
    """Our bot account on that platform, by its name in the configuration."""
    chat: str
    thread: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.channel, self.account, self.chat, self.thread) if part is not None)


class ChatKind(StrEnum):
    """The number of people in a chat."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Sender:
    """The author of a message as stated by the transport, never by a text."""

    id: str
    """The platform's numeric id; empty for anonymous senders and channels, which get least privilege."""
    name: str
    is_bot: bool = False
    roles: tuple[str, ...] = ()
    """The platform's ids of the sender's roles in the chat's server (Discord)."""


class AttachmentKind(StrEnum):
    """Kind of file, as people tell them apart."""

    PHOTO = "photo"
    DOCUMENT = "document"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    STICKER = "sticker"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message and is still at the platform."""

    kind: AttachmentKind
    ref: str
    """Reference with which its adapter can fetch it, without secrets. From a program or the page, the whole
    file as a data URI."""
    name: str = ""
    """File name given by the sender: untrusted text."""
    mime: str = ""
    size: int | None = None
    """In bytes, if the platform states it."""


class Via(StrEnum):
    """How a message was sent."""

    TEXT = "text"
    SLASH = "slash"
    """A command from the platform's own menu; `text` is the command as if it were typed."""
    BUTTON = "button"
    """A button below one of our messages; `text` is the button's command."""
    EDIT = "edit"
    """An edit of an earlier message; `text` is its new text, `sent_at` the time at which it was first sent."""
    AGENT = "agent"
    """Another agent of this gateway in a group that both belong to; created by the gateway, never by an adapter."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Another person's words inside a message (a reply's target, a forward): data, not the sender speaking."""

    author: str
    text: str
    is_ours: bool = False
    """Earlier words of the sender or of our bot: confirmed by the transport, and not forwarded."""
    is_bots: bool = False
    """Of the two, our bot's: these may repeat others' words."""


@dataclass(frozen=True, slots=True)
class OverheardMessage:
    """A group message not addressed to us: other people's words, kept as context for the next turn."""

    author: str
    text: str
    sent_at: datetime
    """In UTC, with its zone."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Budget for the turn of one message: its share of another turn's remaining budget."""

    steps: int
    """Model replies."""
    tokens: int
    """Input and output tokens together."""
    seconds: float
    """Working time; also the longest wait for a model that is unavailable."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message as delivered by a platform."""

    address: Address
    id: str
    """The platform's id of the message within its chat; together with the address it is unique."""
    sender: Sender
    kind: ChatKind
    text: str
    is_for_us: bool
    """Marked by the platform as meant for the bot: a direct chat, a mention, or a reply to one of our messages."""
    sent_at: datetime
    """In UTC, with its zone."""
    quote: Quote | None = None
    attachments: tuple[Attachment, ...] = ()
    via: Via = Via.TEXT
    target: str | None = None
    """The platform's id of the earlier message that an edit changes or a button belongs to.

    For a slash command: the reference with which its adapter finds the place for the answer; not shown to people.
    """
    space: str | None = None
    """The platform's id of the chat's parent: a Discord server."""
    chat_name: str = ""
    """The group's name, which its members chose: untrusted text; empty in a direct chat."""
    answers_to: Address | None = None
    """Where the answer goes, if not back to the chat; set by the gateway, never by an adapter."""
    allowance: Allowance | None = None
    """Budget of its turn, where smaller than usual; set by the gateway, never by an adapter."""
    heard: tuple[OverheardMessage, ...] = ()
    """Group messages since the last one addressed to us; added by the gateway, never by an adapter."""

    @property
    def answer_address(self) -> Address:
        """Return where the answer goes."""
        return self.answers_to or self.address

    @property
    def reply_target(self) -> str:
        """Return the target of a reply to this message: a platform message id, or a slash command."""
        return self.target or self.id


class EntityType(StrEnum):
    """Formatting supported by several platforms."""

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


class Entity(Struct, frozen=True):
    """A formatted range of a `Body`; offset and length are in UTF-16 code units, as in Telegram's API."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


class Upload(Struct, frozen=True):
    """A file to send."""

    name: str
    content: bytes


class Body(Struct, frozen=True):
    """Content of one platform message; it fits the platform's limits."""

    text: str
    entities: tuple[Entity, ...] = ()
    upload: Upload | None = None
    """A file sent with this message; *text* is then its caption."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message; pressing it sends a command in the name of the person who pressed it."""

    label: str
    command: str
    """Such as `/approve 3`: at most 64 bytes of UTF-8, Telegram's limit."""


class OutboundMessage(Struct, frozen=True):
    """One message to send: a whole answer, or a part of a long one."""

    address: Address
    body: Body
    key: str
    """The same for every attempt at the same part: a nonce on platforms that support one."""
    reply_to: str | None = None
    buttons: tuple[Button, ...] = ()
    turn: str = ""
    """Id of the turn or notice that it belongs to: for the owner's page, which shows conversations as stored."""


class Sent(Struct, frozen=True):
    """The platform's receipt."""

    message_id: str


LONGEST_WAIT_S = 86_400.0
"""Longest wait that a platform's answer leads to, in seconds: nobody means a longer one. Our choice."""


class ChannelError(Exception):
    """Base class of errors of a chat platform."""


class ChannelConfigError(ChannelError):
    """The account cannot work as it is configured."""


class ChannelUnavailableError(ChannelError):
    """The platform cannot be reached, or asked us to wait."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = None if retry_after_s is None else min(max(0.0, retry_after_s), LONGEST_WAIT_S)


class UnsureSendError(ChannelError):
    """The connection broke after the request went out: the message may or may not be there."""


class SendRefusedError(ChannelError):
    """The platform refused the message for good."""


class FetchRefusedError(ChannelError):
    """The platform will not give the file, now or later."""


Receive = Callable[[InboundMessage], Awaitable[str | None]]
"""Returns once the message is durable, or the reason code of a permanent refusal.

Acknowledge the message to the platform only after that; show people a receipt only if it was not refused.
"""

Count = Callable[[str], Awaitable[None]]
"""Counts, by reason code, an item that an adapter dropped or sent in a reduced form."""


class Adapter(Protocol):
    """One bot account on one chat platform."""

    channel: str
    account: str

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as messages that fit the platform; pure, deterministic, without loss of text."""

    async def listen(self, receive: Receive) -> None:
        """Pass every incoming message to *receive*, in order, until cancelled.

        Raises ChannelUnavailableError when the connection is lost (the gateway waits and calls again) and
        ChannelConfigError when calling again cannot help.
        """

    async def send(self, message: OutboundMessage) -> Sent:
        """Deliver *message*; the result carries the platform's message id. Raises ChannelError."""

    async def close(self) -> None:
        """Release connections; nothing is sent afterwards."""
