"""Durable directory entries and readable error messages, for every writer of durable files."""

import errno
import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from gateway.errors import StoreError

FULL = {errno.ENOSPC, errno.EDQUOT}
"""Numbers of the errors that free space mends."""
_PAGE = 65_536
"""Bytes: SQLite's largest page, and about what its shared memory grows by."""
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENOENT}


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable: syncing a new file alone does not preserve its name in a crash."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(place: Path, pieces: Iterable[bytes]) -> int:
    """Write *pieces* to a new file at *place*, completely or not at all, and return its size. Raises OSError."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = place.with_name(f"{place.name}.new")
    size = 0
    try:
        with os.fdopen(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for piece in pieces:
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(place)
    finally:
        staged.unlink(missing_ok=True)
    sync_folder(place.parent)
    return size


def remove_older(folder: Path, before: float, but: Collection[str] = ()) -> int:
    """Remove the files of *folder* last written *before* (seconds since 1970), except *but*; return their number."""
    removed = 0
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name not in but and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


def is_full(path: Path) -> bool:
    """Return whether the disk that holds *path* has no room for a page, which SQLite may call an I/O error."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < _PAGE
    return False


def disk_trouble(path: Path | str, exc: OSError, *, is_retried: bool = True) -> StoreError:
    """Return *exc*, raised for *path*, as a sentence with its remedy; it *is_retried* where the gateway tries again."""
    if exc.errno in FULL:
        then = "it continues automatically" if is_retried else "try again"
        told = f"the disk that holds {path} is full; nothing was stored. Free some space and {then}."
    elif exc.errno in _FORBIDDEN:
        told = f"{path} cannot be used ({exc.strerror}); check the path, its owner and its permissions."
    else:
        told = f"the disk that holds {path} fails ({exc}); nothing was stored. Check the disk."
    return StoreError(told)
