"""Scheduled jobs in SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.runtime.clock import Clock
from gateway.stores.codec import JOB_SPECS, encode_time
from gateway.stores.jobs import Job, JobId, JobRun, JobSpec, Slot
from gateway.stores.rows import InboxRow
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.inbox import append
from gateway.stores.sqlite.runs import history, note
from gateway.stores.sqlite.unreadable import Fields, RowQuery, read_on
from gateway.stores.unreadable import UNREADABLE_JOB, moment_of

_COLUMNS = "id, errand, is_enabled, next_slot, last_slot, failures"


class SqliteJobs(Struct, frozen=True):
    """Implements `Jobs`."""

    commits: GroupCommit
    clock: Clock
    dedupe: timedelta

    @transaction
    def add(
        self, db: sqlite3.Connection, spec: JobSpec, next_slot: datetime, most: int, key: str | None = None
    ) -> Job | None:
        known = db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE key = ?", (key,)).fetchone()  # noqa: S608  # constants
        if known is not None:
            return _job(known)
        counting = "SELECT count(*) FROM jobs WHERE agent = ? AND next_slot IS NOT NULL"
        if db.execute(counting, (spec.agent,)).fetchone()[0] >= most:
            return None
        inserted = db.execute(
            f"INSERT INTO jobs (agent, key, errand, next_slot) VALUES (?, ?, ?, ?) RETURNING {_COLUMNS}",  # noqa: S608
            (spec.agent, key, JOB_SPECS.encode(spec), encode_time(next_slot)),
        )
        (row,) = inserted.fetchall()
        return _job(row)

    async def all(self) -> Sequence[Job]:
        asked = RowQuery(UNREADABLE_JOB, f"SELECT {_COLUMNS} FROM jobs ORDER BY id")  # noqa: S608
        return (await self.commits.run(partial(read_on, asked, _job, self.clock.now()))).told()

    @transaction
    def remove(self, db: sqlite3.Connection, job: JobId) -> bool:
        return db.execute("DELETE FROM jobs WHERE id = ?", (job,)).rowcount == 1

    @transaction
    def set_next(self, db: sqlite3.Connection, job: JobId, next_slot: datetime | None) -> bool:
        values = {"job": job, "enabled": next_slot is not None, "next": _text(next_slot)}
        return db.execute(_SET_NEXT, values).rowcount == 1

    @transaction
    def take(self, db: sqlite3.Connection, job: JobId, slot: Slot, message: InboundMessage | None) -> InboxRow | None:
        times = {"at": encode_time(slot.at), "before": encode_time(slot.before), "after": _text(slot.after)}
        if not db.execute(_MOVE_ON, {"job": job, **times}).rowcount:
            return None
        if message is None:
            note(job, slot.at, None, db)
            return None
        return self._run(db, job, slot.at, message)

    @transaction
    def run(self, db: sqlite3.Connection, job: JobId, at: datetime, message: InboundMessage) -> InboxRow | None:
        return self._run(db, job, at, message)

    @transaction
    def history(self, db: sqlite3.Connection, job: JobId) -> Sequence[JobRun]:
        return history(job, db)

    def _run(self, db: sqlite3.Connection, job: JobId, at: datetime, message: InboundMessage) -> InboxRow | None:
        if not db.execute("SELECT 1 FROM jobs WHERE id = ?", (job,)).fetchone():
            return None
        row = append(message, self.clock.now(), self.dedupe, db)
        if row is not None:
            note(job, at, row, db)
        return row


_SET_NEXT = "UPDATE jobs SET is_enabled = :enabled, next_slot = :next, failures = 0 WHERE id = :job"
_MOVE_ON = """
    UPDATE jobs SET last_slot = :at, next_slot = :after WHERE id = :job AND is_enabled AND next_slot = :before"""


def _job(row: Fields) -> Job:
    id_, spec, is_enabled, next_slot, last_slot, failures = row
    times = _time(next_slot), _time(last_slot)
    return Job(JobId(id_), JOB_SPECS.decode(spec), bool(is_enabled), *times, failures)


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else encode_time(moment)


def _time(text: str | None) -> datetime | None:
    return None if text is None else moment_of(text)
