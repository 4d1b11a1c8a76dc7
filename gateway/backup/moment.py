"""A snapshot of a running gateway: state and transcripts as a power cut would have left them.

The two belong together: a transcript newer than the state contains turns whose numbers the state would assign again.
Nothing is committed while the snapshot is taken, which only lasts until the transcripts are linked.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import BackupError
from gateway.home import FOLDER_MODE, Home
from gateway.stores.disk import disk_trouble
from gateway.stores.sqlite.group_commit import describe_error

_PATIENCE_S = 30.0
"""Seconds to wait for the store's writer; its commits take milliseconds."""


@dataclass(frozen=True, slots=True)
class UnchangedFile:
    """A file of the snapshot."""

    name: str
    """Relative to the home, as of the snapshot."""
    path: Path
    size: int
    """Bytes in the snapshot; later additions do not belong to it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The files that must be from the same moment."""

    state: Path | None
    """A copy of the state's database; `None` if there is none."""
    transcripts: tuple[UnchangedFile, ...]


@contextmanager
def held_moment(home: Home, *, has_state: bool = True) -> Iterator[Moment]:
    """Yield a snapshot of *home*, kept in `run/backup` while the block runs; a gateway may be running.

    Without *has_state* its state is kept elsewhere: an old database in the home is not included.

    Raises BackupError if another backup is being made, StoreError if the state is damaged or the disk fails.
    """
    from filelock import FileLock, Timeout

    folder = home.control_file.parent / "backup"
    with ExitStack() as stack:
        try:
            stack.enter_context(FileLock(folder.with_name("backup.lock"), mode=0o600, blocking=False))
            shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
            folder.mkdir(mode=FOLDER_MODE)
        except Timeout as exc:
            raise BackupError(f"another backup of {home.path} is in progress; wait until it is done") from exc
        except OSError as exc:
            raise disk_trouble(home.path, exc, is_retried=False) from exc
        stack.callback(shutil.rmtree, folder)
        yield (
            _take(home, folder)
            if has_state and home.state_db.exists()
            else Moment(None, _linked_transcripts(home, folder))
        )


def _take(home: Home, folder: Path) -> Moment:
    try:
        with closing(_open_database(home.state_db)) as reader:
            transcripts = _begin_snapshot(home, folder, reader)
            return Moment(_copy_database(reader, folder / "state.db"), transcripts)
    except sqlite3.Error as exc:
        raise describe_error(home.state_db, exc, is_retried=False) from exc
    except OSError as exc:
        raise disk_trouble(home.path, exc, is_retried=False) from exc


def _linked_transcripts(home: Home, folder: Path) -> tuple[UnchangedFile, ...]:
    try:
        return _link_transcripts(home, folder)
    except OSError as exc:
        raise disk_trouble(home.path, exc, is_retried=False) from exc


def _begin_snapshot(home: Home, folder: Path, reader: sqlite3.Connection) -> tuple[UnchangedFile, ...]:
    """Begin *reader*'s view of the state, and link the transcripts, while nobody can commit."""
    with closing(_open_database(home.state_db)) as barrier:
        barrier.execute("BEGIN IMMEDIATE")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the view begins with the first read
        transcripts = _link_transcripts(home, folder)
        barrier.execute("ROLLBACK")
    return transcripts


def _open_database(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S, isolation_level=None)


def _copy_database(reader: sqlite3.Connection, target: Path) -> Path:
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        reader.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without companions
        damage = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise BackupError(
            f"the state is damaged ({damage.splitlines()[-1]}), so it was not backed up; keep older backups"
        )
    return target


def _link_transcripts(home: Home, folder: Path) -> tuple[UnchangedFile, ...]:
    """Hard-link every transcript: it may be archived, or a passage purged from it, while it is read."""
    found = (path for path in home.agents.glob("*/sessions/**/*.jsonl*") if not path.name.endswith(".new"))
    files = sorted(path for path in found if path.is_file() and not path.is_symlink())
    kept = []
    for number, path in enumerate(files):
        link = folder / str(number)
        os.link(path, link)
        kept.append(UnchangedFile(path.relative_to(home.path).as_posix(), link, link.stat().st_size))
    return tuple(kept)
