"""Messages that wait for their turns, in SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.runtime.clock import Clock
from gateway.stores.admission import UNREADABLE_MESSAGE
from gateway.stores.codec import MESSAGES, encode_time, message_key
from gateway.stores.rows import FIRST, InboxId, InboxRow
from gateway.stores.sqlite.admission import record_silence
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.runs import settle_drop
from gateway.stores.sqlite.unreadable import Fields, ReadRows, RowQuery, read_on
from gateway.stores.unreadable import moment_of, silences_of


class SqliteInbox(Struct, frozen=True):
    """Implements `Inbox`."""

    commits: GroupCommit
    clock: Clock
    dedupe: timedelta

    @transaction
    def append(self, db: sqlite3.Connection, message: InboundMessage) -> InboxRow | None:
        return append(message, self.clock.now(), self.dedupe, db)

    async def waiting(self, after: InboxId = FIRST, limit: int | None = None) -> Sequence[InboxRow]:
        found = await self.commits.run(partial(_waiting, after, -1 if limit is None else limit, self.clock.now()))
        return found.told()

    @transaction
    def drop(self, db: sqlite3.Connection, row: InboxId, reason: str) -> None:
        if db.execute("DELETE FROM inbox WHERE id = ?", (row,)).rowcount:
            count(reason, 1, db)
            settle_drop(row, db)


# A turn is named after its row, in a transcript that is not kept here. If this file is lost or replaced by an older
# one, the clock keeps numbers that the transcripts know from being reused.
_APPEND = """
    INSERT INTO inbox (id, message, received_at) VALUES (
        max(?, 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'inbox'), 0)), ?, ?)
    RETURNING id, message, received_at"""


def append(message: InboundMessage, now: datetime, dedupe: timedelta, db: sqlite3.Connection) -> InboxRow | None:
    """Store *message* unless it was stored within *dedupe*, inside the caller's transaction."""
    is_new = db.execute(
        "INSERT INTO seen VALUES (:key, :expires) ON CONFLICT (key) DO UPDATE SET expires_at = :expires "
        "WHERE expires_at <= :now",
        {
            "key": message_key(message.address, message.id),
            "expires": encode_time(now + dedupe),
            "now": encode_time(now),
        },
    ).rowcount
    return insert_message(MESSAGES.encode(message), encode_time(now), now, db) if is_new else None


def insert_message(encoded: str, received_at: str, now: datetime, db: sqlite3.Connection) -> InboxRow:
    """Store an *encoded* message under a new number, inside the caller's transaction."""
    inserted = db.execute(_APPEND, (round(now.timestamp() * 1000), encoded, received_at))
    (row,) = inserted.fetchall()
    return _inbox_row(row)


def _waiting(after: InboxId, limit: int, now: datetime, db: sqlite3.Connection) -> ReadRows[InboxRow]:
    asked = "SELECT id, message, received_at FROM inbox WHERE id > ? ORDER BY id LIMIT ?"
    found = read_on(RowQuery(UNREADABLE_MESSAGE, asked, (after, limit)), _inbox_row, now, db)
    for silence in silences_of(found.contents, now):
        record_silence(silence, db)
    return found


def _inbox_row(row: Fields) -> InboxRow:
    id_, message, received_at = row
    return InboxRow(InboxId(id_), MESSAGES.decode(message), moment_of(received_at))
