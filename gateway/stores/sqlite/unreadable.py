"""Reading of stored rows in SQLite: an unreadable row is quarantined, and the rows behind it are read."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from gateway.stores.codec import encode_time
from gateway.stores.jobs import RunState
from gateway.stores.quarantine import KINDS, QuarantineKind
from gateway.stores.rows import InboxId, OutboxId
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.runs import settle_drop, settle_reply
from gateway.stores.unreadable import Unreadable, legible

Row = TypeVar("Row")
Fields = tuple[Any, ...]
"""A row as SQLite returns it; its number comes first."""

_TABLES: Mapping[QuarantineKind, tuple[str, str, str]] = MappingProxyType(
    {
        QuarantineKind.MESSAGE: ("inbox", "message", "received_at"),
        QuarantineKind.REPLY: ("outbox", "outgoing", "turn_id, created_at, state, parts_sent, attempts, not_before"),
        QuarantineKind.JOB: ("jobs", "errand", "agent, key, is_enabled, next_slot, last_slot, failures"),
    }
)
"""By kind: the table of such rows, their content, and the columns kept beside it."""


class RowQuery(Struct, frozen=True):
    """A query for the rows of one kind; the number is the first column."""

    reason: str
    """The reason code counted for an unreadable row."""
    statement: str
    values: Sequence[str | int] = ()


class ReadRows(Struct, Generic[Row], frozen=True):
    """The readable rows, and the quarantined ones."""

    rows: list[Row]
    aside: list[Unreadable] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    """Contents of the quarantined rows, as stored."""

    def told(self) -> list[Row]:
        """Return the rows, and warn of quarantined ones; call once the read is durable."""
        for each in self.aside:
            each.tell()
        return self.rows


def read_on(query: RowQuery, read: Callable[[Fields], Row], now: datetime, db: sqlite3.Connection) -> ReadRows[Row]:
    """Return the rows of *query*, each decoded by *read*, inside the caller's transaction.

    Unreadable rows are quarantined and the query is repeated, so that a page is as full as possible.
    """
    aside: list[Unreadable] = []
    contents: list[str] = []
    while True:
        rows, bad = legible(_fetch_rows(query, db), read)
        if not bad:
            return ReadRows(rows, aside, contents)
        for fields, why in bad:
            aside.append(Unreadable(query.reason, str(fields[0]), why))
            contents.append(quarantine_row(aside[-1], now, db) or "")


def _fetch_rows(query: RowQuery, db: sqlite3.Connection) -> list[Fields]:
    """Return the rows; text that is not UTF-8, which SQLite would otherwise reject, contains surrogates."""
    before, db.text_factory = db.text_factory, as_it_stands
    try:
        return db.execute(query.statement, query.values).fetchall()
    finally:
        db.text_factory = before


def as_it_stands(text: bytes) -> str:
    """Return *text*; bytes that are not UTF-8 become surrogates."""
    return text.decode("utf-8", "surrogateescape")


def quarantine_row(aside: Unreadable, now: datetime, db: sqlite3.Connection) -> str | None:
    """Quarantine the row, count it and end its job's run; return its content, `None` if it is gone."""
    kind = KINDS[aside.reason]
    table, content, others = _TABLES[kind]
    row = int(aside.row)
    values = {"reason": aside.reason, "row": row, "why": aside.why, "now": encode_time(now)}
    beside = f"json_array({others})"
    inserted = db.execute(
        "INSERT INTO quarantine (reason, row, content, beside, why, at) "  # noqa: S608  # constants
        f"SELECT :reason, id, CAST({content} AS BLOB), CAST({beside} AS BLOB), :why, :now FROM {table} WHERE id = :row",
        values,
    )
    if not inserted.rowcount:
        return None
    if kind is QuarantineKind.MESSAGE:
        settle_drop(InboxId(row), db)
    elif kind is QuarantineKind.REPLY:
        settle_reply(OutboxId(row), RunState.DEAD, db)
    db.execute(f"DELETE FROM {table} WHERE id = ?", (row,))  # noqa: S608
    count(aside.reason, 1, db)
    kept = db.execute("SELECT content FROM quarantine WHERE id = ?", (inserted.lastrowid,)).fetchone()
    return as_it_stands(kept[0])
