"""State of admission in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from adapters.channel import Address, OverheardMessage
from gateway.runtime.clock import Clock
from gateway.stores.admission import SILENCES_KEPT, Context, Guest, PairingRequest, Silence, Visitor
from gateway.stores.codec import OVERHEARD, address_key, encode_time
from gateway.stores.rows import NOTICE_PREFIX, OutboxRow, Outgoing, TurnId
from gateway.stores.sqlite.group_commit import GroupCommit
from gateway.stores.sqlite.ledger import count
from gateway.stores.sqlite.outbox import enqueue
from gateway.stores.unreadable import UNREADABLE_HEARD, Unreadable, legible


@dataclass(frozen=True, slots=True)
class SqlitePairings:
    """Implements `Pairings`."""

    commits: GroupCommit
    clock: Clock

    async def ask(self, request: PairingRequest, most: int, reply: Outgoing, older: datetime) -> OutboxRow | None:
        return await self.commits.run(partial(_ask, request, (most, older), reply, self.clock.now()))

    async def waiting(self) -> Sequence[PairingRequest]:
        return await self.commits.run(partial(_waiting, self.clock.now()))

    async def approve(self, code: str) -> Guest | None:
        return await self.commits.run(partial(_approve, code, self.clock.now()))

    async def let_in(self, visitor: Visitor) -> None:
        await self.commits.run(partial(_let_in, visitor, self.clock.now()))

    async def refuse(self, code: str, until: datetime) -> Visitor | None:
        return await self.commits.run(partial(_refuse, code, until, self.clock.now()))

    async def revoke(self, channel: str, id: str) -> Sequence[Guest]:  # noqa: A002  # reads as the field
        return await self.commits.run(partial(_revoke, channel, id))

    async def guests(self) -> Sequence[Guest]:
        return await self.commits.run(_guests)

    async def is_guest(self, channel: str, account: str, id: str) -> bool:  # noqa: A002
        return await self.commits.run(partial(_is_guest, channel, account, id))


@dataclass(frozen=True, slots=True)
class SqliteOverheard:
    """Implements `Overheard`."""

    commits: GroupCommit
    clock: Clock
    age: timedelta

    async def keep(self, address: Address, message_id: str, heard: OverheardMessage, most: int) -> None:
        await self.commits.run(partial(_keep, address_key(address), message_id, heard, most))

    async def of(self, address: Address) -> Context:
        context, aside = await self.commits.run(partial(_heard, address_key(address), self.clock.now() - self.age))
        for each in aside:
            each.tell()
        return context

    async def forget(self, address: Address, last: int) -> None:
        await self.commits.run(partial(_forget, address_key(address), last))


@dataclass(frozen=True, slots=True)
class SqliteSilences:
    """Implements `Silences`."""

    commits: GroupCommit

    async def record(self, silence: Silence) -> None:
        await self.commits.run(partial(record_silence, silence))

    async def latest(self) -> Sequence[Silence]:
        return await self.commits.run(_latest)


# The rest runs on the writer's thread, inside a transaction.


def _ask(
    request: PairingRequest, room: tuple[int, datetime], reply: Outgoing, now: datetime, db: sqlite3.Connection
) -> OutboxRow | None:
    visitor = request.visitor
    db.execute("DELETE FROM pairings WHERE until <= ?", (encode_time(now),))
    place = visitor.channel, visitor.account
    if _is_known(visitor, db) or not _has_room(place, *room, db):
        return None
    times = encode_time(request.asked_at), encode_time(request.expires_at)
    who = (*place, visitor.id, visitor.name)
    db.execute("INSERT INTO pairings VALUES (?, ?, ?, ?, ?, ?, ?)", (*who, request.code, *times))
    return enqueue(TurnId(f"{NOTICE_PREFIX}pair:{request.code}"), reply, now, db)


def _is_known(visitor: Visitor, db: sqlite3.Connection) -> bool:
    who = visitor.channel, visitor.account, visitor.id
    found = db.execute("SELECT 1 FROM pairings WHERE channel = ? AND account = ? AND person = ?", who).fetchone()
    return found is not None


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


def _let_in(visitor: Visitor, now: datetime, db: sqlite3.Connection) -> None:
    who = visitor.channel, visitor.account, visitor.id
    db.execute("DELETE FROM pairings WHERE channel = ? AND account = ? AND person = ?", who)
    db.execute("INSERT OR REPLACE INTO guests VALUES (?, ?, ?, ?, ?)", (*who, visitor.name, encode_time(now)))


def _waiting(now: datetime, db: sqlite3.Connection) -> list[PairingRequest]:
    rows = db.execute(
        "SELECT channel, account, person, name, code, asked_at, until FROM pairings "
        "WHERE code IS NOT NULL AND until > ? ORDER BY asked_at, person, account",
        (encode_time(now),),
    )
    return [
        PairingRequest(Visitor(*who), code, datetime.fromisoformat(asked_at), datetime.fromisoformat(until))
        for *who, code, asked_at, until in rows
    ]


def _approve(code: str, now: datetime, db: sqlite3.Connection) -> Guest | None:
    used = db.execute(
        "DELETE FROM pairings WHERE code = ? AND until > ? RETURNING channel, account, person, name",
        (code, encode_time(now)),
    ).fetchall()
    for who in used:
        db.execute("INSERT OR REPLACE INTO guests VALUES (?, ?, ?, ?, ?)", (*who, encode_time(now)))
    return next((Guest(Visitor(*who), now) for who in used), None)


def _refuse(code: str, until: datetime, now: datetime, db: sqlite3.Connection) -> Visitor | None:
    refused = db.execute(
        "UPDATE pairings SET code = NULL, until = ? WHERE code = ? AND until > ? "
        "RETURNING channel, account, person, name",
        (encode_time(until), code, encode_time(now)),
    ).fetchall()
    return next((Visitor(*who) for who in refused), None)


def _revoke(channel: str, person: str, db: sqlite3.Connection) -> list[Guest]:
    rows = db.execute(
        "DELETE FROM guests WHERE channel = ? AND person = ? RETURNING channel, account, person, name, since",
        (channel, person),
    ).fetchall()
    return [_guest(row) for row in rows]


def _guests(db: sqlite3.Connection) -> list[Guest]:
    rows = db.execute("SELECT channel, account, person, name, since FROM guests ORDER BY since, person, account")
    return [_guest(row) for row in rows]


def _guest(row: tuple[str, str, str, str, str]) -> Guest:
    *who, since = row
    return Guest(Visitor(*who), datetime.fromisoformat(since))


def _is_guest(channel: str, account: str, person: str, db: sqlite3.Connection) -> bool:
    found = db.execute(
        "SELECT 1 FROM guests WHERE channel = ? AND account = ? AND person = ?", (channel, account, person)
    ).fetchone()
    return found is not None


def _keep(place: str, message_id: str, heard: OverheardMessage, most: int, db: sqlite3.Connection) -> None:
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


def _forget(place: str, last: int, db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM heard WHERE place = ? AND id <= ?", (place, last))


def record_silence(silence: Silence, db: sqlite3.Connection) -> None:
    """Add to the ledger of silences, inside the caller's transaction."""
    db.execute(
        "INSERT INTO silences VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (place, person, reason) "
        "DO UPDATE SET at = ?4, times = times + ?5",
        (
            address_key(silence.address),
            silence.person,
            silence.reason,
            encode_time(silence.at),
            silence.times,
        ),
    )
    db.execute(
        "DELETE FROM silences WHERE at < (SELECT at FROM silences ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (SILENCES_KEPT - 1,),
    )


def _latest(db: sqlite3.Connection) -> list[Silence]:
    rows = db.execute("SELECT at, place, person, reason, times FROM silences ORDER BY at DESC, place, person, reason")
    return [
        Silence(datetime.fromisoformat(at), Address(*json.loads(place)), person, reason, times)
        for at, place, person, reason, times in rows
    ]
