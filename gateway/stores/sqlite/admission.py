"""State of admission in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from adapters.channel import Address, OverheardMessage
from gateway.runtime.clock import Clock
from gateway.stores.admission import SILENCES_KEPT, Context, Guest, PairingRequest, Silence, Visitor
from gateway.stores.codec import OVERHEARD, address_key, encode_time
from gateway.stores.rows import NOTICE_PREFIX, OutboxRow, Outgoing, TurnId
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.outbox import enqueue
from gateway.stores.unreadable import UNREADABLE_HEARD, Unreadable, legible


class SqlitePairings(Struct, frozen=True):
    """Implements `Pairings`."""

    commits: GroupCommit
    clock: Clock

    @transaction
    def ask(
        self, db: sqlite3.Connection, request: PairingRequest, most: int, reply: Outgoing, older: datetime
    ) -> OutboxRow | None:
        visitor = request.visitor
        db.execute("DELETE FROM pairings WHERE until <= ?", (self._now(),))
        place = visitor.channel, visitor.account
        known = "SELECT 1 FROM pairings WHERE channel = ? AND account = ? AND person = ?"
        if db.execute(known, (*place, visitor.id)).fetchone() or not _has_room(place, most, older, db):
            return None
        times = encode_time(request.asked_at), encode_time(request.expires_at)
        who = (*place, visitor.id, visitor.name)
        db.execute("INSERT INTO pairings VALUES (?, ?, ?, ?, ?, ?, ?)", (*who, request.code, *times))
        return enqueue(TurnId(f"{NOTICE_PREFIX}pair:{request.code}"), reply, self.clock.now(), db)

    @transaction
    def waiting(self, db: sqlite3.Connection) -> Sequence[PairingRequest]:
        rows = db.execute(
            "SELECT channel, account, person, name, code, asked_at, until FROM pairings "
            "WHERE code IS NOT NULL AND until > ? ORDER BY asked_at, person, account",
            (self._now(),),
        )
        return [
            PairingRequest(Visitor(*who), code, datetime.fromisoformat(asked_at), datetime.fromisoformat(until))
            for *who, code, asked_at, until in rows
        ]

    @transaction
    def approve(self, db: sqlite3.Connection, code: str) -> Guest | None:
        now = self.clock.now()
        used = db.execute(
            "DELETE FROM pairings WHERE code = ? AND until > ? RETURNING channel, account, person, name",
            (code, encode_time(now)),
        ).fetchall()
        for who in used:
            db.execute("INSERT OR REPLACE INTO guests VALUES (?, ?, ?, ?, ?)", (*who, encode_time(now)))
        return next((Guest(Visitor(*who), now) for who in used), None)

    @transaction
    def let_in(self, db: sqlite3.Connection, visitor: Visitor) -> None:
        who = visitor.channel, visitor.account, visitor.id
        db.execute("DELETE FROM pairings WHERE channel = ? AND account = ? AND person = ?", who)
        db.execute("INSERT OR REPLACE INTO guests VALUES (?, ?, ?, ?, ?)", (*who, visitor.name, self._now()))

    @transaction
    def refuse(self, db: sqlite3.Connection, code: str, until: datetime) -> Visitor | None:
        refused = db.execute(
            "UPDATE pairings SET code = NULL, until = ? WHERE code = ? AND until > ? "
            "RETURNING channel, account, person, name",
            (encode_time(until), code, self._now()),
        ).fetchall()
        return next((Visitor(*who) for who in refused), None)

    @transaction
    def revoke(self, db: sqlite3.Connection, channel: str, id: str) -> Sequence[Guest]:  # noqa: A002  # reads as the field
        rows = db.execute(
            "DELETE FROM guests WHERE channel = ? AND person = ? RETURNING channel, account, person, name, since",
            (channel, id),
        ).fetchall()
        return [_guest(row) for row in rows]

    @transaction
    def guests(self, db: sqlite3.Connection) -> Sequence[Guest]:
        rows = db.execute("SELECT channel, account, person, name, since FROM guests ORDER BY since, person, account")
        return [_guest(row) for row in rows]

    @transaction
    def is_guest(self, db: sqlite3.Connection, channel: str, account: str, id: str) -> bool:  # noqa: A002
        who = "SELECT 1 FROM guests WHERE channel = ? AND account = ? AND person = ?"
        return db.execute(who, (channel, account, id)).fetchone() is not None

    def _now(self) -> str:
        return encode_time(self.clock.now())


def _has_room(place: tuple[str, str], most: int, older: datetime, db: sqlite3.Connection) -> bool:
    """Return whether *place* has room for one more request; if need be, the oldest is removed."""
    waiting = db.execute(
        "SELECT person, asked_at FROM pairings WHERE channel = ? AND account = ? AND code IS NOT NULL "
        "ORDER BY asked_at, person",
        place,
    ).fetchall()
    if len(waiting) < most:
        return True
    person, asked_at = waiting[0]
    if asked_at >= encode_time(older):
        return False
    db.execute("UPDATE pairings SET code = NULL WHERE channel = ? AND account = ? AND person = ?", (*place, person))
    return True


def _guest(row: tuple[str, str, str, str, str]) -> Guest:
    *who, since = row
    return Guest(Visitor(*who), datetime.fromisoformat(since))


class SqliteOverheard(Struct, frozen=True):
    """Implements `Overheard`."""

    commits: GroupCommit
    clock: Clock
    age: timedelta

    @transaction
    def keep(
        self, db: sqlite3.Connection, address: Address, message_id: str, heard: OverheardMessage, most: int
    ) -> None:
        place = address_key(address)
        db.execute(
            "INSERT INTO heard (place, message, heard, at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (place, message) DO UPDATE SET heard = excluded.heard",
            (place, message_id, OVERHEARD.encode(heard), encode_time(heard.sent_at)),
        )
        db.execute(
            "DELETE FROM heard WHERE place = ?1 AND id NOT IN "
            "(SELECT id FROM heard WHERE place = ?1 ORDER BY id DESC LIMIT ?2)",
            (place, most),
        )

    async def of(self, address: Address) -> Context:
        context, aside = await self.commits.run(partial(_heard, address_key(address), self.clock.now() - self.age))
        for each in aside:
            each.tell()
        return context

    @transaction
    def forget(self, db: sqlite3.Connection, address: Address, last: int) -> None:
        db.execute("DELETE FROM heard WHERE place = ? AND id <= ?", (address_key(address), last))

    @transaction
    def drop(self, db: sqlite3.Connection, address: Address, message_id: str) -> None:
        db.execute("DELETE FROM heard WHERE place = ? AND message = ?", (address_key(address), message_id))


def _heard(place: str, since: datetime, db: sqlite3.Connection) -> tuple[Context, list[Unreadable]]:
    rows = db.execute(
        "SELECT id, CAST(heard AS BLOB) FROM heard WHERE place = ? AND at > ? ORDER BY id", (place, encode_time(since))
    ).fetchall()
    found, bad = legible(rows, lambda row: OVERHEARD.decode(row[1].decode()))
    for (id_, _), _why in bad:
        db.execute("DELETE FROM heard WHERE id = ?", (id_,))
        count(UNREADABLE_HEARD, 1, db)
    aside = [Unreadable(UNREADABLE_HEARD, str(id_), why) for (id_, _), why in bad]
    return Context(tuple(found), rows[-1][0] if rows else 0), aside


class SqliteSilences(Struct, frozen=True):
    """Implements `Silences`."""

    commits: GroupCommit

    @transaction
    def record(self, db: sqlite3.Connection, silence: Silence) -> None:
        record_silence(silence, db)

    @transaction
    def latest(self, db: sqlite3.Connection) -> Sequence[Silence]:
        rows = db.execute(
            "SELECT at, place, person, reason, times FROM silences ORDER BY at DESC, place, person, reason"
        )
        return [
            Silence(datetime.fromisoformat(at), Address(*json.loads(place)), person, reason, times)
            for at, place, person, reason, times in rows
        ]


def record_silence(silence: Silence, db: sqlite3.Connection) -> None:
    """Add to the ledger of silences, inside the caller's transaction."""
    db.execute(
        "INSERT INTO silences VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (place, person, reason) "
        "DO UPDATE SET at = ?4, times = times + ?5",
        (address_key(silence.address), silence.person, silence.reason, encode_time(silence.at), silence.times),
    )
    db.execute(
        "DELETE FROM silences WHERE at < (SELECT at FROM silences ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (SILENCES_KEPT - 1,),
    )
