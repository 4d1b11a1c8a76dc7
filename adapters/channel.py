"""This file is the contract between the gateway and a chat platform.

Errors an adapter raises, and nothing else:

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
    roles: tuple[str, ...] = ()
    """The platform's ids of the roles that they have where the chat belongs (Discord)."""


class AttachmentKind(StrEnum):
    """What a file is to the people who send it."""

    PHOTO = "photo"
    DOCUMENT = "document"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    STICKER = "sticker"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message, still at the platform."""

    kind: AttachmentKind
    ref: str
    """By which the adapter that brought it can fetch it: no secret in it. From a program, all of it as a data URI."""
    name: str = ""
    """As its sender called it: others' words."""
    mime: str = ""
    size: int | None = None
    """In bytes, as the platform says, if it does."""


class Via(StrEnum):
    """How somebody said something."""

    TEXT = "text"
    SLASH = "slash"
    """A command of the platform's own menu; `text` is the command as if it were typed."""
    BUTTON = "button"
    """A button below one of our messages; `text` is the command that the button holds."""
    EDIT = "edit"
    """A change of an earlier message; `text` is how it reads now, `sent_at` when it was first sent."""
    AGENT = "agent"
    """Another agent of this gateway, in a group where both sit; the gateway makes it, no adapter does."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody else's words inside a message (a reply's target, a forward): data, not the sender speaking."""

    author: str
    text: str
    is_ours: bool = False
    """The sender's own earlier words, or our bot's: the transport says so, and they were not forwarded."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a group that was not meant for us: others' words, kept as context for when we are asked."""

    author: str
    text: str
    sent_at: datetime
    """In UTC, with its zone."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the turn of one message may spend: its share of what another turn had left."""

    steps: int
    """Replies of the model."""
    tokens: int
    """Input and output together."""
    seconds: float
    """Of work; also how long it waits for a model that cannot be reached."""


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
    attachments: tuple[Attachment, ...] = ()
    via: Via = Via.TEXT
    target: str | None = None
    """The platform's id of the earlier message that an edit changes or a button belongs to.

    Of a slash command: by what its adapter finds where the answer belongs; not for people's eyes.
    """
    space: str | None = None
    """The platform's id of what the chat belongs to: a Discord server."""
    answers_to: Address | None = None
    """Where the answer goes, if not where the message came from; the gateway sets it, no adapter does."""
    allowance: Allowance | None = None
    """What its turn may spend, where that is less than any other's; the gateway sets it, no adapter does."""
    heard: tuple[Heard, ...] = ()
    """What was said in the group since we were last asked; the gateway adds it, no adapter does."""

    @property
    def reply_target(self) -> str:
        """What an answer replies to: a message by the platform's id, or a slash command."""
        return self.target or self.id


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
class Upload:
    """A file to send."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """What one platform message shows; it fits the platform's limits."""

    text: str
    entities: tuple[Entity, ...] = ()
    upload: Upload | None = None
    """A file that this message carries; *text* is its caption then."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message: pressing it gives a command, as whoever presses it."""

    label: str
    command: str
    """Such as `/approve 3`: at most 64 bytes of UTF-8, Telegram's limit."""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """One message to send: a whole answer, or a part of one that was too long."""

    address: Address
    body: Body
    key: str
    """The same for every try at the same part: a nonce where the platform takes one."""
    reply_to: str | None = None
    buttons: tuple[Button, ...] = ()
    turn: str = ""
    """Which turn, or notice, it is of: for a page of the owner's, which shows conversations as they are kept."""


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


class FetchRefusedError(ChannelError):
    """The platform will not give the file, now or later."""


Receive = Callable[[InboundMessage], Awaitable[str | None]]
"""Returns once the message is durable, or the reason code for which it was refused for good.

Only then may the platform be told that we have it; where people see that we do, only of what was not refused.
"""

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
