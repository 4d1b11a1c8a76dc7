"""Restoring: a home is created from a backup completely or not at all, never over existing files, with its code
disabled."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from gateway.admission.sign_in import STORED_AS as SIGN_INS
from gateway.backup.archive import FileDigest, Progress
from gateway.backup.contents import examine, reading
from gateway.backup.members import (
    CONFIG,
    HEAD,
    MANIFEST,
    NO_LIMITS,
    OUTSIDE,
    STATE,
    ArchiveLimits,
    ArchiveMember,
    MemberReader,
)
from gateway.backup.plan import RestorePlan, missing_secrets, plan_restore, workspace_in
from gateway.backup.seal import KEY_NAME, SealState, read_key
from gateway.errors import BackupError
from gateway.home import DISABLED_CODE, FILE_MODE, FOLDER_MODE, Home
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.sqlite.schema import VERSION

_FRESH = ".restoring"
"""Folder in the home that holds the files until all of them are there."""
_NOT_OURS = {"lost+found"}
"""Present on an empty disk."""
_PIECE = 1 << 20


class RestoreException(StrEnum):
    """Restore steps that need the owner's permission."""

    OUTSIDE = "outside"
    """Write workspaces to the places of the backup's configuration, even outside of the home."""
    UNSEALED = "unsealed"
    """Restore a backup without this home's seal although a key to check it exists."""
    LARGE = "large"
    """Unpack more than the limits."""


Allowed = Collection[RestoreException]


class RestoredBackup(Struct, frozen=True):
    home: Path
    files: int
    made_at: str
    version: str
    """Version of the program that made the backup."""
    secrets: tuple[str, ...]
    """Settings whose secrets are missing: they are never part of a backup."""
    seal: SealState
    disabled: tuple[str, ...]
    """Hooks and commands disabled until the owner enables them."""


def examine_restore(file: Path, home: Home, allowed: Allowed, progress: Progress) -> RestorePlan:
    """Return the effects of restoring *file* to *home*, writing nothing.

    Raises BackupError for a file that is not a complete backup, ConfigError for settings that this version does not
    know.
    """
    contents = examine(file, read_key(home.path / KEY_NAME), _limits(allowed), progress)
    if contents.head.state > VERSION:
        raise BackupError(
            f"{file} was made by Strandline {contents.head.version}, whose state this version cannot read: restore it "
            "with that version, or a newer one"
        )
    return plan_restore(contents, home, outside=RestoreException.OUTSIDE in allowed)


def restore_backup(
    file: Path, home: Home, environ: Mapping[str, str], progress: Progress, allowed: Allowed = ()
) -> RestoredBackup:
    """Restore *home* from *file*; the index is rebuilt from the files at the next start.

    Hooks and commands of tool servers are included but disabled. Raises BackupError for another format, a changed byte,
    a wrong seal, a home or an outside workspace that is not empty: before anything is written. Raises HomeLockedError,
    and ConfigError for settings that this version does not know.
    """
    plan = examine_restore(file, home, allowed, lambda done, total: progress(done, 2 * total))
    if RestoreException.UNSEALED not in allowed and (home.path / KEY_NAME).exists():
        _refuse_other_seal(file, plan.contents.seal)
    _refuse_unless_empty(home)
    _refuse_unless_it_fits(home, plan.contents.size)
    outside = plan.outside if RestoreException.OUTSIDE in allowed else {}
    _refuse_if_taken(outside)
    with home.lock("strandline restore"):
        fresh = home.path / _FRESH
        try:
            _unpack(file, fresh, plan, _limits(allowed), lambda done, total: progress(total + done, 2 * total))
            _disarm(fresh, plan)
            _put_in_place(fresh, home, outside)
        except OSError as exc:
            raise disk_trouble(home.path, exc) from exc
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    head = plan.contents.head
    missing = missing_secrets(plan.settings, environ)
    return RestoredBackup(
        home.path, len(plan.contents.files), head.made_at, head.version, missing, plan.contents.seal, plan.code
    )


def _limits(allowed: Allowed) -> ArchiveLimits:
    return NO_LIMITS if RestoreException.LARGE in allowed else ArchiveLimits()


# --- refusals


def _refuse_other_seal(file: Path, seal: SealState) -> None:
    if seal is not SealState.VALID:
        raise BackupError(
            f"{file} is not sealed with the key of this home: another home made it, or somebody changed it. If you "
            "know where it comes from, add --allow unsealed; nothing was restored"
        )


def _refuse_unless_empty(home: Home) -> None:
    """Require an empty home, except for the traces of an attempted restore or an empty disk, and a key."""
    try:
        found = {path.name for path in home.path.iterdir()} - _NOT_OURS - {"run", KEY_NAME}
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
            f"{home.path} is not empty ({', '.join(sorted(found)[:5])}); a backup is restored only into an empty "
            "home: choose another --home, or move this one away (strandline verify shows what it would lose)"
        )


def _refuse_unless_it_fits(home: Home, size: int) -> None:
    place = next(folder for folder in (home.path, *home.path.parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    if size > free:
        raise BackupError(f"the backup unpacks to {size:,} bytes, and {place} has {free:,} free; nothing was restored")


def _refuse_if_taken(outside: Mapping[str, Path]) -> None:
    for agent, place in outside.items():
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BackupError(
                f"{place}, the workspace of agent {agent}, is not empty; move it away. Nothing was restored"
            )


# --- the files


def _unpack(file: Path, fresh: Path, plan: RestorePlan, limits: ArchiveLimits, progress: Progress) -> None:
    """Write every file of the backup below *fresh*; each must match the plan."""
    fresh.mkdir(mode=FOLDER_MODE)
    total, expected = file.stat().st_size, dict(plan.contents.files)
    with reading(file, limits) as backup:
        for member in backup.members():
            if member.is_folder:
                _make(fresh / member.name)
            elif member.name not in {HEAD, MANIFEST} and _write(fresh, member, backup) != expected.pop(
                member.name, None
            ):
                raise BackupError(f"{file} changed while it was read; nothing was restored")
            progress(min(backup.packed.tell(), total), total)
    if expected:
        raise BackupError(f"{file} changed while it was read; nothing was restored")


def _write(fresh: Path, member: ArchiveMember, source: MemberReader) -> FileDigest:
    target, digest, size = fresh / member.name, hashlib.sha256(), 0
    _make(target.parent)
    with _writing(target):
        out = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE), "wb")
    with out:
        while piece := source.read(_PIECE):
            digest.update(piece)
            with _writing(target):
                size += out.write(piece)
    os.utime(target, (member.mtime, member.mtime))
    return FileDigest(size=size, sha256=digest.hexdigest())


def _make(folder: Path) -> None:
    """Make *folder* and its missing parents, closed to others; `parents=True` would leave those open."""
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


# --- code and logins that a backup must not bring to life


def _disarm(fresh: Path, plan: RestorePlan) -> None:
    from workspaces.history.disarm import disarm

    for repository in fresh.glob("*/*/history.git*"):
        if repository.is_dir():
            disarm(repository)
    if plan.config != plan.contents.config:
        (fresh / CONFIG).unlink()
        Home(fresh).write(fresh / CONFIG, plan.config)
    if plan.code:
        told = {"restored_from_backup_of": plan.contents.head.made_at, "disabled": plan.code}
        Home(fresh).write(fresh / DISABLED_CODE, json.dumps(told, indent=2))
    if (fresh / STATE).exists():
        _check_state(fresh / STATE, plan.contents.seal)


def _check_state(state: Path, seal: SealState) -> None:
    """Reject a database that acts by itself; sign out all browsers if somebody else may have written it."""
    try:
        with closing(sqlite3.connect(f"{state.as_uri()}?mode=rw", uri=True)) as db, db:
            acting = db.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
            if acting:
                raise BackupError(f"the backup's state holds {acting[0][0]!r}, which no state of Strandline has")
            if seal is not SealState.VALID:
                db.execute("DELETE FROM kv WHERE key = ?", (SIGN_INS,))
    except sqlite3.Error as exc:
        raise BackupError(f"the backup's state cannot be used ({exc}); nothing was restored") from exc


# --- final places


def _put_in_place(fresh: Path, home: Home, outside: Mapping[str, Path]) -> None:
    """Move everything into place; the files that disable code come first, the agents, which make a home, last."""
    os.sync()
    for kept in sorted((fresh / OUTSIDE).iterdir() if (fresh / OUTSIDE).is_dir() else ()):
        _place_workspace(kept, workspace_in(Home(fresh), outside, kept.name))
    shutil.rmtree(fresh / OUTSIDE, ignore_errors=True)
    order = {DISABLED_CODE: 0, home.agents.name: 2}
    for path in sorted(fresh.iterdir(), key=lambda path: (order.get(path.name, 1), path.name)):
        path.rename(home.path / path.name)
    sync_folder(home.path)


def _place_workspace(kept: Path, place: Path) -> None:
    """Move a separately stored workspace into place; an older one there stays beside it."""
    if place.is_relative_to(kept.parents[1]):
        _make(place.parent)
        if place.exists():
            place.rename(place.with_name(f"{place.name}.before"))
        kept.rename(place)
    else:
        shutil.copytree(kept, place, dirs_exist_ok=True)
