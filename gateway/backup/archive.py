"""Writing of a backup: a tar of files, compressed by gzip, that any machine can list and unpack.

Its first member, `backup.json`, describes it; its last one, `manifest.json`, has the size and sha256 of every file. The
seal follows the archive, as a gzip member of its own that tar ignores.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from msgspec import Struct, field
from pydantic import BaseModel

from gateway.backup.members import HEAD, MANIFEST, OUTSIDE
from gateway.backup.seal import BackupKey, seal
from gateway.errors import BackupError
from gateway.stores.disk import sync_folder
from workspaces.lazy_pattern import lazy_pattern
from workspaces.secrets import redact_bytes

FORMAT = 1
Progress = Callable[[int, int], None]
"""Called with the bytes done, and the total; files may grow meanwhile."""
_EFFORT = 3
"""Of gzip, 1 to 9. Measured: 117 MB of conversations took 2.2, 3.1, 7.9, 28 s at 1, 3, 6, 9: 52, 48, 43, 43 MB."""
_READ_AT_ONCE = 1 << 20
_HELD_IN_MEMORY = 16 << 20
_WORKSPACE = lazy_pattern(rf"(?:agents|removed)/[^/]+/workspace/|{OUTSIDE}/")
"""Names of the files that an agent reads and writes; any other file must be restored unchanged."""


class Head(BaseModel):
    """Description of a backup."""

    format: int
    version: str
    """Version of the program that made it."""
    state: int
    """The newest version of the state that this program knew."""
    made_at: str


class FileDigest(BaseModel):
    """The expected size and digest of a restored file."""

    size: int
    sha256: str


class BackupManifest(BaseModel):
    """Everything in a backup but `backup.json` and this file."""

    files: dict[str, FileDigest]
    folders: list[str]


class ArchiveWriter(Struct):
    """Puts files into a backup."""

    tar: tarfile.TarFile
    manifest: BackupManifest = field(default_factory=lambda: BackupManifest(files={}, folders=[]))

    def folder(self, name: str, mtime: float) -> None:
        """Add an empty folder."""
        member = _member(name, mtime)
        member.type, member.mode = tarfile.DIRTYPE, 0o700
        self.tar.addfile(member)
        self.manifest.folders.append(name)

    def file(self, name: str, source: BinaryIO, limit: int | None = None) -> int:
        """Add the content of *source*, up to *limit* bytes, then cut after its last whole line; return its size.

        It is copied first, as another process may change it in place. Known secrets are redacted from texts of a
        workspace.
        """
        with SpooledTemporaryFile(_HELD_IN_MEMORY) as copy:
            left = limit if limit is not None else -1
            while left and (piece := source.read(min(left, _READ_AT_ONCE) if left > 0 else _READ_AT_ONCE)):
                copy.write(piece)
                left -= len(piece) if left > 0 else 0
            size = copy.tell() if limit is None else _whole_lines(copy)
            if size <= _HELD_IN_MEMORY and _WORKSPACE.match(name):
                size = _redact(copy)
            copy.seek(0)
            self._add(name, copy, size, os.fstat(source.fileno()).st_mtime)
        return size

    def text(self, name: str, text: str) -> None:
        """Add *text* as a file that is not in the manifest."""
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
    """A file that computes its sha256 as it is read."""

    def __init__(self, source: SpooledTemporaryFile[bytes]) -> None:
        self._source = source
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._source.read(size)
        self.sha256.update(piece)
        return piece


def refuse_existing(target: Path) -> None:
    """Raise BackupError if there is something at *target* already."""
    if target.is_dir():
        raise BackupError(f"{target} is a folder; name a new file in it, such as {target / 'strandline.tar.gz'}")
    if target.exists():
        raise BackupError(f"{target} already exists; choose another name, or remove it first")


@contextmanager
def writing(target: Path, head: Head, key: BackupKey) -> Iterator[ArchiveWriter]:
    """Yield the writer of a new backup, sealed with *key*, readable by its owner only; it gets its name once complete.

    Raises BackupError if there is a file of that name.
    """
    refuse_existing(target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:
            with (
                gzip.GzipFile("", "wb", _EFFORT, fileobj=out, mtime=0) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                writer = ArchiveWriter(tar)
                writer.text(HEAD, json.dumps(head.model_dump()))
                yield writer
                writer.text(MANIFEST, json.dumps(writer.manifest.model_dump()))
            out.seek(0)
            digest = hashlib.file_digest(out, "sha256").hexdigest()
            out.write(seal(digest, key))
            out.flush()
            os.fsync(out.fileno())
        fresh.rename(target)
        sync_folder(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


def _member(name: str, mtime: float) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = 0o600, int(mtime)
    return member


def _redact(copy: SpooledTemporaryFile[bytes]) -> int:
    """Redact known secrets from *copy* and return its size."""
    copy.seek(0)
    clean = redact_bytes(copy.read())
    copy.seek(0)
    copy.truncate()
    return copy.write(clean)


def _whole_lines(copy: SpooledTemporaryFile[bytes]) -> int:
    """Return the size of the whole lines of *copy*, in bytes."""
    end = copy.tell()
    while end:
        begin = max(0, end - _READ_AT_ONCE)
        copy.seek(begin)
        position = copy.read(end - begin).rfind(b"\n")
        if position >= 0:
            return begin + position + 1
        end = begin
    return 0
