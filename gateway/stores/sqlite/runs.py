"""Outcomes of jobs' slots in SQLite, updated as their turns and answers proceed."""

import json
import sqlite3
from datetime import datetime

from gateway.stores.codec import encode_time
from gateway.stores.jobs import FAILURES, RUNS_KEPT, SUCCESSES, JobId, JobRun, RunState
from gateway.stores.rows import InboxId, InboxRow, OutboxId, TurnCommit

_TRIM = """
    DELETE FROM runs WHERE job = ?1 AND id NOT IN (SELECT id FROM runs WHERE job = ?1 ORDER BY id DESC LIMIT ?2)"""

_HISTORY = """
    SELECT slot, state, turn, (
        SELECT json_group_array(message_id) FROM (
            SELECT message_id FROM outbox JOIN receipts ON outbox_id = outbox.id
            WHERE outbox.turn_id = runs.turn AND runs.state = 'delivered' ORDER BY outbox_id, part))
    FROM runs WHERE job = ? ORDER BY id DESC"""


def note(job: JobId, at: datetime, row: InboxRow | None, db: sqlite3.Connection) -> None:
    """Record that a slot was accepted, or missed if there is no *row*, inside the caller's transaction."""
    state = RunState.MISSED if row is None else RunState.RUNNING
    facts = (job, encode_time(at), state, None if row is None else row.id)
    db.execute("INSERT INTO runs (job, slot, state, message) VALUES (?, ?, ?, ?)", facts)
    db.execute(_TRIM, (job, RUNS_KEPT))


def settle_turn(commit: TurnCommit, db: sqlite3.Connection) -> None:
    """Record the outcome of a job's turn, inside the caller's transaction."""
    state = RunState.FAILED if commit.has_failed else RunState.ANSWERED if commit.outgoing else RunState.SILENT
    for row in commit.answers:
        db.execute("UPDATE runs SET turn = ? WHERE message = ?", (commit.turn_id, row))
        _settle(state, "message = ? AND state = 'running'", row, db)


def settle_drop(row: InboxId, db: sqlite3.Connection) -> None:
    """Record that a job's message was dropped."""
    _settle(RunState.FAILED, "message = ? AND state = 'running'", row, db)


def settle_reply(row: OutboxId, state: RunState, db: sqlite3.Connection) -> None:
    """Record that a job's answer was delivered, or never will be."""
    of_turn = "state = 'answered' AND turn = (SELECT turn_id FROM outbox WHERE id = ?)"
    _settle(state, of_turn, row, db)


def history(job: JobId, db: sqlite3.Connection) -> list[JobRun]:
    """Return the outcomes of a job's slots, newest first."""
    rows = db.execute(_HISTORY, (job,))
    return [
        JobRun(datetime.fromisoformat(slot), RunState(state), turn, tuple(json.loads(messages)))
        for slot, state, turn, messages in rows
    ]


def _settle(state: RunState, where: str, value: int, db: sqlite3.Connection) -> None:
    changed = db.execute(f"UPDATE runs SET state = ? WHERE {where} RETURNING job", (state, value)).fetchall()  # noqa: S608
    for (job,) in changed:
        if state in FAILURES:
            db.execute("UPDATE jobs SET failures = failures + 1 WHERE id = ?", (job,))
        elif state in SUCCESSES:
            db.execute("UPDATE jobs SET failures = 0 WHERE id = ?", (job,))
