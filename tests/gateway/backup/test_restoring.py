"""A backup is restored wholly or not at all, and never over anything."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from gateway.backup import archive
from gateway.backup.archive import ArchiveWriter, Head, writing
from gateway.backup.restoring import restore_backup
from gateway.backup.seal import BackupKey
from gateway.errors import BackupError, ConfigError, HomeLockedError, StoreError
from gateway.home import Home
from gateway.stores.sqlite.schema import VERSION
from tests.gateway.backup.homes import back_up, files_below, make_home

HEAD = Head(format=archive.FORMAT, version="0.1.0", state=VERSION, made_at="2026-03-03T00:00:00Z")

KEY = BackupKey(bytes(32))


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    home = await make_home(tmp_path / "home")
    return back_up(home, tmp_path / "backup.tar.gz").file


def restored(file: Path, home: Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Restore and return the settings whose secrets are missing."""
    told: list[tuple[int, int]] = []
    outcome = restore_backup(file, Home(home), environ or {}, lambda *at: told.append(at))
    assert told == sorted(told)
    return outcome.secrets


def test_no_changed_byte_passes_and_nothing_is_written(backup: Path, tmp_path: Path) -> None:
    """Anywhere: in a header that no checksum of gzip covers, in a file, in the seal; nor does a missing end."""
    whole = backup.read_bytes()
    damaged = tmp_path / "damaged"
    places = [*range(24), *range(24, len(whole) - 110, 97), *range(len(whole) - 110, len(whole))]
    for place in places:
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        with pytest.raises(BackupError):
            restored(damaged, tmp_path / "other")
    for length in (0, 1, 50, len(whole) // 2, len(whole) - 110, len(whole) - 1):
        damaged.write_bytes(whole[:length])
        with pytest.raises(BackupError):
            restored(damaged, tmp_path / "other")
    damaged.write_bytes(whole + b"\n")
    with pytest.raises(BackupError, match="is damaged: its checksum does not match"):
        restored(damaged, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_another_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """The refusal names the version that made it."""
    file = tmp_path / "newer"
    with writing(file, HEAD.model_copy(update={"format": 2}), KEY):
        pass
    with pytest.raises(
        BackupError, match=r"a backup of format 2, made by Strandline 0\.1\.0; this version knows format 1"
    ):
        restored(file, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_state_of_a_newer_version_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """It could not be opened afterwards."""
    file = tmp_path / "newer"
    with writing(file, HEAD.model_copy(update={"state": VERSION + 1}), KEY):
        pass
    with pytest.raises(BackupError, match="whose state this version cannot read"):
        restored(file, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_home_that_is_not_empty_is_left_alone(backup: Path, tmp_path: Path) -> None:
    """Restoring never merges and never replaces."""
    home = tmp_path / "home"
    before = files_below(home)
    with pytest.raises(BackupError, match=r"is not empty \(agents, config\.toml, hooks, removed, state\.db\)"):
        restored(backup, home)
    assert files_below(home) == before


def test_an_empty_disk_or_an_empty_home_will_do(backup: Path, tmp_path: Path) -> None:
    """A mounted volume has a folder of its own; a home that was only made has nothing in it."""
    home = Home(tmp_path / "other")
    home.create()
    (home.path / "lost+found").mkdir()
    restored(backup, home.path)
    assert (home.agent("main").workspace / "MEMORY.md").is_file()
    assert not (home.path / ".restoring").exists()


def test_a_home_in_use_is_refused(backup: Path, tmp_path: Path) -> None:
    """Somebody may be about to fill it."""
    home = Home(tmp_path / "other")
    with home.lock("a test"), pytest.raises(HomeLockedError):
        restored(backup, home.path)


def test_a_restore_that_was_killed_is_not_taken_for_a_home(backup: Path, tmp_path: Path) -> None:
    """It says what to do; it is not begun a second time over the rest."""
    home = tmp_path / "other"
    (home / ".restoring").mkdir(parents=True)
    with pytest.raises(BackupError, match="was cut off; remove that folder"):
        restored(backup, home)


def test_the_secrets_that_are_missing_are_named(backup: Path, tmp_path: Path) -> None:
    """By the setting; one that is there is not."""
    assert restored(backup, tmp_path / "one") == ("channels.telegram.home.token_file",)


def test_settings_that_are_not_known_here_leave_no_home(tmp_path: Path) -> None:
    """A backup of a later version with the same format is refused by its key."""
    file = tmp_path / "later"
    with writing(file, HEAD, KEY) as writer:
        put(writer, tmp_path, "config.toml", b"[novel]\nkey = 1\n")
    with pytest.raises(ConfigError, match="novel: unknown key"):
        restored(file, tmp_path / "other")
    assert not files_below(tmp_path / "other")


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "agents/../../outside"])
def test_a_name_that_leads_outside_is_refused(name: str, tmp_path: Path) -> None:
    """A seal proves that nothing changed, not who made it."""
    file = tmp_path / "hostile"
    with writing(file, HEAD, KEY) as writer:
        put(writer, tmp_path, name, b"x")
    with pytest.raises(BackupError, match="which is not a file of a home"):
        restored(file, tmp_path / "other")
    assert not (tmp_path / "outside").exists()


def test_a_manifest_that_says_otherwise_is_refused(tmp_path: Path) -> None:
    """What comes out is compared to what went in, file by file."""
    file = tmp_path / "wrong"
    with writing(file, HEAD, KEY) as writer:
        put(writer, tmp_path, "config.toml", b"[owner]\n")
        writer.manifest.files["config.toml"].sha256 = "0" * 64
    with pytest.raises(BackupError, match="do not match its manifest"):
        restored(file, tmp_path / "other")
    assert not files_below(tmp_path / "other")


def test_other_files_are_no_backups(tmp_path: Path) -> None:
    """Text, nothing at all, somebody else's archive: one sentence each."""
    file = tmp_path / "file"
    other = io.BytesIO()
    with tarfile.open(fileobj=other, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("backup.json"))
        tar.addfile(tarfile.TarInfo("notes.md"))
    for content in (b"", b"text", gzip.compress(b"text"), other.getvalue(), gzip.compress(json.dumps({}).encode())):
        file.write_bytes(content)
        with pytest.raises(BackupError, match="not a backup that Strandline made"):
            restored(file, tmp_path / "other")
    with pytest.raises(BackupError, match="cannot be read: No such file"):
        restored(tmp_path / "absent", tmp_path / "other")


def test_a_full_disk_leaves_no_home(backup: Path, tmp_path: Path) -> None:
    """A file in the way of a folder stands for every refusal of the system."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        restored(backup, tmp_path / "file" / "home")


def put(writer: ArchiveWriter, folder: Path, name: str, content: bytes) -> None:
    """Put *content* into a backup as *name*."""
    file = folder / "content"
    file.write_bytes(content)
    with file.open("rb") as source:
        writer.file(name, source)
