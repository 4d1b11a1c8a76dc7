"""Format of a backup: a tar of files, compressed by gzip, that any machine can list and unpack.

Its first member, `backup.json`, describes it; its last one, `manifest.json`, has the size and sha256 of every file. The
seal follows the archive, as a gzip member of its own that tar ignores.
"""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from pydantic import BaseModel, ValidationError

from gateway.backup.members import CONFIG, HEAD, MANIFEST, OUTSIDE, ArchiveLimits, MemberReader
from gateway.backup.seal import BackupKey, SealState, check_seal, seal
from gateway.errors import BackupError
from gateway.stores.disk import sync_folder
from workspaces.secrets import redact_bytes

FORMAT = 1
Progress = Callable[[int, int], None]
"""Called with the bytes done, and the total; files may grow meanwhile."""
_EFFORT = 3
"""Of gzip, 1 to 9. Measured: 117 MB of conversations took 2.2, 3.1, 7.9, 28 s at 1, 3, 6, 9: 52, 48, 43, 43 MB."""
_READ_AT_ONCE = 1 << 20
_HELD_IN_MEMORY = 16 << 20
_WORKSPACE = re.compile(rf"(?:agents|removed)/[^/]+/workspace/|{OUTSIDE}/")
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


@dataclass(slots=True)
class ArchiveWriter:
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


@contextmanager
def writing(target: Path, head: Head, key: BackupKey) -> Iterator[ArchiveWriter]:
    """Yield the writer of a new backup, sealed with *key*, readable by its owner only; it gets its name once complete.

    Raises BackupError if there is a file of that name.
    """
    if target.exists():
        raise BackupError(f"{target} already exists; choose another name, or remove it first")
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


_BROKEN = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValidationError,
    UnicodeError,
    OverflowError,
    RecursionError,
)
_HEAD_BYTES = 1 << 16
_CONFIG_BYTES = 4 << 20
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    head: Head
    seal: SealState
    files: Mapping[str, FileDigest]
    folders: tuple[str, ...]
    config: str
    """The text of its `config.toml`."""

    @property
    def size(self) -> int:
        """Return the total size of its files in bytes."""
        return sum(digest.size for digest in self.files.values())


def examine(file: Path, key: BackupKey | None, limits: ArchiveLimits, progress: Progress) -> ArchiveContents:
    """Read the backup in *file* to its end, writing nothing.

    Raises BackupError if it is of another format, incomplete or changed, contains anything that no home has, or unpacks
    to more than the *limits*.
    """
    with _translated_errors(file):
        head = _head(file, limits)
        if head.format != FORMAT:
            raise BackupError(
                f"{file} is a backup of format {head.format}, made by Strandline {head.version}; this version knows "
                f"format {FORMAT}: restore it with the version that made it"
            )
        seal = check_seal(file, key)
        if seal is None:
            raise BackupError(
                f"{file} is damaged: its checksum does not match; nothing was restored. Copy it again from where it "
                "was kept, or use an older one"
            )
        return _read(file, head, seal, limits, progress)


@contextmanager
def reading(file: Path, limits: ArchiveLimits) -> Iterator[MemberReader]:
    """Yield the reader of a backup. Raises BackupError if it is damaged or refused."""
    with _translated_errors(file), file.open("rb") as raw, gzip.GzipFile(fileobj=raw) as unpacked:
        yield MemberReader(raw, unpacked, limits)  # type: ignore[arg-type]  # a GzipFile reads bytes


def _head(file: Path, limits: ArchiveLimits) -> Head:
    with reading(file, limits) as backup:
        first = next(backup.members(), None)
        if first is not None and first.name == HEAD and not first.is_folder:
            return Head.model_validate_json(backup.read(_HEAD_BYTES))
    raise BackupError(f"{file} is not a backup that Strandline made")


def _read(file: Path, head: Head, seal: SealState, limits: ArchiveLimits, progress: Progress) -> ArchiveContents:
    found, expected, config = BackupManifest(files={}, folders=[]), None, b""
    total = file.stat().st_size
    with reading(file, limits) as backup:
        for member in backup.members():
            if expected is not None:
                raise BackupError(f"{file} has data after its manifest; nothing was restored")
            if member.name == MANIFEST:
                expected = _manifest(whole(backup, member.size))
            elif member.is_folder:
                found.folders.append(member.name)
            elif member.name != HEAD:
                digest = hashlib.sha256()
                if member.name == CONFIG:
                    config = whole(backup, min(member.size, _CONFIG_BYTES))
                    digest.update(config)
                while piece := backup.read(_PIECE):
                    digest.update(piece)
                found.files[member.name] = FileDigest(size=member.size, sha256=digest.hexdigest())
            progress(min(backup.packed.tell(), total), total)
    if expected != found:
        raise BackupError(f"the contents of {file} do not match its manifest; nothing was restored")
    return ArchiveContents(head, seal, found.files, tuple(found.folders), config.decode("utf-8"))


def _manifest(content: bytes) -> BackupManifest:
    """Read the list of files; pydantic would reject a name with bytes that are not text, and a file may have one."""
    try:
        told = json.loads(content)
        files = {name: FileDigest.model_validate(digest) for name, digest in told["files"].items()}
        return BackupManifest.model_construct(files=files, folders=list(told["folders"]))
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise tarfile.ReadError("a manifest that cannot be read") from exc


def whole(backup: MemberReader, size: int) -> bytes:
    """Read *size* bytes of the current member."""
    pieces = []
    while size and (piece := backup.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


@contextmanager
def _translated_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as exc:
        raise BackupError(
            f"{file} is not a backup that Strandline made, or it is damaged; nothing was restored"
        ) from exc
    except OSError as exc:
        raise BackupError(f"{file} cannot be read: {exc.strerror or exc}") from exc
