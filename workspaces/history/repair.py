"""Repair of a history: removes a lock left by a crash, sets a damaged repository aside."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from workspaces.errors import HistoryUnusableError
from workspaces.files import Folder
from workspaces.history.messages import INITIAL, compose, subject_for
from workspaces.history.pending import Pending
from workspaces.history.tracked_files import Looks, differing

if TYPE_CHECKING:
    from workspaces.history.repository import Repository

T = TypeVar("T")

SET_ASIDE = ".damaged-"
"""Follows the name of a repository that was set aside, and precedes the time."""
DAMAGED_KEPT = 3
"""Damaged repositories kept beside the new one: each is as large as the history, and would fill up a disk that fails
repeatedly. Foreign repositories are never removed.
"""


class RepairReason(StrEnum):
    """Fault of a history."""

    DAMAGED = "history_damaged"
    FOREIGN = "history_foreign"
    STALE_LOCK = "history_stale_lock"


class Repair(Struct, frozen=True):
    """A completed repair, for `status`."""

    reason: RepairReason
    at: datetime
    kept_as: Path | None
    """Path of the repository set aside."""
    taken_over: bool
    """The new repository has the commits from before the damage; or nothing had to be set aside."""


class Mender:
    """Runs work on a repository as its only writer, and repairs the repository when that is the cause of a failure."""

    def __init__(self, repository: "Repository", folder: Folder, clock: Callable[[], datetime]) -> None:
        self._repository = repository
        self._folder = folder
        self._clock = clock
        self.repairs: list[Repair] = []
        self.has_begun = False
        """A new history was created from the files on disk."""
        self._pending: Pending | None = None

    def spare(self, pending: Pending) -> None:
        """Clear *pending* whenever a new history is created, and now if one was."""
        self._pending = pending
        if self.has_begun:
            pending.clear()

    def check(self) -> None:
        """Create the history if missing, and repair it."""
        with self._repository.locked():
            self._mend(self._repository.is_sound)

    def attempt(self, work: Callable[[], T], is_sound: Callable[[], bool] | None = None) -> T:
        """Return the result of *work*; if it fails on a repairable repository, repair it and retry once.

        Without *is_sound* the newest commit with all its texts has to be readable. Raises HistoryUnusableError for
        other causes (a full disk, a timeout), and leaves the repository unchanged.
        """
        with self._repository.locked():
            try:
                return work()
            except HistoryUnusableError:
                if not self._mend(is_sound or self._repository.is_sound):
                    raise
                return work()

    def _mend(self, is_sound: Callable[[], bool]) -> bool:
        """Return whether a fault was repaired."""
        if not self._repository.is_ours():
            self._begin(RepairReason.FOREIGN)
            return True
        left = self._repository.unlock()
        if left:
            self.repairs.append(Repair(RepairReason.STALE_LOCK, self._clock(), kept_as=None, taken_over=True))
        if not is_sound():
            self._begin(RepairReason.DAMAGED)
            return True
        return left > 0

    def _begin(self, reason: RepairReason) -> None:
        """Create a new history from the readable part of a damaged one and the files; only then set that aside."""
        at, path = self._clock(), self._repository.path
        fresh = self._repository.beside(".new")
        try:
            shutil.rmtree(fresh.path, ignore_errors=True)
            fresh.create(at)
            taken_over = reason is RepairReason.DAMAGED and fresh.salvage(self._repository)
            self._catch_up(fresh, at, taken_over=taken_over)
            kept_as = _set_aside(path, at)
            fresh.path.rename(path)
        except OSError as exc:
            raise HistoryUnusableError(f"no history can be begun in {path}: {exc.strerror}") from exc
        self.has_begun = True
        if self._pending is not None:
            self._pending.clear()
        if kept_as is not None:
            self.repairs.append(Repair(reason, at, kept_as, taken_over))
            for old in self._repository.ours_beside(SET_ASIDE)[:-DAMAGED_KEPT]:
                shutil.rmtree(old.path, ignore_errors=True)

    def _catch_up(self, fresh: "Repository", at: datetime, *, taken_over: bool) -> None:
        """Commit the present files."""
        known = fresh.files(fresh.head()) if taken_over else {}
        contents = differing(self._folder, known, fresh.id_of, Looks())
        if not taken_over or contents:
            subject = subject_for(fresh.acts(contents)) if taken_over else INITIAL
            fresh.commit(contents, compose(subject, None), at)


def _set_aside(path: Path, at: datetime) -> Path | None:
    """Rename *path* to include the time at which the damage was found, and return the new path."""
    if not path.is_symlink() and not path.exists():
        return None
    stamp = f"{path.name}{SET_ASIDE}{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (f"{stamp}{'' if number == 1 else f'-{number}'}" for number in range(1, 1000))
    target = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    path.rename(target)
    return target
