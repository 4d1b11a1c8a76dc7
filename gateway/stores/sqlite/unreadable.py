"""This file sets aside, in SQLite, what cannot be read: it is kept, whole, and what is behind it is read on."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from gateway.stores.codec import encode_time
from gateway.stores.door import UNREADABLE_MESSAGE
from gateway.stores.jobs import RunState
from gateway.stores.ports import InboxId, OutboxId
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.runs import settle_drop, settle_reply
from gateway.stores.unreadable import UNREADABLE_JOB, UNREADABLE_REPLY, Unreadable, legible

Row = TypeVar("Row")
Fields = tuple[Any, ...]
"""A row as SQLite returns it; its number comes first."""

_TABLES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        UNREADABLE_MESSAGE: ("inbox", "message", "received_at"),
        UNREADABLE_REPLY: ("outbox", "outgoing", "turn_id, created_at, state, parts_sent, attempts, not_before"),
        UNREADABLE_JOB: ("jobs", "errand", "agent, key, is_enabled, next_slot, last_slot, failures"),
    }
)
"""By reason: where such rows stand, their content, and what is kept beside it."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of the rows of one kind; the number is the first column."""

    reason: str
    """The code under which a row that cannot be read is counted."""
    statement: str
    values: Sequence[str | int] = ()


@dataclass(frozen=True, slots=True)
class Reading(Generic[Row]):
    """What could be read, and what was set aside for it."""

    rows: list[Row]
    aside: list[Unreadable] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    """Of what was set aside, as they stood there."""

    def told(self) -> list[Row]:
        """Return the rows, and warn of what is not among them; to be called once the reading is durable."""
        for each in self.aside:
            each.tell()
        return self.rows


def read_on(query: Query, read: Callable[[Fields], Row], now: datetime, db: sqlite3.Connection) -> Reading[Row]:
    """Return what *query* finds, as *read* makes it of a row, inside the caller's transaction.

    What cannot be read is set aside and the query made again, so that a page is as full as it can be.
    """
    aside: list[Unreadable] = []
    contents: list[str] = []
    while True:
        rows, bad = legible(_fetched(query, db), read)
        if not bad:
            return Reading(rows, aside, contents)
        for fields, why in bad:
            aside.append(Unreadable(query.reason, str(fields[0]), why))
            contents.append(_set_aside(aside[-1], now, db))


def _fetched(query: Query, db: sqlite3.Connection) -> list[Fields]:
    """Return the rows; a text that is not in UTF-8, which SQLite would refuse them all for, has surrogates in it."""
    before, db.text_factory = db.text_factory, _as_it_stands
    try:
        return db.execute(query.statement, query.values).fetchall()
    finally:
        db.text_factory = before


def _as_it_stands(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _set_aside(aside: Unreadable, now: datetime, db: sqlite3.Connection) -> str:
    """Move the row and count it, and end the run of the job that it belongs to; return its content."""
    table, content, others = _TABLES[aside.reason]
    row = int(aside.row)
    values = {"reason": aside.reason, "row": row, "why": aside.why, "now": encode_time(now)}
    beside = f"json_array({others})"
    db.execute(
        "INSERT INTO unreadable (reason, row, content, beside, why, at) "  # noqa: S608  # constants
        f"SELECT :reason, id, CAST({content} AS BLOB), CAST({beside} AS BLOB), :why, :now FROM {table} WHERE id = :row",
        values,
    )
    if aside.reason == UNREADABLE_MESSAGE:
        settle_drop(InboxId(row), db)
    elif aside.reason == UNREADABLE_REPLY:
        settle_reply(OutboxId(row), RunState.DEAD, db)
    db.execute(f"DELETE FROM {table} WHERE id = ?", (row,))  # noqa: S608
    count(aside.reason, 1, db)
    kept = db.execute("SELECT content FROM unreadable WHERE reason = :reason AND row = :row", values).fetchone()
    return _as_it_stands(kept[0])
