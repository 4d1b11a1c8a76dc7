"""Strict reading of a backup's tar: regular files and folders of a home, within bounds; anything else is refused.

The standard library reads anything that a header announces: links, devices, sparse files, and extended headers of any
size into memory. A backup contains none of these, but the file may not come from Strandline.
"""

import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from msgspec import Struct, field

from gateway.errors import BackupError

HEAD, MANIFEST = "backup.json", "manifest.json"
STATE, CONFIG, OUTSIDE = "state.db", "config.toml", "workspaces"
"""`workspaces` holds those located outside of the home."""
_FILES = frozenset({HEAD, MANIFEST, CONFIG, STATE})
_FOLDERS = frozenset({"agents", "hooks", "removed", OUTSIDE})
_EXTENDED = frozenset({"path", "size", "mtime", "hdrcharset"})
_EXTENDED_BYTES = 65_536
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
_RATIO_FROM = 64 << 20
"""Unpacked bytes from which the ratio counts: an empty database or log packs better than any text."""


class ArchiveLimits(Struct, frozen=True):
    """Limits on the unpacked size of a backup."""

    total: int = 100 << 30
    """In bytes."""
    files: int = 2_000_000
    """Files and folders."""
    depth: int = 200
    """Depth of nested folders. An agent's tools make at most 16 in a workspace; its owner may make more."""
    ratio: int = 300
    """Unpacked to packed bytes. Notes, logs and databases pack to 1/3 to 1/20, a zip bomb to 1/1000."""
    manifest: int = 400 << 20
    """Bytes of the list of files, which is read into memory."""


NO_LIMITS = ArchiveLimits(1 << 62, 1 << 62, ratio=1 << 62, manifest=1 << 62)
"""For an owner who trusts the file; the names, kinds and sizes of members are checked all the same."""


class ArchiveMember(Struct, frozen=True):
    """A file or folder in a backup."""

    name: str
    is_folder: bool
    size: int
    mtime: int


class MemberReader(Struct):
    """Reads *packed*, decompressed by *unpacked*, member by member. Raises BackupError for refused ones."""

    packed: BinaryIO
    unpacked: BinaryIO
    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    _read: int = 0
    _left: int = 0
    """Unread bytes of the current member."""
    _padding: int = 0
    _seen: dict[str, bool] = field(default_factory=dict)
    """Whether each name is a folder."""

    def members(self) -> Iterator[ArchiveMember]:
        """Yield each member; its content is read with `read` before the next one is requested, or skipped."""
        while (member := self._next()) is not None:
            self._admit(member)
            yield member
            while self.read(_PIECE):
                pass

    def read(self, size: int) -> bytes:
        """Return up to *size* bytes of the current member; none at its end."""
        piece = self._take(min(size, self._left)) if self._left else b""
        self._left -= len(piece)
        if not self._left and self._padding:
            self._take(self._padding)
            self._padding = 0
        return piece

    def _next(self) -> ArchiveMember | None:
        extended: dict[str, str] = {}
        while True:
            header = self._header()
            if header is None:
                if extended:
                    raise tarfile.ReadError("an extended header without a file")
                return None
            if header.type != tarfile.XHDTYPE:
                return self._member(header, extended)
            if extended or header.size > _EXTENDED_BYTES:
                raise BackupError("the backup holds an extended header that Strandline does not write")
            self._begin(header.size)
            extended = _parse_extended_header(self._whole(header.size))

    def _header(self) -> tarfile.TarInfo | None:
        block = self._take(_BLOCK)
        if block == bytes(_BLOCK):
            return None
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")

    def _member(self, header: tarfile.TarInfo, extended: dict[str, str]) -> ArchiveMember:
        name = extended.get("path", header.name)
        if header.type not in {tarfile.REGTYPE, tarfile.DIRTYPE}:
            raise _refusal(name, "which is not a regular file or folder")
        size = _number(extended["size"]) if "size" in extended else header.size
        is_folder = header.type == tarfile.DIRTYPE
        if size < 0 or (is_folder and size):
            raise tarfile.ReadError("an impossible size")
        self._begin(size)
        mtime = min(max(int(header.mtime), 0), 2**33)
        return ArchiveMember(name.rstrip("/") if is_folder else name, is_folder, size, mtime)

    def _begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _whole(self, size: int) -> bytes:
        pieces = []
        while piece := self.read(size):
            pieces.append(piece)
        return b"".join(pieces)

    def _take(self, size: int) -> bytes:
        """Read exactly *size* bytes, at most one chunk at once, and count them."""
        piece = self.unpacked.read(min(size, _PIECE))
        while len(piece) < size and len(piece) < _PIECE and (more := self.unpacked.read(size - len(piece))):
            piece += more
        if not piece or (size <= _PIECE and len(piece) < size):
            raise EOFError("the archive ends too early")
        self._read += len(piece)
        if self._read > self.limits.total:
            raise BackupError(f"the backup unpacks to more than {self.limits.total:,} bytes; --allow large accepts it")
        if self._read > _RATIO_FROM and self._read > self.limits.ratio * max(self.packed.tell(), 1):
            raise BackupError(
                f"the backup unpacks to more than {self.limits.ratio} times its size, as a bomb does; --allow large "
                "accepts it"
            )
        return piece

    def _admit(self, member: ArchiveMember) -> None:
        name = member.name
        path = PurePosixPath(name)
        if (reason := _fault(name, path)) is not None:
            raise _refusal(name, reason)
        if len(path.parts) > self.limits.depth:
            raise _refusal(name, f"which lies more than {self.limits.depth} folders deep")
        if (path.parts[0] in _FOLDERS) is not (member.is_folder or len(path.parts) > 1):
            raise _refusal(name, "which is not a file of a home")
        folders = [str(parent) for parent in path.parents[:-1]] + [name] * member.is_folder
        if self._seen.get(name, member.is_folder) is not True and name in self._seen:
            raise _refusal(name, "twice")
        if not all(self._seen.setdefault(folder, True) for folder in folders) or (
            not member.is_folder and self._seen.setdefault(name, False)
        ):
            raise _refusal(name, "as a file and as a folder")
        if member.name == MANIFEST and member.size > self.limits.manifest:
            raise _refusal(name, f"which is longer than {self.limits.manifest:,} bytes")
        if len(self._seen) > self.limits.files:
            raise BackupError(f"the backup holds more than {self.limits.files:,} files; --allow large accepts it")


def _fault(name: str, path: PurePosixPath) -> str | None:
    if not path.parts or path.is_absolute() or ".." in path.parts or str(path) != name:
        return "which is not a file of a home"
    if "\0" in name:
        return "whose name holds a zero byte"
    if max(len(part.encode("utf-8", "surrogateescape")) for part in path.parts) > 255:
        return "whose name is longer than 255 bytes"
    if len(path.parts) == 1 and name not in _FILES | _FOLDERS:
        return "which is not a file of a home"
    return None


def _refusal(name: str, reason: str) -> BackupError:
    return BackupError(f"the backup holds {name[:200]!r}, {reason}; nothing was restored")


def _parse_extended_header(content: bytes) -> dict[str, str]:
    """Parse the records of an extended header: `<length> <key>=<value>` and a line end each."""
    found: dict[str, str] = {}
    while content:
        length, space, _ = content[:20].partition(b" ")
        end = _number(length.decode("ascii", "replace"))
        record = content[len(length) + 1 : end]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        name = key.decode("ascii", "replace")
        if not space or not equals or not record.endswith(b"\n") or end > len(content) or name in found:
            raise tarfile.ReadError("an extended header that cannot be read")
        if name not in _EXTENDED:
            raise BackupError(f"the backup holds an extended header {name[:40]!r}, which Strandline does not write")
        found[name] = value.decode("utf-8", "surrogateescape")
        content = content[end:]
    return found


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise tarfile.ReadError("a number that cannot be read")
    return int(text)
