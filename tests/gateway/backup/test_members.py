"""A backup is read strictly: what no home holds is refused, within bounds, before anything is written."""

import gzip
import io
import os
import random
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from gateway.backup.contents import examine
from gateway.backup.members import ArchiveLimits
from gateway.errors import BackupError
from tests.gateway.backup.archives import HEAD, KEY, Add, forged, put, sealed

TIGHT = ArchiveLimits(total=200_000, files=20, depth=5, manifest=10_000)


def read(file: Path, limits: ArchiveLimits = TIGHT) -> None:
    examine(file, None, limits, lambda *_: None)


def special(kind: bytes, name: str = "agents/x", to: str = "/etc/passwd") -> Add:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return lambda tar: tar.addfile(member)


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE,
        b"V",
    ],
)
def test_links_devices_and_what_tar_knows_besides_are_refused(kind: bytes, tmp_path: Path) -> None:
    """Whatever they lead to; a backup holds regular files and folders."""
    with pytest.raises(BackupError, match="not a regular file or folder"):
        read(forged(tmp_path / "file", {}, special(kind)))


@pytest.mark.parametrize(
    "name",
    [
        "/etc/cron.d/x",
        "../x",
        "agents/../../x",
        "agents//x",
        "./config.toml",
        "agents/./x",
        "run/lock",
        "backup.key",
        "disabled-code.json",
        "state.db-wal",
        ".restoring/x",
        "hooks",
        "agents",
        "config.toml/x",
        "agents/" + "x" * 256,
        "agents/a/b/c/d/e",
    ],
)
def test_names_that_no_home_has_are_refused(name: str, tmp_path: Path) -> None:
    """Absolute, upwards, twisted, too long, too deep, or those by which a home trusts itself."""
    with pytest.raises(BackupError, match="the backup holds"):
        read(forged(tmp_path / "file", {name: b"x"}))


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """As a file, and as a file in place of a folder: the second one would be what counts."""
    with pytest.raises(BackupError, match="twice"):
        read(forged(tmp_path / "one", {"agents/a/x": b"1"}, lambda tar: put(tar, "agents/a/x", b"1")))
    with pytest.raises(BackupError, match="as a file and as a folder"):
        read(forged(tmp_path / "two", {"agents/a": b"1", "agents/a/x": b"1"}))
    with pytest.raises(BackupError, match=r"twice|as a file and as a folder"):
        read(forged(tmp_path / "three", {"agents/a/x": b"1", "agents/a": b"1"}))


def test_a_bomb_is_refused_in_little_memory(tmp_path: Path) -> None:
    """By its size, its number of files, the size of its list, and by how well it packs."""
    for limits, file, why in (
        (TIGHT, forged(tmp_path / "size", {"agents/x": bytes(300_000)}), "more than 200,000 bytes"),
        (TIGHT, forged(tmp_path / "many", {f"agents/{n}": b"" for n in range(30)}), "more than 20 files"),
        (ArchiveLimits(), forged(tmp_path / "ratio", {"agents/x": bytes(80 << 20)}), "300 times its size"),
        (ArchiveLimits(manifest=50), forged(tmp_path / "list", {"agents/x": b""}), "longer than 50 bytes"),
    ):
        tracemalloc.start()
        with pytest.raises(BackupError, match=why):
            read(file, limits)
        assert tracemalloc.get_traced_memory()[1] < 12 << 20, why
        tracemalloc.stop()


def test_an_extended_header_is_small_and_says_what_strandline_writes(tmp_path: Path) -> None:
    """The standard library would read one of any size into memory; a sparse file's map is none of ours."""
    for name, value in (("comment", "x"), ("GNU.sparse.major", "1"), ("linkpath", "/etc/passwd")):
        member = tarfile.TarInfo("agents/x")
        member.pax_headers = {name: value}
        with pytest.raises(BackupError, match="extended header"):
            read(forged(tmp_path / "file", {}, lambda tar, member=member: tar.addfile(member)))  # type: ignore[misc]
    huge = tarfile.TarInfo("agents/x")
    huge.pax_headers = {"path": "x" * 70_000}
    with pytest.raises(BackupError, match="extended header"):
        read(forged(tmp_path / "file", {}, lambda tar: tar.addfile(huge)))


def test_every_name_that_a_workspace_can_have_comes_back(tmp_path: Path) -> None:
    """Long, in any script, with a line end, and bytes that are no text."""
    names = ["agents/" + "ä" * 120, "agents/日本\n語", os.fsdecode(b"agents/\xff\xfe"), "agents/a b'c"]
    found = examine(forged(tmp_path / "file", dict.fromkeys(names, b"x")), None, TIGHT, lambda *_: None)
    assert list(found.files) == names


def test_whatever_the_bytes_are_it_ends_with_one_sentence(tmp_path: Path) -> None:
    """Cut, changed, doubled and mixed archives: an error of ours or an archive that is right, never another error."""
    chance = random.Random(7)  # the same archives every time
    plain = gzip.decompress(forged(tmp_path / "file", {"agents/ä": b"x" * 700, "config.toml": b""}).read_bytes())
    refused = 0
    for _ in range(600):
        content = bytearray(plain)
        for _ in range(chance.choice((1, 1, 2, 8))):
            match chance.randrange(4):
                case 0:
                    content[chance.randrange(len(content))] = chance.randrange(256)
                case 1:
                    del content[chance.randrange(len(content)) :]
                case 2:
                    at = chance.randrange(0, len(content) + 1, 512)
                    content[at:at] = content[chance.randrange(0, len(content) + 1, 512) :][:1024]
                case _:
                    at = chance.randrange(len(content) + 1)
                    content[at : at + 12] = chance.choice((b"77777777777\0", b"\x80" + b"\xff" * 11, b"x" * 12))
            content = content or bytearray(b"\0")
        try:
            read(sealed(tmp_path / "changed", gzip.compress(bytes(content), 1)))
        except BackupError:
            refused += 1
    assert refused > 300


def test_a_header_is_checked_before_its_content_is_read(tmp_path: Path) -> None:
    """One that announces more than there is ends as a damaged file."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        put(tar, "backup.json", HEAD.model_dump_json().encode())
        member = tarfile.TarInfo("agents/x")
        member.size = 8 << 30
        tar.fileobj.write(member.tobuf())
    with pytest.raises(BackupError, match=r"more than 200,000 bytes|damaged"):
        read(sealed(tmp_path / "file", gzip.compress(plain.getvalue()), KEY))
