"""Encryption of backups with the home's key: AES-256-GCM over numbered pieces, so that none can be cut off or moved."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from gateway.backup.seal import BackupKey
from gateway.errors import BackupError
from gateway.home import FILE_MODE
from gateway.stores.disk import disk_trouble, sync_folder
from workspaces.lazy_pattern import lazy_pattern

ENDING = ".enc"
_HEAD = lazy_pattern(rb"strandline encrypted backup 1, key ([0-9a-f]{16})\n")
_SALT_BYTES, _TAG_BYTES, _NUMBER_BYTES = 16, 16, 11
_PIECE = 1 << 20
_CONTEXT = b"strandline backup encryption 1"


def encrypted_with(file: Path) -> str | None:
    """Return the name of the key with which *file* is encrypted; `None` if it is not. Raises OSError."""
    with file.open("rb") as source:
        found = _HEAD.match(source.read(100))
    return found[1].decode() if found else None


def encrypt(source: Path, target: Path, key: BackupKey) -> None:
    """Write the encrypted content of *source* to *target*, which gets its name once complete. Raises StoreError."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with source.open("rb") as content, os.fdopen(_created(fresh), "wb") as out:
            _encrypt(content, out, key)
            out.flush()
            os.fsync(out.fileno())
        fresh.rename(target)
        sync_folder(target.parent)
    except OSError as exc:
        raise disk_trouble(target, exc, is_retried=False) from exc
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def decrypted(file: Path, key: BackupKey | None, place: Path) -> Iterator[Path]:
    """Yield *file*, decrypted if necessary to a folder below *place* that is removed afterwards.

    Raises BackupError without the right key, and for a file that was changed or cut short.
    """
    try:
        name = encrypted_with(file)
    except OSError as exc:
        raise BackupError(f"{file} cannot be read: {exc.strerror or exc}") from exc
    if name is None:
        yield file
        return
    if key is None or key.name != name:
        held = "there is no key here" if key is None else f"the key here is {key.name}"
        raise BackupError(
            f"{file} is encrypted with the key {name}, and {held}: take the key from the recovery sheet of that name, "
            "and add --key"
        )
    folder = next(each for each in (place, *place.parents) if each.is_dir())
    with TemporaryDirectory(prefix=".strandline-decrypted-", dir=folder) as scratch:
        plain = Path(scratch) / file.name.removesuffix(ENDING)
        try:
            with file.open("rb") as source, os.fdopen(_created(plain), "wb") as out:
                for piece in _decrypt(source, key, file):
                    out.write(piece)
        except OSError as exc:
            raise disk_trouble(plain, exc) from exc
        yield plain


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)


def _encrypt(content: BinaryIO, out: BinaryIO, key: BackupKey) -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    head = b"strandline encrypted backup 1, key %s\n" % key.name.encode()
    salt = os.urandom(_SALT_BYTES)
    cipher, number = AESGCM(_derived(key, salt)), 0
    out.write(head + salt)
    piece = content.read(_PIECE)
    while True:
        following = content.read(_PIECE)
        out.write(cipher.encrypt(_nonce(number, is_last=not following), piece, head))
        if not following:
            return
        piece, number = following, number + 1


def _decrypt(source: BinaryIO, key: BackupKey, file: Path) -> Iterator[bytes]:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    head, salt = source.readline(), source.read(_SALT_BYTES)
    cipher, number = AESGCM(_derived(key, salt)), 0
    piece = source.read(_PIECE + _TAG_BYTES)
    while True:
        following = source.read(_PIECE + _TAG_BYTES)
        try:
            yield cipher.decrypt(_nonce(number, is_last=not following), piece, head)
        except (InvalidTag, ValueError) as exc:
            raise BackupError(
                f"{file} is damaged or cut short; nothing was restored. Copy it again from where it was kept, or use "
                "an older one"
            ) from exc
        if not following:
            return
        piece, number = following, number + 1


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big") + bytes([is_last])


def _derived(key: BackupKey, salt: bytes) -> bytes:
    """Return the key of one file, so that no nonce occurs twice under a key (HKDF, RFC 5869)."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt, _CONTEXT).derive(key.secret)
