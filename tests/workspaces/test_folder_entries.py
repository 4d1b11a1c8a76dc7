"""Names that lead to no plain file are left out one by one, named, and mended by the command that is shown."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest

from workspaces.files import Folder
from workspaces.folder_entries import SHOWN, describe_left_out, mend


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work space/memory").mkdir(parents=True)
    (tmp_path / "work space/plain.md").write_text("plain")
    return tmp_path / "work space"


@pytest.fixture
def folder(root: Path) -> Iterator[Folder]:
    with closing(Folder(root)) as folder:
        yield folder


def _linked(path: Path, outside: Path | None = None) -> None:
    path.write_text(path.name)
    path.chmod(0o640)
    os.link(path, (outside or path.parents[1]) / f"{path.name}.kept")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_linked, "it has 2 names (hard links)"),
        (lambda path: path.symlink_to("elsewhere"), "it is a symbolic link"),
        (os.mkfifo, "it is no regular file"),
    ],
)
def test_what_leads_to_no_plain_file_is_named_with_the_reason(
    folder: Folder, root: Path, make: Callable[[Path], None], why: str
) -> None:
    """Plain files, folders and what is not there are not."""
    make(root / "MEMORY.md")
    found = folder.left_out()
    assert describe_left_out(found) == f"MEMORY.md ({why})"
    assert folder.obstacle(PurePosixPath("MEMORY.md")) == found[0]
    assert folder.obstacle(PurePosixPath("plain.md")) is None
    assert folder.obstacle(PurePosixPath("memory")) is None
    assert folder.obstacle(PurePosixPath("no/where.md")) is None


def test_the_locks_of_editors_are_nobodys_notes(folder: Folder, root: Path) -> None:
    """A hidden link is not told of; a hidden file with a second name is."""
    (root / ".#plain.md").symlink_to("somebody@here.1234")
    assert folder.left_out() == []
    os.link(root / "plain.md", root / ".plain.md")
    assert [str(each.path) for each in folder.left_out()] == [".plain.md", "plain.md"]


@pytest.mark.parametrize("names", [["MEMORY.md"], ["a.md", "it's $1.md", "memory/b c.md"]])
def test_the_command_that_is_shown_mends_it(folder: Folder, root: Path, names: list[str]) -> None:
    """Every file is there again with its text and its mode, and what else had its name keeps it."""
    for name in names:
        _linked(root / name, root.parent)
    subprocess.run(["sh", "-c", mend(folder.root, folder.left_out())], check=True)
    assert folder.left_out() == []
    for name in names:
        assert folder.read(PurePosixPath(name)).data == Path(name).name.encode()
        assert (root / name).stat().st_mode & 0o777 == 0o640
        assert (root.parent / f"{Path(name).name}.kept").read_text() == Path(name).name


def test_many_names_are_shown_in_part(folder: Folder, root: Path) -> None:
    """The first few and how many more."""
    for number in range(SHOWN + 2):
        (root / f"{number}.md").symlink_to("elsewhere")
    found = folder.left_out()
    assert describe_left_out(found).endswith("4.md (it is a symbolic link) and 2 more")
    assert mend(root, found).startswith(f"put a regular file in the place of {root}/0.md, {root}/1.md, ")
