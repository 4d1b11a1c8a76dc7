"""A seal shows who made a backup, to whoever has the key."""

import stat
from pathlib import Path

import pytest

from gateway.backup.seal import BackupKey, SealState, check_seal, key_of, read_key, seal
from gateway.errors import BackupError
from gateway.home import Home
from tests.gateway.backup.archives import KEY, forged
from tests.gateway.backup.homes import back_up, make_home

OTHER = BackupKey(bytes([1]) * 32)


def test_only_the_key_that_sealed_it_finds_it_valid(tmp_path: Path) -> None:
    """Another key does not, and without any the seal cannot be checked."""
    file = forged(tmp_path / "file", {})
    assert check_seal(file, KEY) is SealState.VALID
    assert check_seal(file, OTHER) is SealState.OTHER
    assert check_seal(file, None) is SealState.NO_KEY


def test_whoever_changes_a_backup_cannot_seal_it_again(tmp_path: Path) -> None:
    """The digest can be made anew, the signature cannot; nor is the signature of another file worth anything."""
    file = forged(tmp_path / "file", {})
    changed = forged(tmp_path / "changed", {"hooks/evil.py": b"x"}, key=OTHER)
    assert check_seal(changed, KEY) is SealState.OTHER
    length = len(seal("0" * 64, KEY))
    (tmp_path / "mixed").write_bytes(changed.read_bytes()[:-length] + file.read_bytes()[-length:])
    assert check_seal(tmp_path / "mixed", KEY) is None
    signed = changed.read_bytes()
    assert check_seal(changed, OTHER) is SealState.VALID
    changed.write_bytes(signed[:40] + bytes([signed[40] ^ 1]) + signed[41:])
    assert check_seal(changed, OTHER) is None


async def test_a_home_has_one_key_that_is_its_owners_alone_and_in_no_backup(tmp_path: Path) -> None:
    """Two backups are sealed with the same; it does not show when it is printed."""
    home = await make_home(tmp_path / "home")
    for name in ("one", "two"):
        file = back_up(home, tmp_path / name).file
        assert check_seal(file, key_of(home)) is SealState.VALID
        assert key_of(home).secret.hex().encode() not in file.read_bytes()
    assert stat.S_IMODE((home.path / "backup.key").stat().st_mode) == 0o600
    assert key_of(home).secret.hex() not in repr(key_of(home))


def test_a_key_that_is_none_is_told(tmp_path: Path) -> None:
    """It is not replaced: the backups that it sealed could not be checked any more."""
    home = Home(tmp_path)
    assert read_key(tmp_path / "backup.key") is None
    (tmp_path / "backup.key").write_text("hello")
    with pytest.raises(BackupError, match="is not a key that seals backups"):
        key_of(home)
    assert (tmp_path / "backup.key").read_text() == "hello"
