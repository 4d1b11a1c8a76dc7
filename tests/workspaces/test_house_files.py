"""Tests of files with the mark `house`: what readers here and elsewhere see of them, and what writers leave."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.turns import AGENT, MAIN
from workspaces.access import Locality, read_by
from workspaces.errors import EditError, FileChangedError, NoSuchFileError
from workspaces.house import HouseFolders
from workspaces.workspace import Workspace

HERE = read_by(MAIN, Locality.HERE)
FILES = {
    "plan.md": "- tea\n- the code is 7 #house\n- cake\n",
    "doctor.md": "---\nhouse: true\n---\n\nill\n",
    "private/will.md": "- to Kim\n",
    "plain.md": "- nothing\n",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    opened = Workspace.open(tmp_path, AGENT, house=HouseFolders((PurePosixPath("private"),)))
    yield opened
    opened.folder.close()


def test_a_reader_elsewhere_sees_the_other_lines_with_their_numbers(workspace: Workspace) -> None:
    """One here sees all of it, and is told that it holds such lines."""
    outside, here = workspace.read("plan.md", MAIN), workspace.read("plan.md", HERE)
    assert (outside.text, outside.whole, outside.total_lines) == ("- tea\n\n- cake\n", "- tea\n\n- cake\n", 3)
    assert (here.text, here.is_house) == (FILES["plan.md"], True)
    assert not workspace.read("plan.md", HERE, first_line=3).is_house
    assert not workspace.read("plain.md", HERE).is_house


@pytest.mark.parametrize("path", ["doctor.md", "private/will.md", "private", "private/new.md"])
def test_a_marked_file_or_folder_is_not_there_for_a_reader_elsewhere(workspace: Workspace, path: str) -> None:
    """It looks like one that does not exist, to whatever is done with it."""
    for act in (
        lambda: workspace.read(path, MAIN),
        lambda: b"".join(workspace.pieces(path, MAIN, 1_000)),
        lambda: workspace.list(path, MAIN),
        lambda: workspace.edit(path, "a", "b", MAIN),
    ):
        with pytest.raises(NoSuchFileError, match="there is no such file"):
            act()
    assert workspace.compare(path, MAIN, None) is None
    assert workspace.withholds(path, MAIN) == (path in FILES)


def test_a_listing_elsewhere_has_neither_their_names_nor_their_size(workspace: Workspace) -> None:
    """The size of a file is that of what may be read."""
    assert {each.name: each.size for each in workspace.list(".", MAIN).entries} == {"plan.md": 14, "plain.md": 10}
    listing = workspace.list(".", HERE)
    assert {each.name for each in listing.entries} == {"plan.md", "doctor.md", "private", "plain.md"}
    assert listing.is_house


def test_a_writer_elsewhere_leaves_marked_lines_where_they_are(workspace: Workspace) -> None:
    """By an edit, a whole new text, or a deletion; and none of it shows what stands there."""
    workspace.edit("plan.md", "- tea", "- milk", MAIN)
    assert workspace.read("plan.md", HERE).text == "- milk\n- the code is 7 #house\n- cake\n"
    written = workspace.write("plan.md", "# New\n", MAIN, workspace.read("plan.md", MAIN))
    assert "7" not in written.whole
    assert "- the code is 7 #house" in workspace.read("plan.md", HERE).text
    with pytest.raises(EditError):
        workspace.edit("plan.md", "the code is 7", "x", MAIN)
    workspace.delete("plan.md", MAIN, workspace.read("plan.md", MAIN))
    assert workspace.read("plan.md", HERE).text == "- the code is 7 #house\n"


def test_a_difference_shows_no_marked_line_elsewhere(workspace: Workspace) -> None:
    """Not even where the file changed since it was read."""
    seen = workspace.read("plan.md", MAIN)
    workspace.edit("plan.md", "the code is 7", "the code is 8", HERE)
    with pytest.raises(FileChangedError) as changed:
        workspace.write("plan.md", "x", MAIN, seen)
    assert "code" not in str(changed.value)


def test_whether_any_file_has_the_mark_is_known_after_each_change(workspace: Workspace) -> None:
    """Also where the only one of them has lost it."""
    assert workspace.holds_house()
    for name in ("doctor.md", "private/will.md"):
        workspace.delete(name, HERE, workspace.read(name, HERE))
    workspace.edit("plan.md", " #house", "", HERE)
    assert not workspace.holds_house()
    workspace.edit("plan.md", "cake", "cake #house", HERE)
    assert workspace.holds_house()
