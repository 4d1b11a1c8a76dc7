"""Reads and writes of one name in an open folder, checked on the opened handle."""

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from msgspec import Struct, field

from workspaces.errors import BadPathError, FileChangedError, NotDurableError, NotTextError, TooLargeError
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.paths import OWN_PREFIX

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP})
"""Error codes for a missing name, and for a link, a folder or a socket in place of a file."""
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Links are not followed, and opening a FIFO does not wait for its other end."""


PIECE = 65_536
"""Most bytes of a streamed file held in memory at once."""
_TRIES = 10
"""Attempts to open a file that an editor has just replaced, or whose link count changes."""
_TICK_S = 0.01
"""Longest clock tick of file system timestamps (Linux: 1 to 10 ms)."""


class Identity(Struct, frozen=True):
    """A file's identity in the operating system, independent of its name."""

    device: int
    inode: int


class FileContent(Struct, frozen=True):
    data: bytes
    digest: str
    """SHA-256 of `data`, in hex."""
    identity: Identity
    mode: int
    """Permission bits."""
    changed_ns: int
    """Time of the last change, by the system's clock."""


class Appended(Struct, frozen=True):
    """Lines appended to a file."""

    line: int
    """Number of the first line, from 1."""
    before: bytes | None
    """The file before; `None` if it did not exist."""
    after: bytes
    """The file afterwards, read back."""


class FileSlot(Struct, frozen=True):
    """A name in an open folder. OSError passes through its methods; the folder's owner translates it."""

    folder: int
    """The open folder's handle."""
    name: str
    path: PurePosixPath
    """Its path, for messages."""
    cap: int
    """Largest file, in bytes, that can be read or written."""
    checkpoint: Checkpoint = unchecked
    is_durable: bool = True
    """Each change is on disk when its method returns, unless the disk is at fault."""
    faults: list[OSError] = field(default_factory=list)
    """Errors of the disk after a change that shows."""

    def read(self) -> FileContent | None:
        """Return the file; `None` if missing or not plain. Raises BlockingIOError for one that keeps changing."""
        try:
            with self._open(os.O_RDONLY) as (handle, facts):
                return self._content(handle, facts)
        except OSError as exc:
            if exc.errno in ABSENT:
                return None
            raise

    def pieces(self, most: int) -> Iterator[bytes]:
        """Yield the plain file, of at most *most* bytes, piece by piece. Raises TooLargeError above that."""
        with self._open(os.O_RDONLY) as (handle, facts):
            if facts.st_size > most:
                raise TooLargeError(f"{self.path}: {facts.st_size:,} bytes; at most {most:,} are allowed")
            while most > 0 and (piece := os.read(handle, min(PIECE, most))):
                most -= len(piece)
                yield piece

    def size(self) -> int | None:
        """Return the size of the plain file in bytes; `None` if there is none."""
        facts = facts_of(self.folder, self.name)
        return facts.st_size if facts is not None and is_plain(facts) else None

    def replace(self, data: bytes, expected: str | None) -> bytes | None:
        """Replace the file by *data* atomically and return the old content.

        *expected* is the old content's digest, `None` if there must be no file.
        """
        self._refuse_size(len(data))
        with self._stage([data]) as (staged, name):
            now = self._read_or_refuse()
            self._refuse_change(now, expected)
            if now is not None:
                os.fchmod(staged, now.mode)
            self.checkpoint("file.replace", 0)
            self._refuse_newer(now)
            os.replace(name, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            self._confirm(self.folder)
        return now.data if now is not None else None

    def create(self, pieces: Iterable[bytes]) -> None:
        """Create a file from *pieces* atomically; there must be none yet."""
        with self._stage(pieces) as (_, name):
            if facts_of(self.folder, self.name) is not None:
                raise FileChangedError(f"{self.path} already exists; nothing was written")
            self.checkpoint("file.replace", 0)
            os.replace(name, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            self._confirm(self.folder)

    def append(self, lines: str, heading: str) -> Appended | None:
        """Append *lines* and return their position, read back; a new file appears complete or not at all.

        `None`: another program replaced or removed the file meanwhile, and the lines are not in it.
        """
        before = self._read_or_refuse()
        old = before.data if before else b""
        addition = self._addition(old, lines, heading)
        self._refuse_size(len(old) + len(addition))
        try:
            if before is None:
                self.replace(addition, expected=None)
            else:
                self._grow(addition)
            now, height = self.read(), lines.rstrip("\n").count("\n")
        except (BlockingIOError, FileChangedError, FileNotFoundError):
            return None
        line = _line_of(addition.rstrip(b"\r\n"), old, now.data, height) if now is not None else None
        return Appended(line, before.data if before else None, now.data) if now is not None and line else None

    def _grow(self, addition: bytes) -> None:
        with self._open(os.O_RDWR | os.O_APPEND) as (handle, _):
            self._append(handle, addition)
            self._confirm(handle)
        self._confirm(self.folder)

    def remove(self, expected: str) -> bytes | None:
        """Remove the file with digest *expected* and return its content; `None` if there is none."""
        now = self._read_or_refuse()
        if now is None:
            return None
        self._refuse_change(now, expected)
        self.checkpoint("file.remove", 0)
        os.unlink(self.name, dir_fd=self.folder)
        self._confirm(self.folder)
        return now.data

    @contextmanager
    def _open(self, flags: int) -> Iterator[tuple[int, os.stat_result]]:
        """Open the plain file and yield its handle and stat result; raise FileNotFoundError for anything else.

        Raises BlockingIOError for one that keeps changing.
        """
        for _ in range(_TRIES):
            handle = os.open(self.name, _FLAGS | flags, 0o600, dir_fd=self.folder)
            try:
                if (facts := self._sole(handle)) is not None:
                    yield handle, facts
                    return
            finally:
                os.close(handle)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _sole(self, handle: int) -> os.stat_result | None:
        """Return the stat result of the open file if this is its only name; `None` while its names change.

        One look at the handle and one at the name prove nothing: a name of a file outside can be added and removed
        between any two calls. But each change of a file's names updates its change time. Once that time is older than a
        tick of the clock, a later change shows; so where it stays the same while the name is looked up, the number of
        names was the same too. Raises FileNotFoundError for a file with several names, or not a plain one.
        """
        first = os.fstat(handle)
        if first.st_nlink and not is_plain(first):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if time.time_ns() - first.st_ctime_ns <= _TICK_S * 1e9:
            time.sleep(_TICK_S)
        named, facts = facts_of(self.folder, self.name), os.fstat(handle)
        is_here = named is not None and identity_of(named) == identity_of(facts)
        return facts if is_here and is_plain(facts) and facts.st_ctime_ns == first.st_ctime_ns else None

    @contextmanager
    def _stage(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, str]]:
        """Write *pieces* durably into a new file of the same folder and yield its handle and name."""
        name = f"{OWN_PREFIX}{secrets.token_hex(8)}.tmp"
        handle = os.open(name, _FLAGS | os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self.folder)
        try:
            for piece in pieces:
                self._write(handle, piece)
            self._sync(handle)
            yield handle, name
        finally:
            os.close(handle)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self.folder)

    def _content(self, handle: int, facts: os.stat_result) -> FileContent:
        data = _read(handle, self.cap + 1)
        if len(data) > self.cap:
            self._refuse_size(max(len(data), facts.st_size))
        return FileContent(data, digest_of(data), identity_of(facts), stat.S_IMODE(facts.st_mode), facts.st_ctime_ns)

    def _read_or_refuse(self) -> FileContent | None:
        """Read, but refuse anything that is not a plain file."""
        content = self.read()
        if content is None and facts_of(self.folder, self.name) is not None:
            raise self._wrong_kind()
        return content

    def _addition(self, old: bytes, lines: str, heading: str) -> bytes:
        """Return the bytes that append *lines* to *old*, with the file's own line endings."""
        if b"\0" in old:
            raise NotTextError(f"{self.path} is not UTF-8 text")
        lead = "" if old.endswith(b"\n") else "\n"
        text = (lead if old.strip() else heading) + lines
        return (text.replace("\n", "\r\n") if b"\r\n" in old else text).encode()

    def _write(self, handle: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            size = self.checkpoint("file.write", len(rest))
            rest = rest[os.write(handle, rest[:size]) :]

    def _append(self, handle: int, data: bytes) -> None:
        """Append *data*; if the disk fills up halfway, truncate again."""
        size = os.fstat(handle).st_size
        try:
            self._write(handle, data)
        except OSError:
            os.ftruncate(handle, size)
            raise

    def refuse_doubt(self) -> None:
        """Raise NotDurableError if the disk did not confirm a change that shows."""
        if self.faults:
            why = f"{self.faults[0].strerror}; look before you repeat it"
            raise NotDurableError(f"{self.path} was changed, but the change may not last: {why}")

    def _confirm(self, handle: int) -> None:
        """Make a change durable that shows already; a fault of the disk is kept for the folder's owner."""
        try:
            self._sync(handle)
        except OSError as exc:
            self.faults.append(exc)

    def _sync(self, handle: int) -> None:
        if not self.is_durable:
            return
        self.checkpoint("file.sync", 0)
        os.fsync(handle)

    def _refuse_size(self, size: int) -> None:
        if size > self.cap:
            raise TooLargeError(f"{self.path}: {size:,} bytes; files of at most {self.cap:,} are allowed")

    def _refuse_change(self, now: FileContent | None, expected: str | None) -> None:
        if now is not None and expected is None:
            raise FileChangedError(f"{self.path} already exists; read it before you replace it", now.data)
        if (now.digest if now else None) != expected:
            raise FileChangedError(
                f"{self.path} has changed since it was read; nothing was written", now.data if now else None
            )

    def _refuse_newer(self, read: FileContent | None) -> None:
        """Refuse if an editor saved since the file was *read*: hashing a large one takes milliseconds."""
        facts = facts_of(self.folder, self.name)
        now = (identity_of(facts), facts.st_size, facts.st_ctime_ns) if facts is not None else None
        if now != ((read.identity, len(read.data), read.changed_ns) if read is not None else None):
            found = self.read()
            raise FileChangedError(f"{self.path} is being saved just now; try again", found.data if found else None)

    def _wrong_kind(self) -> BadPathError:
        return BadPathError(
            f"{self.path} is not a regular file with a single name, so it is skipped. strandline doctor says how to "
            "fix that"
        )


def _line_of(written: bytes, old: bytes, now: bytes, height: int) -> int | None:
    """Return the line of *now*, from 1, at which *written* begins; `None` if *old* contains it as often."""
    if now.count(written) <= old.count(written):
        return None
    end = now.rfind(written) + len(written)
    return now.count(b"\n", 0, end) + 1 - height


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of *data* in hex, the form of every file precondition."""
    return hashlib.sha256(data).hexdigest()


def names_in(folder: int) -> list[str]:
    """Return the names in an open folder, sorted; the system may list a name twice while it is replaced."""
    return sorted(set(os.listdir(folder)))


def facts_of(folder: int, name: str) -> os.stat_result | None:
    """Return the stat result of a name in an open folder, of a link itself; `None` if missing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_plain(facts: os.stat_result) -> bool:
    """Tell whether it is a regular file with one name: no link, folder, device, FIFO or socket."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def identity_of(facts: os.stat_result) -> Identity:
    return Identity(facts.st_dev, facts.st_ino)


def _read(handle: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(handle, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
