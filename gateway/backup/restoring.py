"""This file makes a home of a backup: wholly or not at all, and never over anything that is there."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.backup.archive import HEAD, MANIFEST, Digesting, FileDigest, Manifest, check, reading
from gateway.backup.parts import OUTSIDE, outside_workspaces
from gateway.backup.taking import Progress
from gateway.config.reading import parse_config
from gateway.config.schema import Config
from gateway.errors import BackupError
from gateway.home import FILE_MODE, FOLDER_MODE, Home
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.sqlite.schema import VERSION

_FRESH = ".restoring"
"""Where in the home the files lie until all of them are there."""
_NOT_OURS = {"lost+found"}
"""What an empty disk has."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that was restored."""

    home: Path
    files: int
    made_at: str
    version: str
    """Of the program that made the backup."""
    secrets: tuple[str, ...]
    """Settings whose secrets are not there: they are never part of a backup."""


def restore_backup(file: Path, home: Home, environ: Mapping[str, str], progress: Progress) -> Restored:
    """Make *home* as it was when *file* was made; the index comes back from the files at the next start.

    Raises BackupError for another format, a changed byte, a home or an outside workspace that is not empty:
    before anything is written. Raises HomeLockedError, and ConfigError for settings that this version does not know.
    """
    head = check(file)
    if head.state > VERSION:
        raise BackupError(
            f"{file} was made by Strandline {head.version}, whose state this version cannot read: restore it with "
            "that version, or a newer one"
        )
    _refuse_unless_empty(home)
    with home.lock("strandline restore"):
        fresh = home.path / _FRESH
        try:
            manifest = _unpack(file, fresh, progress)
            config = _config(fresh, home)
            _put_in_place(fresh, home, config)
        except OSError as exc:
            raise disk_trouble(home.path, exc) from exc
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return Restored(home.path, len(manifest.files), head.made_at, head.version, _missing(config, environ))


def _refuse_unless_empty(home: Home) -> None:
    """Nothing may be there but what an attempt to restore, or an empty disk, brings along."""
    try:
        found = {path.name for path in home.path.iterdir()} - _NOT_OURS - {"run"}
        if not any(home.agents.iterdir() if home.agents.is_dir() else ()):
            found -= {"agents"}
    except FileNotFoundError:
        return
    except OSError as exc:
        raise disk_trouble(home.path, exc) from exc
    if found == {_FRESH} or found == {_FRESH, "agents"}:
        raise BackupError(f"an earlier restore into {home.path} was cut off; remove that folder and restore again")
    if found:
        raise BackupError(
            f"{home.path} is not empty ({', '.join(sorted(found)[:5])}); a backup is restored into an empty home "
            "alone: choose another --home, or move this one away"
        )


# --- the files


def _unpack(file: Path, fresh: Path, progress: Progress) -> Manifest:
    """Write every file of the backup below *fresh*, and compare them to the manifest."""
    fresh.mkdir(mode=FOLDER_MODE)
    found = Manifest(files={}, folders=[])
    expected, total = None, file.stat().st_size
    with reading(file) as backup:
        for member, source in backup.members():
            target = fresh / member.name
            if member.name == MANIFEST and source is not None:
                expected = Manifest.model_validate_json(source.read())
            elif source is None:
                _make(target)
                found.folders.append(member.name)
            elif member.name != HEAD:
                found.files[member.name] = _write(target, source, member.mtime)
            progress(backup.position, total)
    if expected != found:
        raise BackupError(f"what came out of {file} is not what its manifest says; nothing was restored")
    return found


def _write(target: Path, source: Digesting, mtime: float) -> FileDigest:
    size = 0
    _make(target.parent)
    with _writing(target):
        out = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb")
    with out:
        while piece := source.read(_PIECE):
            with _writing(target):
                size += out.write(piece)
    os.utime(target, (mtime, mtime))
    return FileDigest(size=size, sha256=source.sha256.hexdigest())


def _make(folder: Path) -> None:
    """Make *folder* and what is missing above it, closed to others; `parents=True` would leave those open."""
    with _writing(folder):
        if not folder.is_dir():
            _make(folder.parent)
            folder.mkdir(mode=FOLDER_MODE)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise disk_trouble(target, exc) from exc


# --- their place


def _config(fresh: Path, home: Home) -> Config:
    file = fresh / "config.toml"
    text = file.read_text("utf-8") if file.exists() else ""
    return parse_config(text, home.config_file)


def _put_in_place(fresh: Path, home: Home, config: Config) -> None:
    """Move everything to where it belongs; the agents come last, for they make a folder a home."""
    outside = outside_workspaces(home, config)
    for agent, place in outside.items():
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BackupError(
                f"{place}, the workspace of agent {agent}, is not empty; move it away. Nothing was restored"
            )
    os.sync()
    for agent, place in outside.items():
        if (fresh / OUTSIDE / agent).exists():
            shutil.copytree(fresh / OUTSIDE / agent, place, dirs_exist_ok=True)
    shutil.rmtree(fresh / OUTSIDE, ignore_errors=True)
    for path in sorted(fresh.iterdir(), key=lambda path: (path.name == home.agents.name, path.name)):
        path.rename(home.path / path.name)
    sync_folder(home.path)


def _missing(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    from gateway.config.secrets import SecretSource
    from gateway.errors import ConfigError

    def is_there(source: SecretSource) -> bool:
        try:
            return bool(source.read(environ))
        except ConfigError:
            return False

    return tuple(source.key for source in config.secret_sources() if not is_there(source))
