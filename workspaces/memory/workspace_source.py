"""Documents of a workspace: `MEMORY.md` and everything in `memory/`."""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path, PurePosixPath

from workspaces.access import PRIVATE, Scope, is_attachment, scope_of
from workspaces.errors import BadPathError, FileBusyError, NoSuchFileError, TooLargeError
from workspaces.files import Folder
from workspaces.folder_entries import FoundFile
from workspaces.house import HouseFolders
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import Document, UnreadableDocumentError
from workspaces.paths import DEPTH, KNOWN_PATHS
from workspaces.secrets import redact

LARGEST_NOTE = 1024 * 1024
"""In bytes: about 300 days of busy notes in one file; a larger file is not a note."""
FRESH_NS = 50_000_000
"""Age up to which a file may change again with the same timestamp: file systems count in ticks of 4–10 ms."""

OthersLines = Callable[[PurePosixPath, str], Sequence[int]]
"""Returns the lines of a file with a text, from 1, that hold others' words."""
_DAY = lazy_pattern(r"((?:19|20)\d{2}-\d{2}-\d{2})(?:-.*)?\.md", re.DOTALL)
"""The years that a text names too: at the ends of the calendar there is no day before, or after."""


class WorkspaceNotes:
    """The `Source` of an agent's own notes; each note's audience is decided by its path."""

    def __init__(
        self,
        folder: Folder,
        now_ns: Callable[[], int] = time.time_ns,
        others_lines: OthersLines = lambda *_: (),
        house: HouseFolders | None = None,
    ) -> None:
        """*others_lines* returns the lines of a file, from 1, that hold others' words; *house* folders stay here."""
        self._others_lines = others_lines
        self._house = house or HouseFolders()
        self._folder = folder
        self._now_ns = now_ns

    def stamps(self) -> dict[str, str]:
        """Return inode, size and change time of each note by path, the smallest first: it is soon indexed."""
        now, notes = self._now_ns(), (found for found in self._folder.walk() if is_note(found.path))
        return {str(found.path): _stamp(found, now) for found in sorted(notes, key=lambda found: found.size)}

    def read(self, path: str) -> Document | None:
        """Return the note, or `None` if it is gone. Raises UnreadableDocumentError with the reason."""
        place = PurePosixPath(path)
        try:
            data = self._folder.read(place).data
        except (FileBusyError, TooLargeError) as exc:
            raise UnreadableDocumentError(str(exc)) from exc
        except (NoSuchFileError, BadPathError):
            return None
        text = _text(data)
        others = self._others_lines(place, text) if scope_of(place) == PRIVATE else range(1, text.count("\n") + 2)
        return document_of(place, redact(text), others, self._house)

    def may_hold_house(self, path: str) -> bool:
        """Tell whether the note at *path* may hold a line that stays on the owner's machines."""
        try:
            return (
                self._house.hold(PurePosixPath(path)) or b"house" in self._folder.read(PurePosixPath(path)).data.lower()
            )
        except (NoSuchFileError, BadPathError, TooLargeError):
            return False

    def audience(self, path: str) -> Scope | None:
        """Return the audience of the note at *path*; `None` if it is not a note's path."""
        return audience_of(path)


def note_folders(folder: Folder) -> list[Path]:
    """Return the folders of a workspace that may contain notes: itself, and `memory/` with all its subfolders."""
    found = [PurePosixPath()]
    waiting = [PurePosixPath("memory")]
    while waiting:
        place = waiting.pop()
        try:
            inside = folder.listing(place)
        except (NoSuchFileError, BadPathError):
            continue
        found.append(place)
        if len(place.parts) < DEPTH - 1:
            waiting += [place / entry.name for entry in inside if entry.is_folder]
    return [folder.root / place for place in found]


@lru_cache(KNOWN_PATHS)
def is_note(path: PurePosixPath) -> bool:
    """Tell whether the file at *path* is indexed: attachments never are, whatever their names."""
    if len(path.parts) == 1:
        return path.name.casefold() == "memory.md"
    return path.parts[:1] == ("memory",) and path.suffix == ".md" and not is_attachment(path)


def day_of(path: PurePosixPath) -> date | None:
    """Return the day in a note's name (`YYYY-MM-DD.md`, `YYYY-MM-DD-<slug>.md`), or `None`."""
    match = _DAY.fullmatch(path.name)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


@lru_cache(KNOWN_PATHS)
def audience_of(path: str) -> Scope | None:
    """Return the audience of the note at *path*; `None` if it is not a note's path."""
    place = PurePosixPath(path)
    return scope_of(place) if is_note(place) else None


def _stamp(found: FoundFile, now_ns: int) -> str:
    freshness = f"-at-{now_ns}" if now_ns - found.mtime_ns < FRESH_NS else ""
    return f"{found.inode}-{found.size}-{found.mtime_ns}{freshness}"


def _text(data: bytes) -> str:
    if len(data) > LARGEST_NOTE:
        raise UnreadableDocumentError(f"it has {len(data):,} bytes; notes of up to {LARGEST_NOTE:,} are indexed")
    if b"\0" in data:
        raise UnreadableDocumentError(
            "it is binary: it holds NUL bytes; an earlier version may be text: strandline history log"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise UnreadableDocumentError(f"it is not UTF-8 text (byte {exc.start:,})") from exc


def document_of(
    path: PurePosixPath, text: str, others: Sequence[int] = (), house: HouseFolders | None = None
) -> Document:
    """Return the note at *path* with the content *text*, whose lines *others*, from 1, hold others' words."""
    scope, day = scope_of(path), day_of(path)
    known = [str(tuple(others))] if others and scope == PRIVATE else []
    facts = "\0".join((str(path), scope, str(day), text, *known))
    digest, stays = hashlib.sha256(facts.encode()).hexdigest(), (house or HouseFolders()).lines(path, text)
    return Document(str(path), scope, text, day, digest, others=tuple(others), house=tuple(sorted(stays)))
