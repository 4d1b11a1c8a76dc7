"""Encrypted backups: nobody reads, changes, cuts or mixes them without its being noticed."""

from pathlib import Path

import pytest

from gateway.backup.encryption import decrypted, encrypt, encrypted_with
from gateway.backup.seal import BackupKey
from gateway.errors import BackupError

KEY, OTHER = BackupKey(bytes(range(32))), BackupKey(bytes(32))
MIB = 1 << 20


def opened(file: Path, key: BackupKey | None = KEY) -> bytes:
    with decrypted(file, key, file.parent) as plain:
        content = plain.read_bytes()
    assert not list(file.parent.glob(".strandline-decrypted-*"))
    return content


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_what_was_encrypted_comes_back(tmp_path: Path, size: int) -> None:
    """Of any size; the same content is never written the same way twice, and is not in the file."""
    plain, one, two = (tmp_path / name for name in ("plain", "one.enc", "two.enc"))
    plain.write_bytes((b"the spare key " * (size // 14 + 1))[:size])
    encrypt(plain, one, KEY)
    encrypt(plain, two, KEY)
    assert opened(one) == opened(two) == plain.read_bytes()
    assert one.read_bytes() != two.read_bytes()
    assert b"spare key" not in one.read_bytes()
    assert one.stat().st_mode & 0o777 == 0o600
    assert (encrypted_with(one), encrypted_with(plain)) == (KEY.name, None)


def test_any_change_is_noticed_and_nothing_is_given_out(tmp_path: Path) -> None:
    """A bit, a cut at a piece's end or within, pieces swapped, something appended."""
    plain, file = tmp_path / "plain", tmp_path / "file.enc"
    plain.write_bytes(bytes(range(256)) * (3 * MIB // 256))
    encrypt(plain, file, KEY)
    whole, piece = file.read_bytes(), MIB + 16
    begin = len(whole) - 3 * piece
    changed = [
        whole[:-1] + bytes([whole[-1] ^ 1]),
        whole[:begin] + bytes([whole[begin] ^ 1]) + whole[begin + 1 :],
        whole[: begin - 1] + bytes([whole[begin - 1] ^ 1]) + whole[begin:],
        whole[:-piece],
        whole[:-5],
        whole[:begin],
        whole[: begin - 10],
        whole + b"more",
        whole[:begin] + whole[begin + piece : begin + 2 * piece] + whole[begin : begin + piece] + whole[-piece:],
    ]
    for content in changed:
        file.write_bytes(content)
        with pytest.raises(BackupError, match="is damaged or cut short; nothing was restored"):
            opened(file)


def test_another_key_is_refused_by_name(tmp_path: Path) -> None:
    """With the name of the sheet that opens it."""
    plain, file = tmp_path / "plain", tmp_path / "file.enc"
    plain.write_bytes(b"content")
    encrypt(plain, file, KEY)
    with pytest.raises(BackupError, match=f"the key {KEY.name}, and the key here is {OTHER.name}: take the key from"):
        opened(file, OTHER)
    with pytest.raises(BackupError, match="and there is no key here"):
        opened(file, None)
    assert opened(plain, None) == b"content"
    with pytest.raises(BackupError, match="cannot be read: No such file"):
        opened(tmp_path / "none")
