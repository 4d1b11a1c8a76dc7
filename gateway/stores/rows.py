"""Rows of the store: messages, replies, changes, and the reason codes that the store counts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

from adapters.channel import Address, Button, InboundMessage

InboxId = NewType("InboxId", int)
OutboxId = NewType("OutboxId", int)
TurnId = NewType("TurnId", str)
ChangeId = NewType("ChangeId", int)


SEND_DELAYED = "send_delayed"
SEND_UNSURE = "send_unsure"
DEAD_LETTER = "dead_letter"
STORE_TROUBLE = "store_trouble"
"""Counted, once it works again, for each commit that the disk or SQLite refused, and each outage of Redis."""
STATE_LOST = "state_lost"
"""Counted when a gateway begins with an empty state beside conversations."""
APPROVAL_EXPIRED = "approval_expired"
"""Reason codes that the store counts by itself, with the change that they count."""


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
        """The turn that answers this message: the same however often it is tried."""
        return TurnId(f"t{self.id}")


class OutboxState(StrEnum):
    """Where a reply stands."""

    QUEUED = "queued"
    """No part of it is on its way; earlier parts may have arrived."""
    SENDING = "sending"
    """A part's send was begun; found after a crash, it may or may not have arrived."""
    SENT = "sent"
    DEAD = "dead"
    """The platform refused it for good."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file that goes out with a reply; its content lies apart until then, as it was when the turn asked for it."""

    agent: str
    key: str
    """Names the content among what the agent's turns enclosed."""
    path: str
    """Where it was found, relative to the agent's workspace."""
    size: int
    """In bytes."""
    caption: str = ""
    """Markdown."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply to store."""

    address: Address
    text: str
    """Markdown, whole; it is rendered and split when it is sent."""
    reply_to: str | None = None
    files: tuple[Enclosure, ...] = ()
    """Sent after the text, in order."""
    buttons: tuple[Button, ...] = ()
    """Below the last message of the reply."""


NOTICE_PREFIX = "notice:"
"""Begins the turn id of a reply that no turn made; the notice's key follows."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A stored reply; ids grow in order of commitment, and each address is served in that order."""

    id: OutboxId
    turn_id: TurnId
    outgoing: Outgoing
    created_at: datetime
    state: OutboxState
    parts_sent: int
    """How many of its parts the platform has confirmed."""
    attempts: int
    """Tries that ended without a receipt."""
    not_before: datetime | None
    begun_at: datetime | None
    """When the latest try at its first part began: what that part says of the reply's age was decided by this."""

    @property
    def is_notice(self) -> bool:
        """Whether `notify` made it, not a turn."""
        return self.turn_id.startswith(NOTICE_PREFIX)


@dataclass(frozen=True, slots=True)
class TurnCommit:
    """The outcome of one turn."""

    turn_id: TurnId
    answers: Sequence[InboxId]
    """The messages that this turn answered; they leave the inbox."""
    outgoing: Sequence[Outgoing]
    has_failed: bool = False
    """It came to no answer of its own; what is said instead is a plain sentence."""


class ChangeState(StrEnum):
    """Where a change that the owner decides about stands."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one file that a turn asked for and may not make."""

    agent: str
    path: str
    """Relative to the agent's workspace."""
    before: str | None
    """The whole file that it was made from; `None` if there was none."""
    after: str | None
    """The whole file that it makes of it; `None` deletes it."""
    reason: str
    """Why the owner is asked: a code of `gateway.agent.write_policy.Reason`."""
    session: str
    message: str | None
    """The inbox's id of the message whose turn asked."""
    turn: str | None

    def is_same_change(self, other: "Proposal") -> bool:
        """Say whether *other* would do the very same, whoever asked for it."""
        mine, theirs = (self.agent, self.path, self.before), (other.agent, other.path, other.before)
        return mine == theirs and self.after == other.after


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A stored proposal; ids grow in order of arrival. Once it is decided, its texts are dropped."""

    id: ChangeId
    proposal: Proposal
    created_at: datetime
    expires_at: datetime
    state: ChangeState


@dataclass(frozen=True, slots=True)
class UnsureSend:
    """A part that may have been sent twice, or once: told in `status`."""

    outbox_id: OutboxId
    address: Address
    part: int
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What `status` says of the store."""

    inbox_waiting: int
    outbox_queued: int
    outbox_dead: int
    unsure: Sequence[UnsureSend]
    reasons: dict[str, int] = field(default_factory=dict)
    """How often each reason code was counted."""
    approvals_waiting: int = 0
    """Changes that the owner may still decide about."""
    quarantined: int = 0
    """Rows that nothing works on until the owner retries or drops them."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A store that does not answer."""

    why: str
    seconds: float
    """Since it was first noticed."""
