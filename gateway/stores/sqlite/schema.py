"""Opens the state database: creates it, upgrades it, or rejects it untouched."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.errors import StoreError
from gateway.stores.disk import sync_folder
from gateway.stores.sqlite.group_commit import describe_error

_FIRST = (
    # Ids are never reused (AUTOINCREMENT): a turn is named after its inbox row, which is deleted when answered.
    """CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, received_at TEXT NOT NULL) STRICT""",
    # Messages ever accepted; outlives the inbox row, so that a message delivered again is recognised.
    "CREATE TABLE seen (key TEXT PRIMARY KEY, expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE turns (id TEXT PRIMARY KEY, committed_at TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE notices (key TEXT PRIMARY KEY, at TEXT NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, turn_id TEXT NOT NULL, outgoing TEXT NOT NULL, created_at TEXT NOT NULL,
        state TEXT NOT NULL, parts_sent INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
        not_before TEXT, begun_at TEXT, why TEXT, changed_at TEXT NOT NULL) STRICT""",
    "CREATE INDEX outbox_by_state ON outbox (state, id)",
    """CREATE TABLE receipts (
        outbox_id INTEGER NOT NULL REFERENCES outbox ON DELETE CASCADE, part INTEGER NOT NULL,
        message_id TEXT NOT NULL, sent_at TEXT NOT NULL, PRIMARY KEY (outbox_id, part)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE unsure (
        id INTEGER PRIMARY KEY AUTOINCREMENT, outbox_id INTEGER NOT NULL, address TEXT NOT NULL, part INTEGER NOT NULL,
        at TEXT NOT NULL, why TEXT NOT NULL) STRICT""",
    "CREATE TABLE ledger (reason TEXT PRIMARY KEY, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
)
_CHANGES = (
    # Ids are never reused: an owner who approves number 12 means the change that was announced as number 12.
    """CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, proposal TEXT NOT NULL, created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL, state TEXT NOT NULL, changed_at TEXT NOT NULL) STRICT""",
    "CREATE INDEX changes_by_state ON changes (state, id)",
)
_DOOR = (
    # A request without a code was refused: its visitor gets no other code until then.
    """CREATE TABLE pairings (
        channel TEXT NOT NULL, account TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, code TEXT,
        asked_at TEXT NOT NULL, until TEXT NOT NULL, PRIMARY KEY (channel, account, person)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE guests (
        channel TEXT NOT NULL, account TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, since TEXT NOT NULL,
        PRIMARY KEY (channel, account, person)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE heard (
        id INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, message TEXT NOT NULL, heard TEXT NOT NULL,
        at TEXT NOT NULL, UNIQUE (place, message)) STRICT""",
    """CREATE TABLE silences (
        place TEXT NOT NULL, person TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, times INTEGER NOT NULL,
        PRIMARY KEY (place, person, reason)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX silences_by_time ON silences (at)",
)
_SPENDING = (
    """CREATE TABLE spending (
        agent TEXT NOT NULL, day TEXT NOT NULL, cause TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
        cached INTEGER NOT NULL, nanos INTEGER NOT NULL, unpriced INTEGER NOT NULL,
        PRIMARY KEY (agent, day, cause)) STRICT, WITHOUT ROWID""",
)
_JOBS = (
    # Ids are never reused: a job's session is named after it.
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, key TEXT UNIQUE, errand TEXT NOT NULL,
        is_enabled INTEGER NOT NULL DEFAULT 1, next_slot TEXT, last_slot TEXT, failures INTEGER NOT NULL DEFAULT 0)
        STRICT""",
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
        slot TEXT NOT NULL, state TEXT NOT NULL, message INTEGER, turn TEXT) STRICT""",
    "CREATE INDEX runs_by_job ON runs (job, id)",
    "CREATE INDEX runs_by_message ON runs (message)",
    "CREATE INDEX runs_by_turn ON runs (turn)",
)

_UNREADABLE = (
    # Whole, as bytes, for unreadable content may not be text; nothing removes it.
    """CREATE TABLE unreadable (
        id INTEGER PRIMARY KEY AUTOINCREMENT, reason TEXT NOT NULL, row INTEGER NOT NULL, content BLOB NOT NULL,
        beside BLOB NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL) STRICT""",
)

_QUARANTINE = ("ALTER TABLE unreadable RENAME TO quarantine",)

STEPS = (_FIRST, _CHANGES, _DOOR, _SPENDING, _JOBS, _UNREADABLE, _QUARANTINE)
"""The additions of each version to the one before, in order; a released step is never edited."""
VERSION = len(STEPS)
"""Stored as the database's `user_version`."""


def open_database(path: Path) -> sqlite3.Connection:
    """Open the state at *path*, created if absent, for the calling thread.

    Raises StoreError for a file that is damaged, from a newer version or not ours, and leaves it untouched.
    """
    try:
        _make_file(path)
        _inspect(path)
        return _connect(path)
    except (sqlite3.Error, OSError) as exc:
        raise describe_error(path, exc, is_retried=False) from exc
    except UnicodeDecodeError as exc:  # SQLite's message quotes content that is not text
        raise describe_error(path, _damage("its description of itself cannot be read")) from exc


def stored_format(path: Path) -> int:
    """Return the format of the state at *path*; 0 if there is none. Raises StoreError."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return _version(connection)
    except sqlite3.Error as exc:
        raise describe_error(path, exc, is_retried=False) from exc


def _make_file(path: Path) -> None:
    """Create an empty file that only its owner may read (SQLite gives its companion files the same mode), durably."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    sync_folder(path.parent)


def _inspect(path: Path) -> None:
    """Inspect the file through a read-only handle."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        version = _version(connection)
        if version > VERSION:
            raise StoreError(
                f"{path} was written by a newer version (format {version}, this version knows {VERSION}) and was left "
                "as it is; install that version again, or restore a backup made by this one"
            )
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            raise StoreError(f"{path} is not Strandline's state but another program's; move it away")
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise _damage(found.splitlines()[-1])
    finally:
        connection.close()


CACHE_KB = 512
"""Size of the page cache. SQLite's own 2 MB fill over 2,000 messages, and those pages are not read again."""


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # each commit is on disk before it is acknowledged
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    _upgrade(connection)
    return connection


def _upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade an older database, or an empty one, to this version: wholly or not at all."""
    version = _version(connection)
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for step in STEPS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _damage(found: str) -> sqlite3.DatabaseError:
    damage = sqlite3.DatabaseError(found)
    damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return damage
