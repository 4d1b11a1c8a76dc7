"""This file holds what every writer of durable files needs: lasting directory entries, and plain words for failures."""

import errno
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from gateway.errors import StoreError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENOENT}


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable: a new file's content alone does not bring its name back after a crash."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_older(folder: Path, before: float, but: Collection[str] = ()) -> int:
    """Remove the files of *folder* last written *before* (seconds since 1970), *but* for some; return how many."""
    removed = 0
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name not in but and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


def disk_trouble(path: Path, exc: OSError) -> StoreError:
    """Return *exc*, met while working on *path*, as a sentence that says how to mend it."""
    if exc.errno in _FULL:
        told = f"the disk that holds {path} is full; nothing was stored. Free some space and it goes on by itself."
    elif exc.errno in _FORBIDDEN:
        told = f"{path} cannot be used ({exc.strerror}); check the path, its owner and its permissions."
    else:
        told = f"the disk that holds {path} fails ({exc}); nothing was stored. Check the disk."
    return StoreError(told)
