"""The seal behind a backup: the sha256 of every byte before it, and that digest signed with a key of the home.

The digest shows damage. The signature (HMAC-SHA256) proves that the maker of the file had the key, which is stored in
the home, is never part of a backup, and is not readable by agents' tools.
"""

import hashlib
import hmac
import os
import secrets
import struct
import zlib
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from gateway.errors import BackupError
from gateway.home import FILE_MODE, Home
from gateway.stores.disk import sync_folder
from workspaces.lazy_pattern import lazy_pattern

KEY_NAME = "backup.key"
_KEY_BYTES = 32
_KEY = lazy_pattern(r"[0-9a-f]{64}")
_DIGEST = "strandline backup, sha256 of what is before this: {}\n"
_SIGNED = "sealed with key {}: {}\n"
_TEXT = lazy_pattern(rb"strandline backup, sha256 of what is before this: ([0-9a-f]{64})\n")
_SIGNATURE = lazy_pattern(rb"sealed with key ([0-9a-f]{16}): ([0-9a-f]{64})\n")
_CONTEXT = b"strandline backup 1\0"
_READ_AT_ONCE = 1 << 20


class SealState(StrEnum):
    VALID = "valid"
    """Made with the key of this home."""
    OTHER = "other"
    """Made with another key, or forged."""
    ABSENT = "absent"
    """Made by a version without seals, or by another program."""
    NO_KEY = "no_key"
    """Sealed, but there is no key to check it with."""


class BackupKey(Struct, frozen=True):
    """The key with which a home seals its backups."""

    secret: bytes

    def __repr__(self) -> str:
        return f"BackupKey({self.name})"

    @property
    def name(self) -> str:
        """A name that identifies the key without revealing it."""
        return hashlib.sha256(_CONTEXT + b"name" + self.secret).hexdigest()[:16]

    def signature(self, digest: str) -> str:
        """Return the signature of a file with this sha256."""
        return hmac.new(self.secret, _CONTEXT + digest.encode(), hashlib.sha256).hexdigest()


def read_key(file: Path) -> BackupKey | None:
    """Return the key in *file*; `None` if there is no such file. Raises BackupError for anything but a key."""
    try:
        text = file.read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise BackupError(f"{file}, the key that seals backups, cannot be read: {exc}") from exc
    if not _KEY.fullmatch(text):
        raise BackupError(
            f"{file} is not a key that seals backups; move it away, and the next backup creates a new one"
        )
    return BackupKey(bytes.fromhex(text))


def key_of(home: Home) -> BackupKey:
    """Return the key of *home*, created now if it has none. Raises BackupError; OSError if it cannot be written."""
    file = home.path / KEY_NAME
    if (found := read_key(file)) is not None:
        return found
    with suppress(FileExistsError):
        write_key(file, BackupKey(secrets.token_bytes(_KEY_BYTES)))
    made = read_key(file)
    if made is None:
        raise BackupError(f"{file}, the key that seals backups, cannot be created")
    return made


def write_key(file: Path, key: BackupKey) -> None:
    """Write *key* to *file*, readable by its owner only. Raises FileExistsError: a key is never replaced."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="ascii") as out:
            out.write(key.secret.hex() + "\n")
            out.flush()
            os.fsync(out.fileno())
        os.link(fresh, file)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(file.parent)


def seal(digest: str, key: BackupKey) -> bytes:
    """Return a gzip member with *digest* and its signature, the same bytes in every version of zlib."""
    return _gzip_stored(_DIGEST.format(digest) + _SIGNED.format(key.name, key.signature(digest)))


def check_seal(file: Path, key: BackupKey | None) -> SealState | None:
    """Return the state of the seal behind *file*; `None` if the file was changed. Raises OSError."""
    with file.open("rb") as raw:
        size = raw.seek(0, os.SEEK_END)
        longest = len(_gzip_stored(_DIGEST.format("0" * 64) + _SIGNED.format("0" * 16, "0" * 64)))
        raw.seek(max(0, size - longest))
        end = raw.read()
        told, signed = _TEXT.search(end), _SIGNATURE.search(end)
        if told is None:
            return None
        text = (told[0] + (signed[0] if signed else b"")).decode()
        tail = _gzip_stored(text)
        digest = _digest(raw, size - len(tail))
    if not end.endswith(tail) or not hmac.compare_digest(digest.encode(), told[1]):
        return None
    if signed is None:
        return SealState.ABSENT
    if key is None:
        return SealState.NO_KEY
    is_ours = hmac.compare_digest(key.signature(digest).encode(), signed[2])
    return SealState.VALID if is_ours else SealState.OTHER


def _digest(raw: BinaryIO, size: int) -> str:
    """Return the sha256 of the first *size* bytes."""
    digest = hashlib.sha256()
    raw.seek(0)
    while size > 0 and (piece := raw.read(min(size, _READ_AT_ONCE))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest()


def _gzip_stored(text: str) -> bytes:
    """Return a gzip member with *text* stored uncompressed: no version of zlib writes it differently."""
    content = text.encode()
    stored = b"\x01" + struct.pack("<HH", len(content), len(content) ^ 0xFFFF) + content
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + stored + struct.pack("<II", zlib.crc32(content), len(content))
