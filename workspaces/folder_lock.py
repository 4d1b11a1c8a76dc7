"""Exclusive locks on folders: each hangs on the folder itself, not on a file in it, and ends with its process."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 0.5
"""How long a lock is waited for: our choice, several times what a program takes to start."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class FolderLockedError(Exception):
    """Somebody else has locked the folder."""


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock *folder*, by whatever name it is reached, while the block runs; nothing is written.

    Raises FolderLockedError when it is locked, and OSError when it cannot be opened or locked.
    """
    handle = os.open(folder, _FOLDER)
    try:
        _lock_soon(handle)
        yield
    finally:
        os.close(handle)


def is_locked(folder: Path) -> bool:
    """Say whether anybody, this process too, has locked *folder*; of one that cannot be opened nobody can say so."""
    try:
        handle = os.open(folder, _FOLDER)
    except OSError:
        return False
    try:
        _lock(handle, fcntl.LOCK_SH)
    except FolderLockedError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(handle)


def _lock_soon(handle: int) -> None:
    """Lock exclusively; a lock of a process that was just killed may outlive it in a child that it was starting."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _lock(handle, fcntl.LOCK_EX)
        except FolderLockedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _lock(handle: int, kind: int) -> None:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise FolderLockedError from exc
