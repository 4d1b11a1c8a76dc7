"""Selection of the workspace files with history: texts of a sensible size, and no attachments."""

import re
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath

from workspaces.access import is_attachment
from workspaces.errors import NoSuchFileError, TooLargeError
from workspaces.files import Folder
from workspaces.folder_entries import FoundFile
from workspaces.lazy_pattern import lazy_pattern
from workspaces.secrets import redact_bytes

KEPT_BYTES = 1024 * 1024
"""Largest text with history; a larger file is not a note (our default)."""
_SETTLED_NS = 50_000_000
"""Longest tick of file timestamps, 4–10 ms, with a margin."""
_REFUSED_NAME = lazy_pattern(r"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE)
"""Names that git refuses in trees, because some file system reads them as `.git`."""


class Looks:
    """Cache of the last scans of a workspace: a file with the same stamp is not read again."""

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns = now_ns
        self._ids: dict[PurePosixPath, tuple[FoundFile, str]] = {}

    def id_of(self, found: FoundFile) -> str | None:
        """Return the id of the file when it was last read, if unchanged; `None` if it must be read."""
        seen, known = self._ids.get(found.path, (None, None))
        return known if seen == found else None

    def remember(self, found: FoundFile, content: str) -> None:
        """Remember a file that was read; one that just changed may change again with the same timestamp."""
        if self._now_ns() - found.mtime_ns > _SETTLED_NS:
            self._ids[found.path] = found, content

    def keep(self, paths: Collection[PurePosixPath]) -> None:
        """Forget all files except *paths*: the others are gone."""
        for path in self._ids.keys() - paths:
            del self._ids[path]


def tracked_content(folder: Folder, path: PurePosixPath) -> bytes | None:
    """Return the content of the file at *path*; `None` for a missing file, or one without history."""
    if not _is_kept_name(path):
        return None
    try:
        return tracked_text(path, folder.read(path).data)
    except (NoSuchFileError, TooLargeError):
        return None


def tracked_text(path: PurePosixPath, data: bytes | None) -> bytes | None:
    """Return *data*, a version of the file at *path*, if it has history: without known secrets."""
    if data is None or not _is_kept_name(path):
        return None
    return redact_bytes(data) if len(data) <= KEPT_BYTES and _is_text(data) else None


def differing(
    folder: Folder, known: Mapping[PurePosixPath, str], id_of: Callable[[bytes], str], looks: Looks
) -> dict[PurePosixPath, bytes | None]:
    """Return the content of every file whose id differs from the *known* one; `None` for a deleted one.

    A file that is left out for its second name counts as unchanged, not as deleted.
    """
    differ: dict[PurePosixPath, bytes | None] = dict.fromkeys(known)
    there = set()
    for found in folder.walk():
        path = found.path
        there.add(path)
        if found.size > KEPT_BYTES:
            continue
        if path in known and looks.id_of(found) == known[path]:
            del differ[path]
        elif (data := tracked_content(folder, path)) is not None:
            looks.remember(found, content := id_of(data))
            if known.get(path) == content:
                del differ[path]
            else:
                differ[path] = data
    looks.keep(there)
    return {path: data for path, data in differ.items() if data is not None or folder.obstacle(path) is None}


def _is_kept_name(path: PurePosixPath) -> bool:
    return not is_attachment(path) and not any(map(_REFUSED_NAME.fullmatch, path.parts))


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
