"""Port to the state of admission: pairing requests, guests, overheard messages, unanswered messages.

Operations follow the rules of `gateway.stores.ports`: in the order of their calls, durable when they return.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from adapters.channel import Address, OverheardMessage
from gateway.stores.rows import OutboxRow, Outgoing

SILENCES_KEPT = 1_000
"""Lines kept of the ledger of silences, newest first. Our choice: few enough to read; no flood fills a disk."""
BUDGET_SPENT = "budget"
"""Reason code: the day's budget is spent, and the chat has been notified of that before."""
UNASKED_PROSE = "unasked_prose"
"""Reason code: a heartbeat or a job wrote an answer and did not use `notify`; the answer was discarded."""
UNREADABLE_MESSAGE = "unreadable_message"
"""Reason code: a stored message was damaged, or written by a newer version, and is quarantined (`unreadable.py`)."""


class Visitor(Struct, frozen=True):
    """Somebody who writes directly to one bot account, as the transport names them."""

    channel: str
    account: str
    id: str
    """The platform's numeric id."""
    name: str
    """Self-chosen display name."""

    @property
    def person(self) -> str:
        """Return the person as in the configuration: `<channel>:<numeric id>`."""
        return f"{self.channel}:{self.id}"


class PairingRequest(Struct, frozen=True):
    """A visitor who waits for admission; only they received the code."""

    visitor: Visitor
    code: str
    asked_at: datetime
    expires_at: datetime


class Guest(Struct, frozen=True):
    """A visitor whom the owner admitted, at that one bot account and in direct chats only."""

    visitor: Visitor
    since: datetime


class Pairings(Protocol):
    """Pairing requests, and guests admitted by the owner."""

    async def ask(self, request: PairingRequest, most: int, reply: Outgoing, older: datetime) -> OutboxRow | None:
        """Store *request* and queue the *reply* with its code: both or neither.

        While *most* requests wait at that account, the oldest is replaced if it was made before *older*: its code
        becomes invalid, and its visitor gets no other one before it would have expired. Returns `None`, storing
        nothing, while an earlier request of theirs is valid or refused, and while none of *most* can be replaced.
        """

    async def waiting(self) -> Sequence[PairingRequest]:
        """Return the requests that have not expired, oldest first."""

    async def approve(self, code: str) -> Guest | None:
        """Make the visitor with *code* a guest; the code is then used up. `None` for an unknown code."""

    async def let_in(self, visitor: Visitor) -> None:
        """Make *visitor* a guest, whether they asked, were refused, or never wrote.

        A pending code of theirs is used up.
        """

    async def refuse(self, code: str, until: datetime) -> Visitor | None:
        """Give the visitor with *code* no other one before *until*. `None` for an unknown code."""

    async def revoke(self, channel: str, id: str) -> Sequence[Guest]:  # noqa: A002  # reads as the field
        """Revoke that person's access at all accounts; return the removed guests."""

    async def guests(self) -> Sequence[Guest]:
        """Return all guests not revoked, oldest first."""

    async def is_guest(self, channel: str, account: str, id: str) -> bool:  # noqa: A002
        """Return whether that person may write to that account now."""


class Context(Struct, frozen=True):
    """Messages of a chat that were not addressed to us, oldest first."""

    heard: tuple[OverheardMessage, ...] = ()
    last: int = 0
    """Marks the newest: `forget` up to here drops these messages and no later ones."""


class Overheard(Protocol):
    """Messages of groups that were not addressed to us: kept for a day, until we are addressed."""

    async def keep(self, address: Address, message_id: str, heard: OverheardMessage, most: int) -> None:
        """Store *heard*, once per message id, keeping that chat's newest *most*."""

    async def of(self, address: Address) -> Context:
        """Return the stored messages of that chat."""

    async def forget(self, address: Address, last: int) -> None:
        """Drop the stored messages of that chat up to the mark *last*."""

    async def drop(self, address: Address, message_id: str) -> None:
        """Drop one message, if it is stored: it was deleted on its platform."""


class Silence(Struct, frozen=True):
    """A sender without an answer, and the reason; their messages are not kept."""

    at: datetime
    """Time of the latest one."""
    address: Address
    person: str
    """As `<channel>:<numeric id>`."""
    reason: str
    times: int = 1


class Silences(Protocol):
    """The ledger of refusals: one line for each chat, person and reason, so that no flood makes it long."""

    async def record(self, silence: Silence) -> None:
        """Count one more for this chat, person and reason."""

    async def latest(self) -> Sequence[Silence]:
        """Return the lines, newest first."""
