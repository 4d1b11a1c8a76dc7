"""The gateway's durable state in one SQLite file."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from gateway.runtime.clock import Clock, SystemClock
from gateway.runtime.threads import Threads
from gateway.stores.admission import Overheard, Pairings, Silences
from gateway.stores.codec import encode_time
from gateway.stores.jobs import Jobs
from gateway.stores.ports import Changes, Inbox, Outbox
from gateway.stores.quarantine import Quarantine
from gateway.stores.retention import Retention
from gateway.stores.rows import NOTICE_PREFIX, OutboxRow, Outgoing, StoreReport, TurnCommit, TurnId
from gateway.stores.spending import Spending
from gateway.stores.sqlite.admission import SqliteOverheard, SqlitePairings, SqliteSilences
from gateway.stores.sqlite.changes import SqliteChanges, expire
from gateway.stores.sqlite.group_commit import GroupCommit, transaction
from gateway.stores.sqlite.inbox import SqliteInbox
from gateway.stores.sqlite.jobs import SqliteJobs
from gateway.stores.sqlite.ledger import count, counters
from gateway.stores.sqlite.outbox import SqliteOutbox, enqueue, unsure_sends
from gateway.stores.sqlite.purge import purge
from gateway.stores.sqlite.quarantine import SqliteQuarantine
from gateway.stores.sqlite.runs import settle_turn
from gateway.stores.sqlite.schema import open_database
from gateway.stores.sqlite.spending import SqliteSpending
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.redact import Redaction


class SqliteStore:
    """Implements `Store`; made by `open`."""

    def __init__(self, commits: GroupCommit, clock: Clock, retention: Retention) -> None:
        self.commits = commits
        self._clock = clock
        self._retention = retention
        self.inbox: Inbox = SqliteInbox(commits, clock, retention.dedupe)
        self.outbox: Outbox = SqliteOutbox(commits, clock, retention.unsure)
        self.changes: Changes = SqliteChanges(commits, clock)
        self.jobs: Jobs = SqliteJobs(commits, clock, retention.dedupe)
        self.pairings: Pairings = SqlitePairings(commits, clock)
        self.overheard: Overheard = SqliteOverheard(commits, clock, retention.heard)
        self.silences: Silences = SqliteSilences(commits)
        self.spending: Spending = SqliteSpending(commits)
        self.quarantine: Quarantine = SqliteQuarantine(commits, clock)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock | None = None,
        retention: Retention | None = None,
        checkpoint: Checkpoint = unchecked,
    ) -> "SqliteStore":
        """Open the state at *path*, created if absent; the default clock is the machine's.

        Raises StoreError, leaving the file untouched, if it is damaged, from a newer version, or read-only.
        """
        thread = Threads("state")
        try:
            connection = await thread(open_database, path)
        except BaseException:
            thread.close(wait=False)
            raise
        commits = GroupCommit(path, connection, thread, checkpoint)
        return cls(commits, clock or SystemClock(), retention or Retention())

    def measure(self, on_commit: Callable[[float], None]) -> None:
        """Call *on_commit* with the seconds that each commit takes from now on."""
        self.commits.measure(on_commit)

    @transaction
    def commit_turn(self, db: sqlite3.Connection, commit: TurnCommit) -> Sequence[OutboxRow]:
        now = self._clock.now()
        if db.execute("SELECT 1 FROM turns WHERE id = ?", (commit.turn_id,)).fetchone():
            return []
        answered = sum(db.execute("DELETE FROM inbox WHERE id = ?", (row,)).rowcount for row in commit.answers)
        if commit.answers and not answered:
            return []
        db.execute("INSERT INTO turns VALUES (?, ?)", (commit.turn_id, encode_time(now)))
        settle_turn(commit, db)
        return [enqueue(commit.turn_id, outgoing, now, db) for outgoing in commit.outgoing]

    @transaction
    def notify(self, db: sqlite3.Connection, key: str, outgoing: Outgoing) -> OutboxRow | None:
        now = self._clock.now()
        if not db.execute("INSERT OR IGNORE INTO notices VALUES (?, ?)", (key, encode_time(now))).rowcount:
            return None
        return enqueue(TurnId(NOTICE_PREFIX + key), outgoing, now, db)

    @transaction
    def count(self, db: sqlite3.Connection, reason: str, amount: int = 1) -> None:
        count(reason, amount, db)

    @transaction
    def get(self, db: sqlite3.Connection, key: str) -> str | None:
        row = db.execute("SELECT value FROM kv WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @transaction
    def put(self, db: sqlite3.Connection, key: str, value: str) -> None:
        db.execute("INSERT INTO kv VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", (key, value))

    @transaction
    def report(self, db: sqlite3.Connection) -> StoreReport:
        waiting, queued, dead, undecided, quarantined = db.execute(
            "SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending')), "
            "(SELECT count(*) FROM outbox WHERE state = 'dead'), "
            "(SELECT count(*) FROM changes WHERE state = 'waiting' AND expires_at > ?), "
            "(SELECT count(*) FROM quarantine)",
            (encode_time(self._clock.now()),),
        ).fetchone()
        return StoreReport(waiting, queued, dead, unsure_sends(db), counters(db), undecided, quarantined)

    @transaction
    def prune(self, db: sqlite3.Connection, now: datetime) -> int:
        expire(now, db)
        kept = self._retention
        ages = {"sent": kept.sent, "dead": kept.dead, "decided": kept.decided, "keys": kept.keys}
        ages |= {"heard": kept.heard, "silences": kept.silences}
        limits = {"now": encode_time(now)} | {name: encode_time(now - age) for name, age in ages.items()}
        limits["spending"] = (now - kept.spending).date().isoformat()
        return sum(db.execute(statement, limits).rowcount for statement in _PRUNING)

    async def purge(self, redaction: Redaction) -> int:
        return await purge(self.commits, redaction)

    async def close(self) -> None:
        await self.commits.close()


_PRUNING = (
    "DELETE FROM seen WHERE expires_at <= :now",
    "DELETE FROM outbox WHERE state = 'sent' AND changed_at <= :sent",
    "DELETE FROM outbox WHERE state = 'dead' AND changed_at <= :dead",
    "DELETE FROM changes WHERE state != 'waiting' AND changed_at <= :decided",
    "DELETE FROM turns WHERE committed_at <= :keys",
    "DELETE FROM notices WHERE at <= :keys",
    "DELETE FROM jobs WHERE is_enabled AND next_slot IS NULL AND last_slot <= :dead",
    "DELETE FROM pairings WHERE until <= :now",
    "DELETE FROM heard WHERE at <= :heard",
    "DELETE FROM silences WHERE at <= :silences",
    "DELETE FROM spending WHERE day <= :spending",
)
