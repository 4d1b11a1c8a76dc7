"""Takes a backup of a home, with or without a running gateway."""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct, structs

from gateway.backup.archive import FORMAT, ArchiveWriter, Head, Progress, refuse_existing, writing
from gateway.backup.encryption import encrypt
from gateway.backup.moment import Moment, held_moment
from gateway.backup.parts import BackupPart, parts_of
from gateway.backup.seal import BackupKey, key_of
from gateway.config import Config
from gateway.errors import BackupError
from gateway.home import Home
from gateway.stores.disk import disk_trouble
from gateway.stores.sqlite.schema import VERSION


class BackupResult(Struct, frozen=True):
    file: Path
    bytes: int
    files: int
    agents: tuple[str, ...]
    left_out: tuple[str, ...]
    """Secrets, by the settings that name them: they must be restored by hand."""
    elsewhere: tuple[str, ...]
    """Data on another server, by the settings that name it: it needs its own backups."""


class _Progress(Struct):
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
    parts = parts_of(home, config)
    if any(target.is_relative_to(part.root) for part in parts):
        raise BackupError(f"{target} lies among the files that are backed up; choose a place outside of them")
    head = Head(format=FORMAT, version=version("strandline"), state=VERSION, made_at=f"{datetime.now(UTC):%FT%TZ}")
    key = _key(home)
    try:
        with held_moment(home, has_state=config.redis.url is None) as moment, writing(target, head, key) as writer:
            told = _Progress(progress, _size(parts, moment))
            _write_moment(writer, moment, told)
            for part in parts:
                with part.lock():
                    _write(writer, part.files(), told)
            told.all()
    except OSError as exc:
        raise disk_trouble(target, exc, is_retried=False) from exc
    agents = sorted({name.split("/")[1] for name in writer.manifest.folders if name.startswith("agents/")})
    left_out = tuple(source.key for source in config.secret_sources())
    elsewhere = () if config.redis.url is None else ("redis.url",)
    return BackupResult(target, target.stat().st_size, len(writer.manifest.files), tuple(agents), left_out, elsewhere)


def take_encrypted(home: Home, config: Config, target: Path, progress: Progress) -> BackupResult:
    """Write a backup to *target* that only the key of *home* opens; raises what `take_backup` raises."""
    refuse_existing(target)
    plain = home.control_file.parent / "backup.plain"
    plain.unlink(missing_ok=True)  # left by a killed process
    try:
        taken = take_backup(home, config, plain, progress)
        encrypt(plain, target, _key(home))
    finally:
        plain.unlink(missing_ok=True)
    return structs.replace(taken, file=target, bytes=target.stat().st_size)


def _key(home: Home) -> BackupKey:
    try:
        return key_of(home)
    except OSError as exc:
        raise disk_trouble(home.path, exc, is_retried=False) from exc


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
