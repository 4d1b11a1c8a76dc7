"""An agent's workspace: a folder of Markdown files, of which each turn sees the part that its access allows."""

import difflib
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct, structs

from workspaces.access import (
    Access,
    AgentId,
    Locality,
    Scope,
    may_know,
    may_read,
    may_write,
    read_by,
    rights,
    scope_folder,
)
from workspaces.bulk import add_files, remove_files
from workspaces.errors import (
    EditError,
    FileChangedError,
    NoSuchFileError,
    NotTextError,
    TooLargeError,
    WorkspaceError,
    WorkspaceUnusableError,
)
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.file_errors import no_such_file
from workspaces.file_slot import Identity
from workspaces.files import DEFAULT_CAPS, FileCaps, Folder
from workspaces.find_once import only_place
from workspaces.folder_entries import FolderEntry, FoundFile, LeftOut
from workspaces.house import HouseFolders
from workspaces.house_files import HouseFiles
from workspaces.lazy_pattern import lazy_pattern
from workspaces.paths import clean_path
from workspaces.secrets import redact
from workspaces.starting_files import missing_files

_HERE = PurePosixPath()
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")
_LISTED = 500
"""Most names in a listing."""
_COMPARED_LINES = 2_000
"""Longest texts, in lines, that are compared: the time grows with the square."""
_SHOWN_DIFF_LINES = 40


class TextFile(Struct, frozen=True):
    """A text file as read: also the precondition of a later write."""

    path: PurePosixPath
    text: str
    """The requested lines, with their own line endings."""
    first_line: int
    """Number of the first of them, from 1."""
    total_lines: int
    """Number of lines in the whole file."""
    whole: str
    """The whole text without known secrets."""
    digest: str
    """SHA-256 of the whole file's bytes, in hex."""
    identity: Identity
    is_house: bool = False
    """`text` holds lines that stay on the owner's machines."""


class Listing(Struct, frozen=True):
    """A folder's names visible to a turn."""

    entries: tuple[FolderEntry, ...]
    omitted: int
    """Number of further names."""
    is_house: bool = False
    """Some of the names stay on the owner's machines."""


class Workspace:
    """One agent's files. Every method takes the turn's access; anything it does not allow looks absent.

    Raises NoSuchFileError and BadPathError for a path that leads nowhere, TooLargeError over a cap, NotTextError for
    content other than UTF-8 text, and WorkspaceUnusableError on an I/O error.
    """

    def __init__(self, folder: Folder, agent: AgentId, house: HouseFolders | None = None) -> None:
        """*house* names the folders whose files stay on the owner's machines."""
        self.folder = folder
        """All files, without an access check: only for index and history, which keep each file's scope."""
        self.agent = agent
        self.house = house or HouseFolders()
        self._house_files = HouseFiles(folder, self.house)

    @classmethod
    def create(cls, folder: Path, agent: AgentId, caps: FileCaps = DEFAULT_CAPS) -> "Workspace":
        """Create the folder (mode 0700) and every template file that is missing.

        A folder with files already belongs to a known person: it gets no `BOOTSTRAP.md`. A name that leads to no plain
        file is accepted, and left out.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise WorkspaceUnusableError(f"the workspace {folder} cannot be created: {exc.strerror}") from exc
        workspace = cls.open(folder, agent, caps)
        for file in missing_files(workspace.folder.names()):
            workspace.folder.write(PurePosixPath(file.name), file.read_bytes(), expected=None)
        return workspace

    @classmethod
    def open(
        cls,
        folder: Path,
        agent: AgentId,
        caps: FileCaps = DEFAULT_CAPS,
        checkpoint: Checkpoint = unchecked,
        house: HouseFolders | None = None,
    ) -> "Workspace":
        """Open a created workspace and remove files left half-written by a crash.

        Raises WorkspaceUnusableError, before any change, when the folder is missing, is not a folder, or cannot be read
        and written.
        """
        if not os.path.lexists(folder):
            raise WorkspaceUnusableError(
                f"there is no workspace at {folder}. Mount its disk, or name the place it was moved to (--home, or "
                "the agent's workspace in config.toml); `strandline init --yes` makes a new one"
            )
        if not folder.is_dir():
            raise WorkspaceUnusableError(f"the workspace {folder} is not a folder; move what is there, or name another")
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise WorkspaceUnusableError(f"the workspace {folder} cannot be read and written; fix its permissions")
        workspace = cls(Folder(folder, caps, checkpoint), agent, house)
        workspace.folder.sweep()
        return workspace

    def read(
        self, path: str | PurePosixPath, access: Access, first_line: int | None = None, lines: int | None = None
    ) -> TextFile:
        """Return the file, or *lines* of its lines from *first_line* on; lines beyond the end are omitted.

        A known secret that its owner wrote there by hand is redacted.
        """
        place = self._readable(path, access)
        content = self.folder.read(place)
        whole = redact(_text_of(content.data, place))
        stays = self.house.lines(place, whole)
        whole = self._house_files.shown(place, whole, access)
        every = _LINE.findall(whole)
        first = max(first_line or 1, 1)
        last = len(every) if lines is None else first - 1 + max(lines, 0)
        shown = "".join(every[first - 1 : last])
        is_house = access.reader is Locality.HERE and any(first <= each <= last for each in stays)
        return TextFile(place, shown, first, len(every), whole, content.digest, content.identity, is_house)

    def identity(self, path: str | PurePosixPath, access: Access) -> Identity | None:
        """Return the identity of the file at *path*; `None` if there is none that *access* may read."""
        with suppress(NoSuchFileError):
            if found := self.folder.found(self._readable(path, access)):
                return found.identity
        return None

    def pieces(self, path: str | PurePosixPath, access: Access, most: int) -> Generator[bytes, None, None]:
        """Yield the file, text or not, of at most *most* bytes, piece by piece."""
        yield from self.folder.pieces(self._readable(path, access), most)

    def add(self, path: PurePosixPath, size: int, pieces: Iterable[bytes], access: Access) -> None:
        """Create a file from *pieces*, *size* bytes in total. Raises FileChangedError if the path exists."""
        self.folder.add(self._writable(path, access), size, pieces)

    @property
    def caps(self) -> FileCaps:
        """The most that it may hold."""
        return self.folder.caps

    def count_files(self, access: Access) -> int:
        """Return the number of files that *access* may read."""
        return sum(access.agent == self.agent and may_read(access, found.path) for found in self.folder.walk())

    def add_all(self, files: Mapping[PurePosixPath, bytes], access: Access) -> dict[PurePosixPath, WorkspaceError]:
        """Create many *files*, durable once this returns; return why each that is not there was refused."""
        return add_files(self.folder, {self._writable(path, access): data for path, data in files.items()})

    def remove_all(self, digests: Mapping[str, str], access: Access) -> Sequence[PurePosixPath]:
        """Remove each file that still has its digest; return those that have another."""
        return remove_files(self.folder, {self._writable(path, access): each for path, each in digests.items()})

    def write(self, path: str | PurePosixPath, text: str, access: Access, expected: TextFile | None) -> TextFile:
        """Replace the file's text by *text* and return the new file.

        *expected* is the file as the writer read it; `None` stands for a file that does not exist. Raises
        FileChangedError with the difference if the present file is another.
        """
        place = self._writable(path, access)
        data = _bytes_of(self._house_files.kept(place, text, access), place)
        try:
            self.folder.write(place, data, expected.digest if expected else None)
        except FileChangedError as exc:
            raise (self._changed(place, expected, exc.current, access) if expected else exc) from exc
        written = self.read(place, read_by(access, Locality.HERE))
        return structs.replace(written, whole=self._house_files.shown(place, written.whole, access))

    def edit(
        self, path: str | PurePosixPath, old: str, new: str, access: Access, expected: TextFile | None = None
    ) -> TextFile:
        """Replace the only occurrence of *old* by *new* and return the new file.

        Every byte outside stays. Raises EditError when *old* occurs never or more than once, FileChangedError with the
        difference when the file is not *expected* any more.
        """
        place = self._writable(path, access)
        current = self.read(place, access)
        if expected is not None and expected.digest != current.digest:
            raise self._changed(place, expected, current.whole.encode(), access)
        return self.write(place, replace_once(current.whole, old, new, str(place)), access, current)

    def delete(self, path: str | PurePosixPath, access: Access, expected: TextFile) -> None:
        """Remove the file. Raises FileChangedError with the difference when it is not *expected* any more."""
        place = self._writable(path, access)
        if self._house_files.kept(place, "", access):  # the reader knows of no more
            self.write(place, "", access, expected)
            return
        try:
            self.folder.delete(place, expected.digest)
        except FileChangedError as exc:
            raise self._changed(place, expected, exc.current, access) from exc

    def present(self, path: str | PurePosixPath, access: Access) -> TextFile | None:
        """Return the present file; `None` if there is none that *access* may read."""
        try:
            return self.read(path, access)
        except NoSuchFileError:
            return None

    def obstacle(self, path: str | PurePosixPath, access: Access) -> LeftOut | None:
        """Return the entry that blocks a file that *access* may read at *path*, if any."""
        with suppress(NoSuchFileError):
            return self.folder.obstacle(self._readable(path, access))
        return None

    def compare(self, path: str | PurePosixPath, access: Access, expected: TextFile | None) -> TextFile | None:
        """Return the present file, `None` if there is none, for a change that is not made yet.

        Raises FileChangedError with the difference, as `edit` does, when another one was *expected*.
        """
        place, current = clean_path(str(path)), self.present(path, access)
        current = current and self.present(path, read_by(access, Locality.HERE))
        if expected is not None and (current is None or current.digest != expected.digest):
            raise self._changed(place, expected, current.whole.encode() if current else None, access)
        return current

    def withholds(self, path: str | PurePosixPath, access: Access) -> bool:
        """Tell whether the file at *path* holds text that *access* might read but for the mark `house`."""
        if access.reader is Locality.HERE:
            return False
        with suppress(WorkspaceError):
            return self.read(path, read_by(access, Locality.HERE)).is_house
        return False

    def holds_house(self, scopes: frozenset[Scope] | None = None) -> bool:
        """Tell whether any file, or any of *scopes*, holds text that stays on the owner's machines."""
        return self._house_files.any(scopes)

    def check(self, path: PurePosixPath, text: str) -> None:
        """Raise the errors of `write` for a *text* that can never be stored: NotTextError, TooLargeError."""
        if (size := len(_bytes_of(text, path))) > self.folder.caps.file_bytes:
            raise TooLargeError(f"{path}: {size:,} bytes; files of at most {self.folder.caps.file_bytes:,} are allowed")

    def append(self, path: str | PurePosixPath, lines: str, heading: str, access: Access) -> int:
        """Add *lines* at the end, below *heading* in a new file; return the first one's number, read back."""
        place = self._writable(path, access)
        _bytes_of(lines, place)
        return self.folder.append(place, lines, heading)

    def list(self, path: str | PurePosixPath, access: Access) -> Listing:
        """Return the entries of the folder at *path* that *access* may see; `.` is the workspace itself."""
        place = clean_path(str(path))
        if access.agent != self.agent:
            raise no_such_file(place)
        way = self._way_to_own(access)
        is_open = place == _HERE or place in way or may_read(access, place)
        if not is_open or self._house_files.hide(place, access):
            raise no_such_file(place)
        found = [each for each in self.folder.listing(place) if _is_visible(place / each.name, each, access, way)]
        known = [shown for entry in found if (shown := self._house_files.entry(place, entry, access))]
        outside = read_by(access, Locality.ELSEWHERE)
        is_house = any(self._house_files.entry(place, entry, outside) is None for entry in known[:_LISTED])
        return Listing(tuple(known[:_LISTED]), omitted=len(known[_LISTED:]), is_house=is_house)

    def files(self, access: Access) -> Sequence[FoundFile]:
        """Return every plain file that *access* may read, a folder's own before those of its folders."""
        if access.agent != self.agent:
            return []
        return [found for found in self.folder.walk() if may_read(access, found.path)]

    def _way_to_own(self, access: Access) -> frozenset[PurePosixPath]:
        """Return the folders above the notes of the turn's own chat: visible once those notes exist."""
        row = rights(access)
        if row.private or not row.own_scope:
            return frozenset()
        own = scope_folder(access.scope)
        return frozenset({own, *own.parents} - {_HERE}) if self.folder.holds_folder(own) else frozenset()

    def _readable(self, path: str | PurePosixPath, access: Access) -> PurePosixPath:
        place = clean_path(str(path))
        if access.agent != self.agent or not may_read(access, place) or self._house_files.hide(place, access):
            raise no_such_file(place)
        return place

    def _changed(
        self, place: PurePosixPath, expected: TextFile, current: bytes | None, access: Access
    ) -> FileChangedError:
        """Return the error for a write to a file that is not *expected* any more, with the difference."""
        if current is None:
            return FileChangedError(f"{place} was removed since it was read; nothing was written")
        now = self._house_files.shown(place, current.decode(errors="replace"), access)
        difference = _difference(expected.whole.splitlines(), now.splitlines())
        return FileChangedError(
            f"{place} changed since it was read; nothing was written. Read it again first. {difference}", current
        )

    def _writable(self, path: str | PurePosixPath, access: Access) -> PurePosixPath:
        place = clean_path(str(path))
        is_known = may_know(access.reader, is_house=self.house.hold(place))
        if access.agent != self.agent or not may_write(access, place) or not is_known:
            raise no_such_file(place)
        return place


def replace_once(text: str, old: str, new: str, name: str) -> str:
    """Return *text* with the only occurrence of *old* replaced; if all its line endings are CRLF, so are *new*'s."""
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        old, new = _crlf(old), _crlf(new)
    if old == new:
        raise EditError(f"{name}: the old text is {'the same as the new one' if old else 'empty'}")
    at = only_place(text, old, name)
    return text[:at] + new + text[at + len(old) :]


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _text_of(data: bytes, path: PurePosixPath) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        raise NotTextError(f"{path} is not UTF-8 text (byte {exc.start:,})") from exc
    if "\0" in text:
        raise NotTextError(f"{path} is not text: it holds NUL bytes")
    return text


def _bytes_of(text: str, path: PurePosixPath) -> bytes:
    if "\0" in text:
        raise NotTextError(f"{path}: a text with NUL characters is not stored")
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise NotTextError(f"{path}: the text is not valid Unicode (character {exc.start + 1:,})") from exc


def _difference(old: Sequence[str], new: Sequence[str]) -> str:
    if max(len(old), len(new)) > _COMPARED_LINES:
        return "It is too long to show the difference."
    diff = list(difflib.unified_diff(old, new, "as it was read", "as it is now", n=1, lineterm=""))
    shown = "\n".join(line[:300] for line in diff[:_SHOWN_DIFF_LINES])
    rest = f"\n… {len(diff) - _SHOWN_DIFF_LINES} more lines" if len(diff) > _SHOWN_DIFF_LINES else ""
    return f"The difference:\n{shown}{rest}"


def _is_visible(path: PurePosixPath, entry: FolderEntry, access: Access, way: frozenset[PurePosixPath]) -> bool:
    return may_read(access, path) or (entry.is_folder and path in way)
