"""Reading of a backup to its end: its description, its contents, and a check of every byte."""

import gzip
import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from pydantic import ValidationError

from gateway.backup.archive import FORMAT, BackupManifest, FileDigest, Head, Progress
from gateway.backup.members import CONFIG, HEAD, MANIFEST, ArchiveLimits, MemberReader
from gateway.backup.seal import BackupKey, SealState, check_seal
from gateway.errors import BackupError

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


class ArchiveContents(Struct, frozen=True):
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
