"""Takes a backup of a home as of one moment, with or without a running gateway."""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gateway.backup.archive import FORMAT, ArchiveWriter, Head, Progress, writing
from gateway.backup.encryption import encrypt
from gateway.backup.parts import BackupPart, parts_of
from gateway.backup.seal import key_of
from gateway.config import Config
from gateway.errors import BackupError, StrandlineError
from gateway.home import FOLDER_MODE, Home
from gateway.stores.disk import disk_trouble
from gateway.stores.sqlite.group_commit import describe_error
from gateway.stores.sqlite.schema import VERSION

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
    try:
        with FileLock(folder.with_name("backup.lock"), mode=0o600, blocking=False):
            shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
            folder.mkdir(mode=FOLDER_MODE)
            try:
                yield (
                    _take(home, folder)
                    if has_state and home.state_db.exists()
                    else Moment(None, _linked_transcripts(home, folder))
                )
            finally:
                shutil.rmtree(folder)
    except Timeout as exc:
        raise BackupError(f"another backup of {home.path} is in progress; wait until it is done") from exc


def _take(home: Home, folder: Path) -> Moment:
    try:
        with closing(_open_database(home.state_db)) as reader:
            transcripts = _begin_snapshot(home, folder, reader)
            return Moment(_copy_database(reader, folder / "state.db"), transcripts)
    except sqlite3.Error as exc:
        raise describe_error(home.state_db, exc) from exc
    except OSError as exc:
        raise disk_trouble(home.path, exc) from exc


def _linked_transcripts(home: Home, folder: Path) -> tuple[UnchangedFile, ...]:
    try:
        return _link_transcripts(home, folder)
    except OSError as exc:
        raise disk_trouble(home.path, exc) from exc


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


@dataclass(frozen=True, slots=True)
class BackupResult:
    file: Path
    bytes: int
    files: int
    agents: tuple[str, ...]
    left_out: tuple[str, ...]
    """Secrets, by the settings that name them: they must be restored by hand."""
    elsewhere: tuple[str, ...]
    """Data on another server, by the settings that name it: it needs its own backups."""


@dataclass(slots=True)
class _Progress:
    progress: Progress
    total: int
    done: int = 0

    def add(self, size: int) -> None:
        self.done += size
        self.progress(min(self.done, self.total), self.total)

    def all(self) -> None:
        self.progress(self.total, self.total)


def take_backup(home: Home, config: Config, target: Path, progress: Progress) -> BackupResult:
    """Write the whole state of the gateway of *home*, except its search index and secrets, to *target*.

    Raises BackupError, StoreError and HistoryUnusableError; in that case no file is left.
    """
    if not home.exists:
        raise StrandlineError(f"there is no home at {home.path}")
    parts = parts_of(home, config)
    if any(target.is_relative_to(part.root) for part in parts):
        raise BackupError(f"{target} lies among the files that are backed up; choose a place outside of them")
    head = Head(format=FORMAT, version=version("strandline"), state=VERSION, made_at=f"{datetime.now(UTC):%FT%TZ}")
    try:
        key = key_of(home)
        with held_moment(home, has_state=config.redis.url is None) as moment, writing(target, head, key) as writer:
            told = _Progress(progress, _size(parts, moment))
            _write_moment(writer, moment, told)
            for part in parts:
                with part.lock():
                    _write(writer, part.files(), told)
            told.all()
    except OSError as exc:
        raise disk_trouble(target, exc) from exc
    agents = sorted({name.split("/")[1] for name in writer.manifest.folders if name.startswith("agents/")})
    left_out = tuple(source.key for source in config.secret_sources())
    elsewhere = () if config.redis.url is None else ("redis.url",)
    return BackupResult(target, target.stat().st_size, len(writer.manifest.files), tuple(agents), left_out, elsewhere)


def take_encrypted(home: Home, config: Config, target: Path, progress: Progress) -> BackupResult:
    """Write a backup to *target* that only the key of *home* opens; raises what `take_backup` raises."""
    if target.exists():
        raise BackupError(f"{target} already exists; choose another name, or remove it first")
    plain = home.control_file.parent / "backup.plain"
    plain.unlink(missing_ok=True)  # left by a killed process
    try:
        taken = take_backup(home, config, plain, progress)
        encrypt(plain, target, key_of(home))
    finally:
        plain.unlink(missing_ok=True)
    return replace(taken, file=target, bytes=target.stat().st_size)


def _write_moment(writer: ArchiveWriter, moment: Moment, told: _Progress) -> None:
    if moment.state is not None:
        _write(writer, [("state.db", moment.state)], told)
    for each in moment.transcripts:
        with each.path.open("rb") as source:
            told.add(writer.file(each.name, source, limit=each.size))


def _write(writer: ArchiveWriter, files: Iterable[tuple[str, Path]], told: _Progress) -> None:
    for name, path in files:
        try:
            if path.is_dir():
                writer.folder(name, path.stat().st_mtime)
                continue
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as source:
                told.add(writer.file(name, source))
        except FileNotFoundError:  # deleted, or renamed by its writer, since its folder was listed
            continue


def _size(parts: Iterable[BackupPart], moment: Moment) -> int:
    state = [moment.state] if moment.state is not None else []
    files = [path for part in parts for _, path in part.files() if not path.is_dir()]
    return sum(_sizes([*state, *files])) + sum(each.size for each in moment.transcripts)


def _sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        try:
            yield path.stat().st_size
        except FileNotFoundError:
            continue
