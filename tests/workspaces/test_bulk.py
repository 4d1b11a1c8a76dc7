"""Many files at once: nothing is replaced, twins and full folders are refused, what was changed is not removed."""

from pathlib import Path, PurePosixPath

import pytest

from workspaces.bulk import add_files, remove_files
from workspaces.errors import BadPathError, FileChangedError, TooLargeError
from workspaces.file_slot import digest_of
from workspaces.files import FileCaps, Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


def of(*names: str) -> dict[PurePosixPath, bytes]:
    return {PurePosixPath(name): name.encode() for name in names}


def digests_of(files: dict[PurePosixPath, bytes]) -> dict[PurePosixPath, str]:
    return {path: digest_of(data) for path, data in files.items()}


def content(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in sorted(root.rglob("*")) if each.is_file()}


def test_many_files_are_there_and_gone_again(root: Path) -> None:
    """With their folders; a file that was changed since stays, with its folder."""
    folder, files = Folder(root), of("a.md", "notes/b.md", "notes/deep/c.md", "other/d.md")
    assert add_files(folder, files) == {}
    assert content(root) == {str(path): data for path, data in files.items()}
    (root / "notes/b.md").write_bytes(b"changed")
    assert remove_files(folder, digests_of(files)) == [PurePosixPath("notes/b.md")]
    assert content(root) == {"notes/b.md": b"changed"}
    assert [each.name for each in root.iterdir()] == ["notes"]
    assert remove_files(folder, digests_of(files)) == [PurePosixPath("notes/b.md")]


def test_nothing_is_replaced_and_twins_are_refused(root: Path) -> None:
    """The other files are written all the same, and no empty folder is left."""
    folder = Folder(root)
    (root / "a.md").write_bytes(b"mine")
    (root / "blocked").write_bytes(b"a file")
    refused = add_files(folder, of("a.md", "A.md", "b.md", "B.md", "blocked/c.md"))
    assert {str(path): type(exc) for path, exc in refused.items()} == {
        "A.md": BadPathError,
        "a.md": FileChangedError,
        "b.md": BadPathError,
        "blocked/c.md": BadPathError,
    }
    assert content(root) == {"B.md": b"B.md", "a.md": b"mine", "blocked": b"a file"}


def test_caps_hold_for_many_files_too(root: Path) -> None:
    """Names in a folder, and the size of a file."""
    folder = Folder(root, FileCaps(file_bytes=10, names=2))
    refused = add_files(folder, {**of("a", "b", "c"), PurePosixPath("d/e"): b"x" * 11})
    assert {str(path): type(exc) for path, exc in refused.items()} == {"c": TooLargeError, "d/e": TooLargeError}
    assert content(root) == {"a": b"a", "b": b"b"}
    assert not (root / "d").exists()
