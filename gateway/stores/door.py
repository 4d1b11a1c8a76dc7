"""This file is the port to what the door remembers: who asks, who was let in, what was overheard, who got no answer.

Operations keep the rules of `gateway.stores.ports`: in the order of their calls, durable when they return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from adapters.channel import Address, Heard
from gateway.stores.rows import OutboxRow, Outgoing

SILENCES_KEPT = 1_000
"""Lines of the ledger of silences; the newest are. Our choice: what an owner looks through; no flood fills a disk."""
UNASKED_PROSE = "unasked_prose"
"""Reason code: a heartbeat or a job wrote an answer and did not use `notify`; it was shown to nobody."""
UNREADABLE_MESSAGE = "unreadable_message"
"""Reason code: a stored message was damaged, or a newer version wrote it, and it is kept apart (`unreadable.py`)."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who writes directly to one bot account, as the transport names them."""

    channel: str
    account: str
    id: str
    """The platform's numeric id."""
    name: str
    """Their own words."""

    @property
    def person(self) -> str:
        """Return them as the configuration does: `<channel>:<numeric id>`."""
        return f"{self.channel}:{self.id}"


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A visitor who waits for the owner; the code was told to them alone."""

    visitor: Visitor
    code: str
    asked_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Guest:
    """A visitor whom the owner let in, at that one bot account and in direct chats only."""

    visitor: Visitor
    since: datetime


class Pairings(Protocol):
    """Who asks to talk to a bot account, and who may because the owner said so."""

    async def ask(self, request: PairingRequest, most: int, reply: Outgoing, older: datetime) -> OutboxRow | None:
        """Keep *request* and queue the *reply* that tells its code: both or neither.

        While *most* requests wait at that account, the oldest makes way if it was made before *older*: its code counts
        no more, and whoever made it gets no other one before it would have expired. `None`, with nothing kept, while an
        earlier request of theirs counts, refused or not, and while none of *most* can make way.
        """

    async def waiting(self) -> Sequence[PairingRequest]:
        """Return the requests that have not expired, oldest first."""

    async def approve(self, code: str) -> Guest | None:
        """Make whoever was told *code* a guest; the code is then used up. `None` if nobody waits with it."""

    async def let_in(self, visitor: Visitor) -> None:
        """Make *visitor* a guest, whether they asked, were refused, or never wrote; a code of theirs is used up."""

    async def refuse(self, code: str, until: datetime) -> Visitor | None:
        """Give whoever was told *code* no other one before *until*. `None` if nobody waits with it."""

    async def revoke(self, channel: str, id: str) -> Sequence[Guest]:  # noqa: A002  # reads as the field
        """Let that person in no more, at no account; return whom they were."""

    async def guests(self) -> Sequence[Guest]:
        """Return everybody who was let in and not revoked, oldest first."""

    async def is_guest(self, channel: str, account: str, id: str) -> bool:  # noqa: A002
        """Say whether that person may write to that account now."""


@dataclass(frozen=True, slots=True)
class Context:
    """What was said in a chat and not meant for us, oldest first."""

    heard: tuple[Heard, ...] = ()
    last: int = 0
    """Marks the newest: what is forgotten up to here is this, and nothing that came later."""


class Overheard(Protocol):
    """What groups said without asking us: kept for a day, until we are asked."""

    async def keep(self, address: Address, message_id: str, heard: Heard, most: int) -> None:
        """Keep *heard*, one for each message id, and of that chat the newest *most*."""

    async def of(self, address: Address) -> Context:
        """Return what is kept of that chat."""

    async def forget(self, address: Address, last: int) -> None:
        """Drop what is kept of that chat up to the mark *last*."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Somebody who got no answer, and why; what they said is not kept."""

    at: datetime
    """When it happened last."""
    address: Address
    person: str
    """As `<channel>:<numeric id>`."""
    reason: str
    times: int = 1


class Silences(Protocol):
    """The ledger of refusals: one line for each chat, person and reason, so that no flood makes it long."""

    async def record(self, silence: Silence) -> None:
        """Add one time to the line of this chat, person and reason."""

    async def latest(self) -> Sequence[Silence]:
        """Return the lines, newest first."""
