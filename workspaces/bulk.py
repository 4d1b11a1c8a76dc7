"""Many new files of a workspace at once: each appears whole or not at all, and all are durable at the end."""

import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import PurePosixPath

from workspaces.errors import BadPathError, FileChangedError, TooLargeError, WorkspaceError
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.file_errors import translated_errors
from workspaces.file_slot import FileSlot, names_in
from workspaces.files import Folder, Written
from workspaces.paths import fold
from workspaces.secrets import redact_bytes

SYNCS_ALL = sys.platform == "linux"
"""There `sync` returns when everything is on disk; elsewhere each file is made durable by itself."""
REMOVERS = 4
"""Threads that remove files. A disk frees the space of one file in milliseconds: measured on ext4, 3,000 files took 6 s
in one thread and 0.4 s in four."""
REMOVED_TOGETHER = 500
"""Files whose texts are held in memory until all of them are removed; our choice."""


@contextmanager
def durable_at_the_end(checkpoint: Checkpoint = unchecked) -> Iterator[None]:
    """Make everything that was written inside durable with one call."""
    try:
        yield
    finally:
        if SYNCS_ALL:
            checkpoint("file.sync", 0)
            os.sync()


def add_files(folder: Folder, files: Mapping[PurePosixPath, bytes]) -> dict[PurePosixPath, WorkspaceError]:
    """Create *files*; return why each of those that are not there was refused. No file is replaced.

    Raises WorkspaceUnusableError; files created until then stay.
    """
    refused: dict[PurePosixPath, WorkspaceError] = {}
    with folder.resting(), durable_at_the_end(folder.checkpoint):
        for parent, paths in groupby(sorted(files), lambda path: path.parent):
            group = {path: redact_bytes(files[path]) for path in paths}
            try:
                with translated_errors(parent, writing=True), folder.opened(parent, create=True) as handle:
                    refused |= _add_to(folder, handle, group)
            except BadPathError as exc:
                refused |= dict.fromkeys(group, exc)
            folder.remove_empty([parent, *parent.parents])
    return refused


def _add_to(folder: Folder, handle: int, group: Mapping[PurePosixPath, bytes]) -> dict[PurePosixPath, WorkspaceError]:
    """Create the files of one open folder, whose names are listed once."""
    refused: dict[PurePosixPath, WorkspaceError] = {}
    present = {fold(name): name for name in names_in(handle)}
    for path, data in group.items():
        try:
            _add(folder, handle, path, data, present)
        except (BadPathError, FileChangedError, TooLargeError) as exc:
            refused[path] = exc
    return refused


def _add(folder: Folder, handle: int, path: PurePosixPath, data: bytes, present: dict[str, str]) -> None:
    if (twin := present.get(fold(path.name), path.name)) != path.name:
        raise BadPathError(f"{path}: {twin!r} exists and differs only in letter case or encoding; use that name")
    if len(data) > folder.caps.file_bytes:
        raise TooLargeError(f"{path}: {len(data):,} bytes; files of at most {folder.caps.file_bytes:,} are allowed")
    if len(present) >= folder.caps.names:
        raise TooLargeError(f"{path}: its folder already holds {len(present):,} files, the maximum")
    folder.usage.refuse_over(path, len(data), present=None)
    slot = _slot(folder, handle, path)
    slot.create([data])
    present[fold(path.name)] = path.name
    folder.changed(Written(path, None, data))
    slot.refuse_doubt()


def remove_files(folder: Folder, digests: Mapping[PurePosixPath, str]) -> list[PurePosixPath]:
    """Remove each file that still has its digest, and folders that become empty; return those that have another."""
    changed: list[PurePosixPath] = []
    with folder.resting(), durable_at_the_end(folder.checkpoint):
        for parent, paths in groupby(sorted(digests), lambda path: path.parent):
            rest = iter(paths)
            if not folder.holds_folder(parent):
                continue
            with translated_errors(parent, writing=True), folder.opened(parent) as handle:
                while some := list(islice(rest, REMOVED_TOGETHER)):
                    changed += _remove(folder, handle, {path: digests[path] for path in some})
            folder.remove_empty([parent, *parent.parents])
    return changed


def _remove(folder: Folder, handle: int, digests: Mapping[PurePosixPath, str]) -> Iterator[PurePosixPath]:
    """Remove the files of one open folder, several at a time; yield those that have changed."""
    slots = {path: _slot(folder, handle, path) for path in digests}
    with ThreadPoolExecutor(REMOVERS) as pool:
        removals = {path: pool.submit(slot.remove, digests[path]) for path, slot in slots.items()}
    faults = []
    for path, removal in removals.items():
        if isinstance(fault := removal.exception(), FileChangedError | BadPathError):
            yield path
        elif fault is not None:
            faults.append(fault)
        elif (before := removal.result()) is not None:
            folder.changed(Written(path, before, None))
            slots[path].refuse_doubt()
    if faults:
        raise faults[0]


def _slot(folder: Folder, handle: int, path: PurePosixPath) -> FileSlot:
    return FileSlot(handle, path.name, path, folder.caps.file_bytes, folder.checkpoint, is_durable=not SYNCS_ALL)
