"""Quarantined rows in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from gateway.errors import StoreError
from gateway.runtime.clock import Clock
from gateway.stores.jobs import JobId
from gateway.stores.quarantine import QuarantinedRow, QuarantineKind, Retried
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.inbox import insert_message
from gateway.stores.sqlite.outbox import insert_reply
from gateway.stores.sqlite.unreadable import Fields, as_it_stands, quarantine_row
from gateway.stores.unreadable import Unreadable

_COLUMNS = "id, reason, row, CAST(why AS BLOB), at, content, beside"
_ALL = f"SELECT {_COLUMNS} FROM quarantine ORDER BY id"  # noqa: S608  # constants
_ONE = f"SELECT {_COLUMNS} FROM quarantine WHERE id = ?"  # noqa: S608  # constants
_INSERT_JOB = """
    INSERT INTO jobs (id, errand, agent, key, is_enabled, next_slot, last_slot, failures)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


class SqliteQuarantine(Struct, frozen=True):
    """Implements `Quarantine`."""

    commits: GroupCommit
    clock: Clock

    @transaction
    def all(self, db: sqlite3.Connection) -> Sequence[QuarantinedRow]:
        return [_row(fields)[0] for fields in db.execute(_ALL)]

    @transaction
    def add(self, db: sqlite3.Connection, reason: str, row: int, why: str) -> bool:
        return quarantine_row(Unreadable(reason, str(row), why), self.clock.now(), db) is not None

    @transaction
    def retry(self, db: sqlite3.Connection, id: str) -> Retried | None:  # noqa: A002  # the field's name
        found = db.execute(_ONE, (id,)).fetchone()
        if found is None:
            return None
        row, beside = _row(found)
        row.check()
        _drop(id, db)
        return _restore(row, beside, self.clock.now(), db)

    @transaction
    def drop(self, db: sqlite3.Connection, id: str) -> bool:  # noqa: A002  # the field's name
        return _drop(id, db)


def _restore(row: QuarantinedRow, beside: str, now: datetime, db: sqlite3.Connection) -> Retried:
    try:
        others = json.loads(beside)
        match row.kind:
            case QuarantineKind.MESSAGE:
                return insert_message(row.content, str(others[0]), now, db)
            case QuarantineKind.REPLY:
                return insert_reply(row.content, others, now, db)
            case QuarantineKind.JOB:
                db.execute(_INSERT_JOB, (row.row, row.content, *others))
                return JobId(int(row.row))
    except sqlite3.IntegrityError as exc:
        raise StoreError(f"{row.kind} {row.id} cannot be put back: another one took its place; drop it") from exc
    except (ValueError, TypeError, IndexError) as exc:
        raise StoreError(f"{row.kind} {row.id} cannot be put back: {exc}; drop it") from exc


def _drop(id_: str, db: sqlite3.Connection) -> bool:
    return bool(db.execute("DELETE FROM quarantine WHERE id = ?", (id_,)).rowcount)


def _row(fields: Fields) -> tuple[QuarantinedRow, str]:
    id_, reason, row, why, at, content, beside = fields
    found = QuarantinedRow(
        str(id_), reason, str(row), as_it_stands(why), datetime.fromisoformat(at), as_it_stands(content)
    )
    return found, as_it_stands(beside)
