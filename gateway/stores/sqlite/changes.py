"""Changes that wait for the owner's decision, in SQLite."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from gateway.runtime.clock import Clock
from gateway.stores.codec import PROPOSALS, change_row, encode_time
from gateway.stores.rows import (
    APPROVAL_EXPIRED,
    ChangeId,
    ChangeState,
    OutboxRow,
    Outgoing,
    PendingChange,
    Proposal,
)
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.outbox import enqueue

_EXPIRE = """
    UPDATE changes SET state = 'expired', changed_at = :now,
        proposal = json_set(proposal, '$.body.before', NULL, '$.body.after', NULL)
    WHERE state = 'waiting' AND expires_at <= :now"""
_DECIDE = """
    UPDATE changes SET state = :state, changed_at = :now,
        proposal = json_set(proposal, '$.body.before', NULL, '$.body.after', NULL)
    WHERE state = 'waiting' AND expires_at > :now AND id = :id"""

Notice = Callable[[ChangeId], Outgoing]


class SqliteChanges(Struct, frozen=True):
    """Implements `Changes`."""

    commits: GroupCommit
    clock: Clock

    @transaction
    def propose(
        self, db: sqlite3.Connection, proposal: Proposal, expires_at: datetime, notice: Notice
    ) -> tuple[PendingChange, OutboxRow]:
        now = self.clock.now()
        inserted = db.execute(
            "INSERT INTO changes (proposal, created_at, expires_at, state, changed_at) "
            "VALUES (:proposal, :now, :expires, :state, :now) RETURNING id, proposal, created_at, expires_at, state",
            {
                "proposal": PROPOSALS.encode(proposal),
                "now": encode_time(now),
                "expires": encode_time(expires_at),
                "state": ChangeState.WAITING,
            },
        )
        (row,) = inserted.fetchall()
        change = change_row(row, now)
        return change, enqueue(change.notice, notice(change.id), now, db)

    @transaction
    def waiting(self, db: sqlite3.Connection) -> Sequence[PendingChange]:
        now = self.clock.now()
        rows = db.execute(
            "SELECT id, proposal, created_at, expires_at, state FROM changes "
            "WHERE state = 'waiting' AND expires_at > ? ORDER BY id",
            (encode_time(now),),
        )
        return [change_row(row, now) for row in rows]

    @transaction
    def get(self, db: sqlite3.Connection, change: ChangeId) -> PendingChange | None:
        asked = "SELECT id, proposal, created_at, expires_at, state FROM changes WHERE id = ?"
        row = db.execute(asked, (change,)).fetchone()
        return None if row is None else change_row(row, self.clock.now())

    @transaction
    def decide(self, db: sqlite3.Connection, change: ChangeId, state: ChangeState) -> bool:
        values = {"state": state, "now": encode_time(self.clock.now()), "id": change}
        return db.execute(_DECIDE, values).rowcount == 1


def expire(now: datetime, db: sqlite3.Connection) -> None:
    """Expire and count changes that were not decided in time, inside the caller's transaction."""
    if closed := db.execute(_EXPIRE, {"now": encode_time(now)}).rowcount:
        count(APPROVAL_EXPIRED, closed, db)
