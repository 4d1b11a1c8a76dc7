"""This file is the form of a backup: a tar of files, compressed by gzip, that any machine can list and unpack.

Its first member, `backup.json`, says what it is; its last one, `manifest.json`, has the size and sha256 of every file.
Behind the archive comes the seal, a gzip member of its own that tar passes over: the sha256 of every byte before it.
"""

import gzip
import hashlib
import io
import json
import os
import struct
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from pydantic import BaseModel, ValidationError

from gateway.errors import BackupError
from gateway.stores.disk import sync_folder

FORMAT = 1
HEAD, MANIFEST = "backup.json", "manifest.json"
_EFFORT = 3
"""Of gzip, 1 to 9. Measured: 117 MB of conversations took 2.2, 3.1, 7.9, 28 s at 1, 3, 6, 9: 52, 48, 43, 43 MB."""
_READ_AT_ONCE = 1 << 20
_HELD_IN_MEMORY = 16 << 20
_SEAL = "strandline backup, sha256 of what is before this: {}\n"
_BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValidationError, UnicodeDecodeError)


class Head(BaseModel):
    """What a backup is."""

    format: int
    version: str
    """Of the program that made it."""
    state: int
    """The newest form of the state that this program knew."""
    made_at: str


class FileDigest(BaseModel):
    """How a file must come out of a backup."""

    size: int
    sha256: str


class Manifest(BaseModel):
    """Everything in a backup but `backup.json` and this."""

    files: dict[str, FileDigest]
    folders: list[str]


@dataclass(slots=True)
class Writer:
    """Puts files into a backup."""

    tar: tarfile.TarFile
    manifest: Manifest = field(default_factory=lambda: Manifest(files={}, folders=[]))

    def folder(self, name: str, mtime: float) -> None:
        """Add an empty folder."""
        member = _member(name, mtime)
        member.type, member.mode = tarfile.DIRTYPE, 0o700
        self.tar.addfile(member)
        self.manifest.folders.append(name)

    def file(self, name: str, source: BinaryIO, limit: int | None = None) -> int:
        """Add what *source* holds, up to *limit* bytes and no further than its last whole line then; return its size.

        It is copied first: somebody may be changing it in place.
        """
        with SpooledTemporaryFile(_HELD_IN_MEMORY) as copy:
            left = limit if limit is not None else -1
            while left and (piece := source.read(min(left, _READ_AT_ONCE) if left > 0 else _READ_AT_ONCE)):
                copy.write(piece)
                left -= len(piece) if left > 0 else 0
            size = copy.tell() if limit is None else _whole_lines(copy)
            copy.seek(0)
            self._add(name, copy, size, os.fstat(source.fileno()).st_mtime)
        return size

    def text(self, name: str, text: str) -> None:
        """Add *text* as a file that the manifest does not name."""
        content = text.encode()
        member = _member(name, 0)
        member.size = len(content)
        self.tar.addfile(member, io.BytesIO(content))

    def _add(self, name: str, copy: SpooledTemporaryFile[bytes], size: int, mtime: float) -> None:
        member = _member(name, mtime)
        member.size = size
        reader = Digesting(copy)
        self.tar.addfile(member, reader)
        self.manifest.files[name] = FileDigest(size=size, sha256=reader.sha256.hexdigest())


class Digesting:
    """A file whose sha256 is known when it was read."""

    def __init__(self, source: "SpooledTemporaryFile[bytes] | io.BufferedIOBase | BinaryIO") -> None:
        self._source = source
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._source.read(size)
        self.sha256.update(piece)
        return piece


@contextmanager
def writing(target: Path, head: Head) -> Iterator[Writer]:
    """Give the writer of a new backup, readable by its owner alone; it gets its name when it is whole.

    Raises BackupError if there is a file of that name.
    """
    if target.exists():
        raise BackupError(f"{target} exists already; choose another name, or remove it first")
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:
            with (
                gzip.GzipFile("", "wb", _EFFORT, fileobj=out, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                writer = Writer(tar)
                writer.text(HEAD, json.dumps(head.model_dump()))
                yield writer
                writer.text(MANIFEST, json.dumps(writer.manifest.model_dump()))
            out.seek(0)
            digest = hashlib.file_digest(out, "sha256").hexdigest()
            out.write(_seal(digest))
            out.flush()
            os.fsync(out.fileno())
        fresh.rename(target)
        sync_folder(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


def check(file: Path) -> Head:
    """Return what the backup in *file* is, having read it to the end without writing anything.

    Raises BackupError if it is of another format, not whole, or has a changed byte.
    """
    with _told(file):
        head = _head(file)
        if head.format != FORMAT:
            raise BackupError(
                f"{file} is a backup of format {head.format}, made by Strandline {head.version}; this version knows "
                f"format {FORMAT}: restore it with the version that made it"
            )
        if not _is_sealed(file):
            raise BackupError(
                f"{file} is damaged: its bytes are not those that were written; nothing was restored. Copy it anew "
                "from where it was kept, or take an older one"
            )
        return head


@contextmanager
def reading(file: Path) -> Iterator["Reader"]:
    """Give the reader of a backup that was checked. Raises BackupError."""
    with (
        _told(file),
        file.open("rb") as raw,
        gzip.GzipFile(fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="r|") as tar,
    ):
        yield Reader(tar, raw)


@dataclass(frozen=True, slots=True)
class Reader:
    """Gives the files of a backup, in their order."""

    tar: tarfile.TarFile
    raw: BinaryIO

    @property
    def position(self) -> int:
        """How many bytes of the backup were read."""
        return self.raw.tell()

    def members(self) -> Iterator[tuple[tarfile.TarInfo, Digesting | None]]:
        """Give each file with its content, and each folder; names are relative and lead nowhere else.

        Raises BackupError for anything else.
        """
        for member in self.tar:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                raise BackupError(f"the backup holds {member.name!r}, which is no file of a home; nothing was restored")
            source = self.tar.extractfile(member) if member.isfile() else None
            yield member, Digesting(source) if source else None  # type: ignore[arg-type]  # IO[bytes] reads bytes


def _head(file: Path) -> Head:
    with reading(file) as backup:
        for member, source in backup.members():
            if member.name == HEAD and source is not None:
                return Head.model_validate_json(source.read(_READ_AT_ONCE))
            break
    raise BackupError(f"{file} is not a backup that Strandline made")


def _is_sealed(file: Path) -> bool:
    seal_size, digest = len(_seal("0" * 64)), hashlib.sha256()
    with file.open("rb") as raw:
        left = file.stat().st_size - seal_size
        while left > 0 and (piece := raw.read(min(left, _READ_AT_ONCE))):
            digest.update(piece)
            left -= len(piece)
        return raw.read() == _seal(digest.hexdigest())


def _seal(digest: str) -> bytes:
    """Return a gzip member that holds *digest*, the same bytes in every version of zlib: its text is only stored."""
    text = _SEAL.format(digest).encode()
    stored = b"\x01" + struct.pack("<HH", len(text), len(text) ^ 0xFFFF) + text
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + stored + struct.pack("<II", zlib.crc32(text), len(text))


def _member(name: str, mtime: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = 0o600, int(mtime)
    return member


def _whole_lines(copy: SpooledTemporaryFile[bytes]) -> int:
    """Return how many bytes of *copy* its whole lines take."""
    end = copy.tell()
    while end:
        begin = max(0, end - _READ_AT_ONCE)
        copy.seek(begin)
        position = copy.read(end - begin).rfind(b"\n")
        if position >= 0:
            return begin + position + 1
        end = begin
    return 0


@contextmanager
def _told(file: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as exc:
        raise BackupError(
            f"{file} is not a backup that Strandline made, or it is damaged; nothing was restored"
        ) from exc
    except OSError as exc:
        raise BackupError(f"{file} cannot be read: {exc.strerror or exc}") from exc
