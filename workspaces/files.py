"""Access to the files of a workspace: nothing else reads or writes there.

Every access walks from the handle of the workspace's folder, component by component, and follows no link.
"""

import os
import re
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import groupby, takewhile
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout
from msgspec import Struct, field

from workspaces.errors import (
    BadPathError,
    FileChangedError,
    NoSuchFileError,
    TooLargeError,
    WorkspaceUnusableError,
)
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.file_errors import no_such_file, translated_errors
from workspaces.file_slot import (
    FileContent,
    FileSlot,
    digest_of,
    facts_of,
    is_plain,
    names_in,
)
from workspaces.folder_entries import FolderEntry, FoundFile, LeftOut, entry_of, found_file, left_out_reason
from workspaces.lazy_pattern import lazy_pattern
from workspaces.paths import DEPTH, OWN_PREFIX, below, clean_path, fold, is_taken
from workspaces.secrets import redact, redact_bytes
from workspaces.usage import Quotas, StorageUsage

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEFT_OVER = lazy_pattern(re.escape(OWN_PREFIX) + r"[0-9a-f]{16}\.tmp")
_LOCK_TIMEOUT_S = 10.0
_APPEND_TRIES = 3


class FileCaps(Struct, frozen=True):
    """Size limits of a workspace; the defaults are ours."""

    file_bytes: int = 2 * 1024 * 1024
    """Largest file that is read or written."""
    names: int = 5_000
    """Most names in a folder before new files in it are refused."""
    quotas: Quotas = field(default_factory=Quotas)


DEFAULT_CAPS = FileCaps()


class Written(Struct, frozen=True):
    """A change made through a folder."""

    path: PurePosixPath
    before: bytes | None
    """The previous content; `None` for no file."""
    after: bytes | None


class WriteAttempt(Struct, frozen=True):
    """A change through a folder, or an attempt at one, that is over."""

    path: PurePosixPath


FolderEvent = Written | WriteAttempt | LeftOut | WorkspaceUnusableError
"""An event of a folder, on the thread that works with it: a change, while its lock still excludes other writers; the
end of each attempt; a name that would be read if it led to a plain file; a write that the system refused."""


class Folder:
    """The files below one folder, reached only through its handle.

    Writers of all processes take turns by a lock file beside the folder. Methods raise NoSuchFileError for a missing or
    unreadable file, BadPathError when anything but a plain file is in the way of a write, TooLargeError over a cap, and
    WorkspaceUnusableError on an I/O error (disk full, read-only, no permission); the file is then unchanged.
    """

    def __init__(self, root: Path, caps: FileCaps = DEFAULT_CAPS, checkpoint: Checkpoint = unchecked) -> None:
        """*checkpoint* is called at every durable step of a write."""
        self.root = root.resolve()
        self.caps = caps
        self.checkpoint = checkpoint
        try:
            self._handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as exc:
            raise WorkspaceUnusableError(f"the workspace {root} cannot be opened: {exc.strerror}") from exc
        self._release = weakref.finalize(self, os.close, self._handle)
        self._followers: list[Callable[[FolderEvent], None]] = []
        self.usage = StorageUsage(self.walk, caps.quotas)
        self._lock = FileLock(f"{self.root}.lock", timeout=_LOCK_TIMEOUT_S, poll_interval=0.002, mode=0o600)

    def follow(self, follower: Callable[[FolderEvent], None]) -> None:
        """Call *follower* with every event of work through this object from now on."""
        self._followers.append(follower)

    def _tell(self, event: FolderEvent) -> None:
        for follower in self._followers:
            follower(event)

    def close(self) -> None:
        """Release the handle; later accesses raise WorkspaceUnusableError."""
        self._handle = -1
        self._release()

    def read(self, path: PurePosixPath) -> FileContent:
        with translated_errors(path), self._place(path) as place:
            try:
                content = place.read()
            except BlockingIOError:  # our own writers may add to it without a pause
                with self.resting():
                    content = place.read()
        if content is None:
            if (obstacle := self.obstacle(path)) is not None:
                self._tell(obstacle)
            raise no_such_file(path)
        return content

    def obstacle(self, path: PurePosixPath) -> LeftOut | None:
        """Return the entry that blocks a file at *path*; `None` for nothing, a plain file and a folder."""
        with suppress(NoSuchFileError), translated_errors(path), self._place(path) as place:
            facts = facts_of(place.folder, place.name)
            return left_out_reason(path, facts) if facts is not None else None
        return None

    def found(self, path: PurePosixPath) -> FoundFile | None:
        """Return the plain file at *path* as `walk` yields it; `None` if there is none."""
        with translated_errors(path), self._place(path) as place:
            return _found(place.folder, path)

    def are_unchanged(self, files: Iterable[FoundFile]) -> bool:
        """Tell whether `found` still returns each of *files*; those of one folder are best together."""
        for path, found in groupby(files, lambda each: each.path.parent):
            with translated_errors(path), self.opened(path) as folder:
                if any(_found(folder, each.path) != each for each in found):
                    return False
        return True

    def write(self, path: PurePosixPath, data: bytes, expected: str | None) -> str:
        """Replace the file with digest *expected* by *data* and return the new digest.

        Atomic: a crash leaves the old file or the new one. `None` expects that there is no file yet. Raises
        FileChangedError, with the present content, when the expectation fails. Known secrets are not written.
        """
        data = redact_bytes(data)
        with self._changing(path) as place:
            self.usage.refuse_over(place.path, len(data), present=place.size())
            self.changed(Written(place.path, place.replace(data, expected), data))
        return digest_of(data)

    def pieces(self, path: PurePosixPath, most: int) -> Iterator[bytes]:
        """Yield the file, of at most *most* bytes, piece by piece: it may be larger than `read` allows."""
        with translated_errors(path), self._place(path) as place:
            yield from place.pieces(most)

    def add(self, path: PurePosixPath, size: int, pieces: Iterable[bytes]) -> None:
        """Create a file from *pieces*, *size* bytes in total, atomically. It is not recorded in the history.

        Raises FileChangedError if the path exists.
        """
        with self._changing(path) as place:
            self.usage.refuse_over(place.path, size, present=None)
            place.create(pieces)
            self.usage.changed(place.path, None, size)

    def append(self, path: PurePosixPath, lines: str, heading: str) -> int:
        """Append *lines*, which end with a line ending, and return the number, from 1, of the first one, read back.

        A new file begins with *heading*. Two processes that append at once lose nothing. Known secrets are not added.
        """
        lines = redact(lines)
        with self._changing(path) as place:
            present = place.size()
            more = len(lines.encode()) if present else len((heading + lines).encode())
            self.usage.refuse_over(place.path, (present or 0) + more, present=present)
            for _ in range(_APPEND_TRIES):
                if (added := place.append(lines, heading)) is not None:
                    self.changed(Written(place.path, added.before, added.after))
                    return added.line
        raise FileChangedError(f"{path} is being replaced by another program again and again; try later")

    def delete(self, path: PurePosixPath, expected: str) -> None:
        """Remove the file with digest *expected*, and the folders that become empty.

        Raises FileChangedError as `write` does.
        """
        with self._telling(path), translated_errors(path):
            with self._place(path) as place:
                before = place.remove(expected)
                if before is None:
                    raise no_such_file(path)
                self.changed(Written(place.path, before, None))
            self.remove_empty(path.parents)

    def listing(self, path: PurePosixPath) -> tuple[FolderEntry, ...]:
        """Return the folders and plain files in the folder at *path*, sorted by name."""
        with translated_errors(path), self.opened(path) as folder:
            names = filter(is_taken, names_in(folder))
            return tuple(entry for name in names if (entry := entry_of(name, facts_of(folder, name))))

    def names(self) -> list[str]:
        """Return every name in the workspace's top folder, of any type."""
        with translated_errors(PurePosixPath()), self.opened(PurePosixPath()) as folder:
            return names_in(folder)

    def folders(self) -> Iterator[PurePosixPath]:
        """Yield every folder, the workspace itself first."""
        for path, *_ in self._tour():
            yield path

    def holds_folder(self, path: PurePosixPath) -> bool:
        """Tell whether there is a folder at *path*."""
        try:
            with translated_errors(path), self.opened(path):
                return True
        except NoSuchFileError:
            return False

    def walk(self) -> Iterator[FoundFile]:
        """Yield every plain file; a folder's own files precede those of its folders, each sorted by name."""
        for _, files, _ in self._tour():
            yield from files

    def left_out(self) -> list[LeftOut]:
        """Return every name that is neither a folder nor a plain file with one name, in the order of `walk`."""
        return [each for *_, found in self._tour() for each in found]

    def sweep(self) -> int:
        """Remove files left half-written by a crash and return their number."""
        with translated_errors(PurePosixPath()), self.resting():
            return sum(self._sweep(path) for path in self.folders())

    def _sweep(self, path: PurePosixPath) -> int:
        with self.opened(path) as folder:
            left = [name for name in names_in(folder) if _LEFT_OVER.fullmatch(name)]
            for name in left:
                os.unlink(name, dir_fd=folder)
        return len(left)

    def _tour(self) -> Iterator[tuple[PurePosixPath, list[FoundFile], list[LeftOut]]]:
        """Yield every folder with its own plain files and the entries left out; no handle stays open in between."""
        waiting = [PurePosixPath()]
        while waiting:
            path = waiting.pop()
            files: list[FoundFile] = []
            folders: list[PurePosixPath] = []
            others: list[LeftOut] = []
            for name, facts in self._scan(path):
                if stat.S_ISDIR(facts.st_mode) and len(path.parts) < DEPTH - 1:
                    folders.append(below(path, name))
                elif is_plain(facts):
                    files.append(found_file(below(path, name), facts))
                elif (other := left_out_reason(below(path, name), facts)) is not None:
                    others.append(other)
            yield path, files, others
            waiting.extend(reversed(folders))

    def _scan(self, path: PurePosixPath) -> list[tuple[str, os.stat_result]]:
        """Return the stat result of each name in one folder; nothing if it is gone."""
        with suppress(NoSuchFileError), translated_errors(path), self.opened(path) as folder:
            known = [(name, facts_of(folder, name)) for name in filter(is_taken, names_in(folder))]
            return [(name, facts) for name, facts in known if facts is not None]
        return []

    @contextmanager
    def opened(self, path: PurePosixPath, *, create: bool = False) -> Iterator[int]:
        """Open the folder at *path*, one component at a time; the yielded handle is closed afterwards."""
        parts = clean_path(str(path)).parts
        # The workspace itself is listed by a handle of its own: copies of one share the position of a listing, and two
        # threads would see a part, or nothing.
        first, *rest = parts if parts and not create else (".", *parts)
        handle = os.open(first, _FOLDER, dir_fd=self._handle)
        try:
            for part in rest:
                if create:
                    self._make_folder(handle, part, path)
                below = os.open(part, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    def _make_folder(self, parent: int, name: str, path: PurePosixPath) -> None:
        _refuse_twin(parent, name, path)
        with suppress(FileExistsError):
            self.checkpoint("file.folder", 0)
            os.mkdir(name, 0o700, dir_fd=parent)
            os.fsync(parent)

    @contextmanager
    def _place(self, path: PurePosixPath, *, create: bool = False) -> Iterator[FileSlot]:
        path = clean_path(str(path))
        if not path.name:
            raise no_such_file(path)
        # The workspace itself is never listed here, so its own handle will do.
        is_here = len(path.parts) == 1 and not create
        with nullcontext(self._handle) if is_here else self.opened(path.parent, create=create) as folder:
            yield (slot := FileSlot(folder, path.name, path, self.caps.file_bytes, self.checkpoint))
            slot.refuse_doubt()  # whoever changed the file has told of the change by now

    @contextmanager
    def _changing(self, path: PurePosixPath) -> Iterator[FileSlot]:
        """Hold the lock and open the slot of a file to be written, creating its folders.

        Folders created for a file that is then refused are removed: nobody fills a disk with them.
        """
        path = clean_path(str(path))
        with self._telling(path), translated_errors(path, writing=True):
            missing = list(takewhile(lambda folder: not self.holds_folder(folder), path.parents))
            try:
                with self._place(path, create=True) as place:
                    _refuse_twin(place.folder, place.name, path)
                    self._refuse_full(place.folder, place.name, path)
                    yield place
            finally:
                self.remove_empty(missing)

    def remove_empty(self, folders: Iterable[PurePosixPath]) -> None:
        """Remove *folders*, innermost first, until one is not empty."""
        with suppress(OSError):
            for folder in folders:
                with self.opened(folder.parent) as above:
                    os.rmdir(folder.name, dir_fd=above)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Exclude all our writers, in all processes: a reader never sees half a change."""
        try:
            self._lock.acquire()
        except Timeout as exc:
            raise WorkspaceUnusableError(f"another process has held {self._lock.lock_file} for too long") from exc
        except OSError as exc:
            raise WorkspaceUnusableError(f"{self._lock.lock_file} cannot be locked: {exc.strerror}") from exc
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _telling(self, path: PurePosixPath) -> Iterator[None]:
        """Hold the lock; then notify listeners of the change or attempt."""
        try:
            with self.resting():
                yield
        except WorkspaceUnusableError as exc:
            self._tell(exc)
            raise
        finally:
            self._tell(WriteAttempt(path))

    def changed(self, written: Written) -> None:
        """Note a change: its size, and whoever follows."""
        sizes = (len(data) if data is not None else None for data in (written.before, written.after))
        self.usage.changed(written.path, *sizes)
        self._tell(written)

    def _refuse_full(self, folder: int, name: str, path: PurePosixPath) -> None:
        names = names_in(folder)
        if name not in names and len(names) >= self.caps.names:
            raise TooLargeError(f"{path}: its folder already holds {len(names):,} files, the maximum")


def _found(folder: int, path: PurePosixPath) -> FoundFile | None:
    facts = facts_of(folder, path.name)
    return found_file(path, facts) if facts is not None and is_plain(facts) else None


def _refuse_twin(folder: int, name: str, path: PurePosixPath) -> None:
    """Refuse a new name that differs from an existing one only in letter case or Unicode normal form."""
    names = names_in(folder)
    twin = next((other for other in names if fold(other) == fold(name)), None)
    if twin is not None and name not in names:
        raise BadPathError(f"{path}: {twin!r} exists and differs only in letter case or encoding; use that name")
