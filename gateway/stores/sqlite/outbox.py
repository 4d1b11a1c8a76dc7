"""Replies in SQLite, from their commitment to the platform's receipt."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from adapters.channel import Address
from gateway.runtime.clock import Clock
from gateway.stores.codec import OUTGOING, encode_time, reply_row
from gateway.stores.jobs import RunState
from gateway.stores.ports import RowStateError
from gateway.stores.rows import (
    DEAD_LETTER,
    SEND_DELAYED,
    SEND_UNSURE,
    OutboxId,
    OutboxRow,
    OutboxState,
    Outgoing,
    TurnId,
    UnsureSend,
)
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.runs import settle_reply
from gateway.stores.sqlite.unreadable import RowQuery, read_on
from gateway.stores.unreadable import UNREADABLE_REPLY

Values = Mapping[str, str | int]


class SqliteOutbox(Struct, frozen=True):
    """Implements `Outbox`."""

    commits: GroupCommit
    clock: Clock
    unsure_kept: int
    """Most unsure sends listed; the oldest are dropped first."""

    async def unfinished(self) -> Sequence[OutboxRow]:
        asked = RowQuery(UNREADABLE_REPLY, _UNFINISHED)
        return (await self.commits.run(partial(read_on, asked, reply_row, self.clock.now()))).told()

    @transaction
    def begin_part(self, db: sqlite3.Connection, row: OutboxId, part: int, at: datetime) -> None:
        _change(_BEGIN_PART, {"row": row, "part": part, "at": encode_time(at)}, db)

    async def part_sent(self, row: OutboxId, part: int, message_id: str, *, is_last: bool) -> None:
        await self.commits.run(partial(self._part_sent, row, part, message_id, is_last), rides=is_last)

    def _part_sent(self, row: OutboxId, part: int, message_id: str, is_last: bool, db: sqlite3.Connection) -> None:
        state = OutboxState.SENT if is_last else OutboxState.QUEUED
        values: Values = {"row": row, "part": part, "state": state, "message_id": message_id, "now": self._now()}
        _change(_PART_SENT, values, db)
        db.execute("INSERT INTO receipts VALUES (:row, :part, :message_id, :now)", values)
        if is_last:
            settle_reply(row, RunState.DELIVERED, db)

    @transaction
    def put_back(self, db: sqlite3.Connection, row: OutboxId, not_before: datetime, why: str) -> None:
        values: Values = {"row": row, "not_before": encode_time(not_before), "why": why, "now": self._now()}
        _change(_PUT_BACK, values, db, reason=SEND_DELAYED)

    @transaction
    def record_unsure(self, db: sqlite3.Connection, row: OutboxId, part: int, why: str) -> None:
        values: Values = {"row": row, "part": part, "why": why, "now": self._now(), "kept": self.unsure_kept}
        _change(_UNSURE, values, db, reason=SEND_UNSURE)
        db.execute(_LIST_UNSURE, values)
        db.execute("DELETE FROM unsure WHERE id <= (SELECT max(id) FROM unsure) - :kept", values)

    @transaction
    def finish(self, db: sqlite3.Connection, row: OutboxId) -> None:
        _change(_FINISH, {"row": row, "now": self._now()}, db)
        settle_reply(row, RunState.DELIVERED, db)

    @transaction
    def bury(self, db: sqlite3.Connection, row: OutboxId, why: str) -> None:
        _change(_BURY, {"row": row, "why": why, "now": self._now()}, db, reason=DEAD_LETTER)
        settle_reply(row, RunState.DEAD, db)

    def _now(self) -> str:
        return encode_time(self.clock.now())


def enqueue(turn_id: TurnId, outgoing: Outgoing, now: datetime, db: sqlite3.Connection) -> OutboxRow:
    """Store a new reply."""
    values = (turn_id, OUTGOING.encode(outgoing), encode_time(now), encode_time(now))
    inserted = db.execute(_ENQUEUE, values)
    (row,) = inserted.fetchall()
    return reply_row(row)


def insert_reply(encoded: str, others: Sequence[Any], now: datetime, db: sqlite3.Connection) -> OutboxRow:
    """Store an *encoded* reply under a new number; *others* are the further columns that `set_aside` keeps."""
    turn_id, created_at, _, parts_sent, attempts, not_before = others
    inserted = db.execute(
        _INSERT_REPLY, (turn_id, encoded, created_at, encode_time(now), parts_sent, attempts, not_before)
    )
    (row,) = inserted.fetchall()
    return reply_row(row)


def unsure_sends(db: sqlite3.Connection) -> list[UnsureSend]:
    """Return the stored unsure sends, oldest first."""
    return [
        UnsureSend(OutboxId(row), Address(*json.loads(address)), part, datetime.fromisoformat(at), why)
        for row, address, part, at, why in db.execute(
            "SELECT outbox_id, address, part, at, why FROM unsure ORDER BY id"
        )
    ]


_COLUMNS = "id, turn_id, outgoing, created_at, state, parts_sent, attempts, not_before, begun_at"
_UNFINISHED = f"SELECT {_COLUMNS} FROM outbox WHERE state IN ('queued', 'sending') ORDER BY id"  # noqa: S608  # constants
_ENQUEUE = f"""
    INSERT INTO outbox (turn_id, outgoing, created_at, changed_at, state) VALUES (?, ?, ?, ?, 'queued')
    RETURNING {_COLUMNS}"""  # noqa: S608  # constants
_INSERT_REPLY = f"""
    INSERT INTO outbox (turn_id, outgoing, created_at, changed_at, state, parts_sent, attempts, not_before)
    VALUES (?, ?, ?, ?, 'queued', ?, ?, ?) RETURNING {_COLUMNS}"""  # noqa: S608  # constants
_BEGIN_PART = """
    UPDATE outbox SET state = 'sending', not_before = NULL, changed_at = :at,
        begun_at = CASE WHEN :part = 0 THEN :at ELSE begun_at END
    WHERE id = :row AND state = 'queued' AND parts_sent = :part"""
_PART_SENT = """
    UPDATE outbox SET state = :state, parts_sent = :part + 1, changed_at = :now
    WHERE id = :row AND state = 'sending' AND parts_sent = :part"""
_PUT_BACK = """
    UPDATE outbox SET state = 'queued', not_before = :not_before, attempts = attempts + 1, why = :why, changed_at = :now
    WHERE id = :row AND state IN ('queued', 'sending')"""
_UNSURE = """
    UPDATE outbox SET state = 'queued', attempts = attempts + 1, why = :why, changed_at = :now
    WHERE id = :row AND state = 'sending' AND parts_sent = :part"""
_FINISH = """
    UPDATE outbox SET state = 'sent', changed_at = :now WHERE id = :row AND state = 'queued'"""
_BURY = """
    UPDATE outbox SET state = 'dead', why = :why, changed_at = :now
    WHERE id = :row AND state IN ('queued', 'sending')"""
_LIST_UNSURE = """
    INSERT INTO unsure (outbox_id, address, part, at, why)
    SELECT id, json_extract(outgoing, '$.body.address.channel', '$.body.address.account', '$.body.address.chat',
        '$.body.address.thread'), :part, :now, :why
    FROM outbox WHERE id = :row"""


def _change(statement: str, values: Values, db: sqlite3.Connection, *, reason: str | None = None) -> None:
    """Move one row to its next state, if *statement* matches its state, and count *reason*."""
    if not db.execute(statement, values).rowcount:
        found = db.execute("SELECT state, parts_sent FROM outbox WHERE id = ?", (values["row"],)).fetchone()
        stands = "does not exist" if found is None else f"is {found[0]} with {found[1]} parts sent"
        raise RowStateError(f"outbox row {values['row']} {stands}: the change does not start from there")
    if reason:
        count(reason, 1, db)
