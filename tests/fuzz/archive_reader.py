"""Fuzzing of the archive reader: a backup is taken whole and within bounds, or refused in one sentence."""

import gzip
import tempfile
from pathlib import Path, PurePosixPath

from hypothesis import strategies as st

from gateway.backup.contents import ArchiveContents, examine
from gateway.backup.members import ArchiveLimits
from gateway.errors import BackupError
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated
from tests.gateway.backup.archives import forged, put, sealed

_LIMITS = ArchiveLimits(total=200_000, files=20, depth=5, manifest=10_000)
_BLOCK = 512
_LONGEST_REFUSAL = 2_000
_KNOTS = (
    *(
        bytes(_BLOCK),
        b"\x00",
        b"\xff",
        b"77777777777\x00",
        b"\x80" + b"\xff" * 11,
        b"../",
        b"/",
        b"agents/",
        b"ustar\x0000",
    ),
    *(
        b"30 path=agents/" + b"x" * 14 + b"\n",
        b"12 size=99\n",
        b"{}",
        b'{"files":{},"folders":[]}',
        b'"size":',
        b"9" * 20,
    ),
)


def _seeds() -> list[bytes]:
    """Return tars of homes as Strandline would write them."""
    files = {"config.toml": b"[owner]\n", "agents/main/MEMORY.md": b"- tea\n" * 200, "agents/" + "ä" * 90: b"x"}
    with tempfile.TemporaryDirectory() as folder:
        plain = forged(Path(folder) / "one", files)
        bare = forged(Path(folder) / "two", {})
        late = forged(Path(folder) / "three", files, lambda tar: put(tar, "agents/late", b"?"))
        return [gzip.decompress(file.read_bytes()) for file in (plain, bare, late)]


def check(given: tuple[bytes, bool]) -> None:
    """Raise AssertionError if an archive that is read is out of bounds, or anything is written beside it."""
    content, is_packed = given
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "backup"
        if is_packed:
            sealed(file, gzip.compress(content, 1, mtime=0))
        else:
            file.write_bytes(content)
        found = _examined(file)
        assert [each.name for each in Path(name).iterdir()] == ["backup"]
    if isinstance(found, str):
        assert len(found) < _LONGEST_REFUSAL
        assert "\n" not in found
        return
    assert found.size <= _LIMITS.total
    assert len(found.files) + len(found.folders) <= _LIMITS.files
    for path in map(PurePosixPath, (*found.files, *found.folders)):
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert len(path.parts) <= _LIMITS.depth


def _examined(file: Path) -> ArchiveContents | str:
    """Return what the backup holds, or why it is refused."""
    try:
        return examine(file, None, _LIMITS, lambda *_: None)
    except BackupError as exc:
        return str(exc)


_SEEDS = _seeds()
_PACKED = [gzip.compress(seed, 1, mtime=0) for seed in _SEEDS]
TARGET = Target(
    "archive reader",
    st.tuples(mutated(_SEEDS, _KNOTS), st.just(value=True)) | st.tuples(mutated(_PACKED, _KNOTS), st.just(value=False)),
    check,
)
