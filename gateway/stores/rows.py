"""Rows of the store: messages, replies, changes, and the reason codes that the store counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, Self

from msgspec import Struct, field

from adapters.channel import Address, Button, ChatKind, InboundMessage, Via

InboxId = NewType("InboxId", int)
OutboxId = NewType("OutboxId", int)
TurnId = NewType("TurnId", str)
ChangeId = NewType("ChangeId", int)


SEND_DELAYED = "send_delayed"
SEND_UNSURE = "send_unsure"
DEAD_LETTER = "dead_letter"
STORE_TROUBLE = "store_trouble"
"""Counted, once it works again, for each commit that the disk or SQLite rejected, and each outage of Redis."""
STATE_LOST = "state_lost"
"""Counted when a gateway starts with an empty state although conversations exist, and when a Redis lost messages."""
STATE_FRAMES_LOST = "state_frames_lost"
"""Counted when committed frames of the state's write-ahead log could not be read."""
MESSAGE_RESTORED = "message_restored"
"""Counted for each message that Redis lost and a gateway put back from its spool."""
APPROVAL_EXPIRED = "approval_expired"
"""Reason codes that the store counts itself, together with the change."""


FIRST = InboxId(0)
"""Before every message."""


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An accepted message that waits for its turn; ids grow in order of arrival."""

    id: InboxId
    message: InboundMessage
    received_at: datetime

    @property
    def turn_id(self) -> TurnId:
        """The turn that answers this message: the same for every attempt."""
        return TurnId(f"t{self.id}")


class OutboxState(StrEnum):
    QUEUED = "queued"
    """No part is being sent; earlier parts may have arrived."""
    SENDING = "sending"
    """Sending of a part has begun; if found after a crash, it may or may not have arrived."""
    SENT = "sent"
    DEAD = "dead"
    """The platform rejected it for good."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file sent with a reply; its content is stored separately until then, as it was when the turn asked for it."""

    agent: str
    key: str
    """Key of the content among the files enclosed by the agent's turns."""
    path: str
    """Its path relative to the agent's workspace."""
    size: int
    """In bytes."""
    caption: str = ""
    """Markdown."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply to store."""

    address: Address
    text: str
    """Whole, as Markdown; rendered and split when it is sent."""
    reply_to: str | None = None
    files: tuple[Enclosure, ...] = ()
    """Sent after the text, in order."""
    buttons: tuple[Button, ...] = ()
    """Below the last message of the reply."""

    @classmethod
    def answering(cls, message: InboundMessage, text: str) -> Self:
        """Return *text* as an answer to *message*; in a group, and below a slash command, it refers to that."""
        is_tied = (message.kind is ChatKind.GROUP and message.via is not Via.AGENT) or message.via is Via.SLASH
        is_back = message.answers_to is None
        return cls(message.answer_address, text, message.reply_target if is_tied and is_back else None)


NOTICE_PREFIX = "notice:"
"""Prefix of the turn id of a reply that no turn made; the notice's key follows."""
CHANGE_PREFIX = f"{NOTICE_PREFIX}change:"
"""The same of a request for a decision about a change, whose number follows."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A stored reply; ids grow in order of commitment, and each address is served in that order."""

    id: OutboxId
    turn_id: TurnId
    outgoing: Outgoing
    created_at: datetime
    state: OutboxState
    parts_sent: int
    """Number of parts that the platform has confirmed."""
    attempts: int
    """Attempts that ended without a receipt."""
    not_before: datetime | None
    begun_at: datetime | None
    """Start of the latest attempt at its first part, which determined the age of the reply stated there."""

    @property
    def is_notice(self) -> bool:
        """Whether `notify` made it, rather than a turn."""
        return self.turn_id.startswith(NOTICE_PREFIX)


class TurnCommit(Struct, frozen=True):
    turn_id: TurnId
    answers: Sequence[InboxId]
    """Messages that this turn answered; they leave the inbox."""
    outgoing: Sequence[Outgoing]
    has_failed: bool = False
    """It produced no answer of its own; a plain sentence replaces it."""


class ChangeState(StrEnum):
    """The state of a change that the owner decides about."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A turn's request for a change of one file that needs approval."""

    agent: str
    path: str
    """Relative to the agent's workspace."""
    before: str | None
    """The whole file before; `None` if there was none."""
    after: str | None
    """The whole file after; `None` deletes it."""
    reason: str
    """The reason that it needs approval: a code of `gateway.agent.write_policy.ApprovalReason`."""
    session: str
    message: str | None
    """Inbox id of the message whose turn made the request."""
    turn: str | None
    mark: str | None = None
    """By which that turn can be taken back."""
    chat: str | None = None
    """The mark of the chat that it answered."""

    @property
    def change(self) -> tuple[str, str, str | None, str | None]:
        """The change itself, whoever requested it."""
        return self.agent, self.path, self.before, self.after


class PendingChange(Struct, frozen=True):
    """A stored proposal; ids grow in order of arrival. Its texts are dropped once it is decided."""

    id: ChangeId
    proposal: Proposal
    created_at: datetime
    expires_at: datetime
    state: ChangeState

    @property
    def notice(self) -> TurnId:
        """The turn id of the notice that asks the owner to decide."""
        return TurnId(f"{CHANGE_PREFIX}{self.id}")


class UnsureSend(Struct, frozen=True):
    """A part that may have been sent twice, or once: shown in `status`."""

    outbox_id: OutboxId
    address: Address
    part: int
    at: datetime
    why: str


class StoreReport(Struct, frozen=True):
    """The store's part of `status`."""

    inbox_waiting: int
    outbox_queued: int
    outbox_dead: int
    unsure: Sequence[UnsureSend]
    reasons: dict[str, int] = field(default_factory=dict)
    """Count of each reason code."""
    approvals_waiting: int = 0
    """Changes that still need the owner's decision."""
    quarantined: int = 0
    """Rows that stay unprocessed until the owner retries or drops them."""


class StoreOutage(Struct, frozen=True):
    """A store that does not answer."""

    why: str
    seconds: float
    """Since it was first noticed."""
