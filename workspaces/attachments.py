"""Storage of files that came with messages, beside the notes: each once, under a harmless name."""

import hashlib
import mimetypes
import unicodedata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from msgspec import Struct

from workspaces.access import Access, attachments_folder
from workspaces.errors import NoSuchFileError, TooLargeError
from workspaces.file_slot import PIECE
from workspaces.normal_form import normal_form
from workspaces.paths import clean_path
from workspaces.workspace import Workspace

_DIGITS = 16
"""Characters of the content's SHA-256 in a name: enough to rule out collisions within a chat."""
_LONGEST = 60
"""Longest part kept of the sender's file name, in characters; its extension is always kept."""
_KEPT = frozenset("._-()")


class DownloadedFile(Struct, frozen=True):
    """A downloaded file, not yet in the workspace."""

    place: Path
    name: str
    """Sanitised name."""
    size: int
    digest: str
    """SHA-256 of its content, in hex."""


def store(workspace: Workspace, access: Access, incoming: DownloadedFile) -> PurePosixPath:
    """Store *incoming* where only the turn's own audience reads it, and return its path; it may be there already.

    Raises TooLargeError over a quota, and WorkspaceUnusableError on an I/O error.
    """
    folder, mark = attachments_folder(access), incoming.digest[:_DIGITS]
    for name in _names(workspace, folder):
        if name.startswith(mark) and _holds(workspace, folder / name, access, incoming):
            return folder / name
    path = folder / f"{mark}-{incoming.name}"
    workspace.add(path, incoming.size, _pieces(incoming.place), access)
    return path


def is_content_of(path: PurePosixPath, digest: str) -> bool:
    """Tell whether the file that `store` put at *path* had the SHA-256 *digest*, in hex."""
    return path.name.partition("-")[0] == digest[:_DIGITS]


def cleaned_name(name: str, mime: str) -> str:
    """Return *name*, which is untrusted text, as one word of letters, digits and joining characters.

    Without a name it is `file`, with the extension of *mime*.
    """
    last = normal_form("NFC", name).replace("\\", "/").rpartition("/")[2]
    plain = "".join(char if _is_kept(char) else "_" for char in last.strip()).strip(".")
    stem, dot, ending = plain.rpartition(".")
    if not dot or not stem or len(ending) > 10:
        stem, ending = plain, (mimetypes.guess_extension(mime) or "").lstrip(".")
    short = _within(stem, _LONGEST).strip(".") or "file"
    return str(clean_path(f"{short}.{ending}" if ending else short))


def _is_kept(char: str) -> bool:
    return char.isalnum() or char in _KEPT or unicodedata.category(char) in {"Mn", "Mc"}


def _within(text: str, most: int) -> str:
    """Return the longest prefix of *text* within *most* characters and within a file name's 255 bytes in any script."""
    return text[:most].encode()[:180].decode(errors="ignore")


def _names(workspace: Workspace, folder: PurePosixPath) -> Iterable[str]:
    try:
        return [entry.name for entry in workspace.folder.listing(folder) if not entry.is_folder]
    except NoSuchFileError:
        return []


def _holds(workspace: Workspace, path: PurePosixPath, access: Access, incoming: DownloadedFile) -> bool:
    """Tell whether the file at *path* has the same content: an equal name proves nothing."""
    found = hashlib.sha256()
    try:
        for piece in workspace.pieces(path, access, incoming.size):
            found.update(piece)
    except (NoSuchFileError, TooLargeError):
        return False
    return found.hexdigest() == incoming.digest


def _pieces(place: Path) -> Iterable[bytes]:
    with place.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
