"""Port to the durable state of a gateway.

One transaction, `commit_turn`, alone decides that a message was answered: it stores the replies, marks the turn as
committed and removes the message from the inbox, all or nothing.

Operations take effect in the order in which they were called, and each returns (or raises StoreError, having done
nothing) once its outcome is durable. A caller that is cancelled while it waits cannot know the outcome.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from adapters.channel import InboundMessage
from gateway.errors import StoreError
from gateway.stores.admission import Overheard, Pairings, Silences
from gateway.stores.jobs import Jobs
from gateway.stores.quarantine import Quarantine
from gateway.stores.rows import (
    FIRST,
    ChangeId,
    ChangeState,
    InboxId,
    InboxRow,
    OutboxId,
    OutboxRow,
    Outgoing,
    PendingChange,
    Proposal,
    StoreOutage,
    StoreReport,
    TurnCommit,
)
from gateway.stores.spending import Spending
from workspaces.redact import Redaction


class RowStateError(StoreError):
    """The row is not in a state that the operation accepts: a defect of the caller; a retry cannot help."""


class StoreServerError(StoreError):
    """The server with the state does not answer, or refuses an operation; our own disk is not to blame."""


class LeaseLostError(StoreServerError):
    """Another gateway may write in this one's place; this one cannot write until it has a new lease."""


class Inbox(Protocol):
    """Accepted messages without an answer."""

    async def append(self, message: InboundMessage) -> InboxRow | None:
        """Store *message* durably; `None` if it was stored before (the same address and id)."""

    async def waiting(self, after: InboxId = FIRST, limit: int | None = None) -> Sequence[InboxRow]:
        """Return the unanswered messages after *after*, oldest first: all, or the first *limit*."""

    async def drop(self, row: InboxId, reason: str) -> None:
        """Close a message without an answer (its sender was revoked) and count *reason*."""


@runtime_checkable
class Arrivals(Protocol):
    """An inbox shared by several gateways: each answers the messages for its own agents."""

    def arrivals(self) -> AsyncGenerator[InboxRow, None]:
        """Yield every unanswered message of our agents, oldest first, then each new one, whichever gateway accepted
        it."""


@runtime_checkable
class Distant(Protocol):
    """Additional operations of a store that is a separate program, which may be unavailable."""

    def outage(self) -> StoreOutage | None:
        """Return the current outage, as far as known without a request; `None` if there is none."""


@runtime_checkable
class SpooledStore(Protocol):
    """Additional operation of a store that keeps accepted messages on the gateway's own disk as well."""

    async def trim_spool(self) -> None:
        """Remove the messages that have been answered, by whichever gateway, from the disk until cancelled."""


class Outbox(Protocol):
    """Replies that were committed and not yet delivered.

    An operation that a row's state does not allow: RowStateError.
    """

    async def unfinished(self) -> Sequence[OutboxRow]:
        """Return every row that is queued or was being sent, oldest first."""

    async def begin_part(self, row: OutboxId, part: int, at: datetime) -> None:
        """Record, before sending, that part number *part* (from 0, the next one) is sent in an attempt begun *at*."""

    async def part_sent(self, row: OutboxId, part: int, message_id: str, *, is_last: bool) -> None:
        """Record the platform's *message_id* for the part that was begun; the last part makes the row sent.

        Nobody waits for the last one: its record may ride with the next write, a moment later.
        """

    async def put_back(self, row: OutboxId, not_before: datetime, why: str) -> None:
        """Queue the row again, for an attempt not before *not_before*; the begun part did not arrive."""

    async def record_unsure(self, row: OutboxId, part: int, why: str) -> None:
        """Record that the begun part may have arrived, and queue the row again."""

    async def finish(self, row: OutboxId) -> None:
        """Mark the row as sent: nothing is left to send."""

    async def bury(self, row: OutboxId, why: str) -> None:
        """Make the row a dead letter."""


class Changes(Protocol):
    """Changes of files that wait for the owner's decision."""

    async def propose(
        self, proposal: Proposal, expires_at: datetime, notice: Callable[[ChangeId], Outgoing]
    ) -> tuple[PendingChange, OutboxRow]:
        """Store *proposal* and queue the *notice* built from its number: both or neither."""

    async def waiting(self) -> Sequence[PendingChange]:
        """Return the pending changes that have not expired, oldest first."""

    async def get(self, change: ChangeId) -> PendingChange | None:
        """Return the change, decided or not; one past its time counts as expired, swept or not."""

    async def decide(self, change: ChangeId, state: ChangeState) -> bool:
        """Give a pending change its final *state* and drop its texts; `False` if it is no longer pending."""


class Store(Protocol):
    """All durable state of one gateway."""

    inbox: Inbox
    outbox: Outbox
    changes: Changes
    jobs: Jobs
    pairings: Pairings
    overheard: Overheard
    silences: Silences
    spending: Spending
    quarantine: Quarantine

    async def commit_turn(self, commit: TurnCommit) -> Sequence[OutboxRow]:
        """Store the replies, mark the turn committed, remove its messages from the inbox: all or nothing.

        A turn committed before, or whose messages have all left the inbox, changes nothing and returns an empty result.
        """

    async def notify(self, key: str, outgoing: Outgoing) -> OutboxRow | None:
        """Queue a message that is no answer, once per *key*; `None` if *key* was used before."""

    async def count(self, reason: str, amount: int = 1) -> None:
        """Add to the ledger's counter of *reason*."""

    async def get(self, key: str) -> str | None:
        """Return the value that `put` stored under *key*."""

    async def put(self, key: str, value: str) -> None:
        """Store *value* under *key* durably."""

    async def report(self) -> StoreReport:
        """Return the store's part of `status`."""

    async def prune(self, now: datetime) -> int:
        """Remove expired rows (old sent replies, message keys); return their number.

        Undecided changes past their time become expired, and are counted.
        """

    async def purge(self, redaction: Redaction) -> int:
        """Remove passages from replies that were sent or given up and from quarantined rows.

        Return how many held one.
        """

    async def close(self) -> None:
        """Finish pending operations and close the files."""
