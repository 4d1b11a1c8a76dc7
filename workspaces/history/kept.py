"""This file says which files of a workspace its history keeps: texts of a sensible size, and no attachments."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from workspaces.errors import NoSuchFileError, TooLargeError
from workspaces.files import Folder
from workspaces.paths import fold

KEPT_BYTES = 1024 * 1024
"""Largest text whose versions are kept; a larger file is no note (our default)."""
_LEFT_OUT = "attachments"
_REFUSED_NAME = re.compile(r"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE)
"""Names that git takes into no tree, because some file system reads them as `.git`."""


def kept_content(folder: Folder, path: PurePosixPath) -> bytes | None:
    """Return the content of the file at *path*; `None` where no file is, or none that is kept."""
    if [fold(part) for part in path.parts[:1]] == [_LEFT_OUT] or any(map(_REFUSED_NAME.fullmatch, path.parts)):
        return None
    try:
        data = folder.read(path).data
    except (NoSuchFileError, TooLargeError):
        return None
    return data if len(data) <= KEPT_BYTES and _is_text(data) else None


def kept_contents(folder: Folder) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield every file that is kept."""
    for found in folder.walk():
        if found.size <= KEPT_BYTES and (data := kept_content(folder, found.path)) is not None:
            yield found.path, data


def differing(
    folder: Folder, known: Mapping[PurePosixPath, str], id_of: Callable[[bytes], str | None]
) -> dict[PurePosixPath, bytes | None]:
    """Return the content of every file whose id is not the *known* one; `None` for what is no more."""
    found: dict[PurePosixPath, bytes | None] = dict.fromkeys(known)
    for path, data in kept_contents(folder):
        if known.get(path) == id_of(data):
            del found[path]
        else:
            found[path] = data
    return found


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
