"""Files of a workspace whose text stays, in part or as a whole, on the owner's machines."""

from contextlib import suppress
from pathlib import PurePosixPath

from msgspec import structs

from workspaces.access import Access, Locality, Scope, may_know, scope_of
from workspaces.errors import WorkspaceError
from workspaces.files import Folder
from workspaces.folder_entries import FolderEntry, FoundFile
from workspaces.house import HouseFolders, blanked, is_whole, restored

_LARGEST = 1024 * 1024
"""Bytes of a file that is looked through; only a larger one in a folder with the mark carries it."""


class HouseFiles:
    """What a reader may know of the files in *folder*, of which *house* names the folders with the mark."""

    def __init__(self, folder: Folder, house: HouseFolders) -> None:
        self._folder = folder
        self._house = house
        self._known: dict[PurePosixPath, tuple[tuple[int, int, int], bool]] = {}

    def shown(self, place: PurePosixPath, text: str, access: Access) -> str:
        """Return *text* of the file at *place* as *access* may know it; the other lines keep their numbers."""
        stays = self._house.lines(place, text)
        return text if may_know(access.reader, is_house=bool(stays)) else blanked(text, stays)

    def kept(self, place: PurePosixPath, text: str, access: Access) -> str:
        """Return *text*, to be written at *place*, with the lines there that its writer may not know."""
        if access.reader is Locality.HERE:
            return text
        present = self._text(place)
        stays = frozenset() if present is None else self._house.lines(place, present)
        return text if present is None else restored(present, text, stays)

    def hide(self, place: PurePosixPath, access: Access) -> bool:
        """Tell whether the very name at *place* is withheld from *access*: the mark covers the file, or its folder."""
        if access.reader is Locality.HERE:
            return False
        if self._house.hold(place):
            return True
        text = self._text(place) if place.suffix == ".md" else None
        return text is not None and is_whole(text)

    def entry(self, folder: PurePosixPath, entry: FolderEntry, access: Access) -> FolderEntry | None:
        """Return *entry* of *folder* as *access* may know it, with the size of that text; `None` if it may not."""
        place = folder / entry.name
        if access.reader is Locality.HERE:
            return entry
        if self.hide(place, access):
            return None
        text = None if entry.is_folder or entry.size > _LARGEST else self._text(place)
        shown = None if text is None else self.shown(place, text, access)
        return entry if shown is None or shown == text else structs.replace(entry, size=len(shown.encode()))

    def _text(self, place: PurePosixPath) -> str | None:
        with suppress(WorkspaceError, UnicodeDecodeError):
            return self._folder.read(place).data.decode()
        return None

    def any(self, scopes: frozenset[Scope] | None = None) -> bool:
        """Tell whether any file (of *scopes*) carries the mark; reads those that changed since the last call."""
        known = {found.path: (_facts(found), self._holds(found)) for found in self._folder.walk()}
        self._known = known
        return any(holds for path, (_, holds) in known.items() if scopes is None or scope_of(path) in scopes)

    def _holds(self, found: FoundFile) -> bool:
        known = self._known.get(found.path)
        if known is not None and known[0] == _facts(found):
            return known[1]
        if self._house.hold(found.path):
            return True
        text = self._text(found.path) if found.size <= _LARGEST else None
        return text is not None and bool(self._house.lines(found.path, text))


def _facts(found: FoundFile) -> tuple[int, int, int]:
    return found.inode, found.size, found.mtime_ns
