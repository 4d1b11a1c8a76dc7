"""The locks on workspaces: what overlaps is refused, what only lies near is not."""

import os
from pathlib import Path

import pytest

from gateway.cluster.workspace_locks import workspace_locks
from gateway.errors import WorkspaceLockedError
from gateway.home import Home


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    one, two = Home(tmp_path / "one"), Home(tmp_path / "two")
    one.create()
    two.create()
    return one, two


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ("notes", "notes of agent b is in use by"),
        ("notes/a/b", "notes/a/b of agent b lies in {top}/notes, which is in use by"),
        (".", "{top} of agent b contains {top}/notes, which is in use by"),
        ("other", ""),
        ("notes-too", ""),
    ],
)
def test_folders_that_overlap_have_one_gateway(
    homes: tuple[Home, Home], tmp_path: Path, theirs: str, said: str
) -> None:
    """In each direction; a neighbour is nobody's business."""
    top = tmp_path / "documents"
    for name in ("notes", "notes/a/b", "other", "notes-too"):
        (top / name).mkdir(parents=True, exist_ok=True)
    mine, other, (one, two) = {"a": top / "notes"}, {"b": top / theirs}, homes
    with workspace_locks(one, mine):
        if said:
            refused = pytest.raises(WorkspaceLockedError)
            with refused as told, workspace_locks(two, other):
                pytest.fail("two work there")
            assert said.format(top=top) in str(told.value)
            assert f"process {os.getpid()} of the home {one.path}; stop that one first" in str(told.value)
            assert not (top / "other.holder").exists()
        else:
            with workspace_locks(two, other):
                pass
    with workspace_locks(two, other):
        pass
    assert not list(tmp_path.rglob("*.holder"))


def test_a_home_inside_another_one_is_free(homes: tuple[Home, Home]) -> None:
    """Its agents' folders lie in the other home, which is locked; they are nobody's but its own."""
    one, _ = homes
    inner = Home(one.path / "second")
    inner.create()
    workspace = inner.agent("main").workspace
    workspace.mkdir(parents=True)
    with one.lock("a test"), inner.lock("a test"), workspace_locks(inner, {"main": workspace}):
        pass


def test_one_refusal_gives_everything_back(homes: tuple[Home, Home], tmp_path: Path) -> None:
    """A gateway with two agents, one of whose workspaces is taken, keeps neither, and names nobody."""
    one, two = homes
    folders = {name: tmp_path / name for name in "abc"}
    for folder in folders.values():
        folder.mkdir()
    with workspace_locks(one, {"b": folders["b"]}):
        with pytest.raises(WorkspaceLockedError, match=r"agents\.b\.workspace"), workspace_locks(two, folders):
            pytest.fail("two work there")
        assert [file.name for file in tmp_path.glob("*.holder")] == ["b.holder"]
        with workspace_locks(one, {"a": folders["a"]}):
            pass


def test_a_holder_that_cannot_be_told_of_is_another_process(homes: tuple[Home, Home], tmp_path: Path) -> None:
    """Who deleted what tells of it has deleted no lock; the refusal says how to find the process."""
    one, two = homes
    notes = tmp_path / "notes"
    notes.mkdir()
    with workspace_locks(one, {"a": notes}):
        (tmp_path / "notes.holder").unlink()
        refused = rf"in use by another process \(fuser -v {notes} names it\)"
        with pytest.raises(WorkspaceLockedError, match=refused), workspace_locks(two, {"a": notes}):
            pytest.fail("two work there")


def test_what_a_killed_gateway_of_another_home_left_names_nobody(homes: tuple[Home, Home]) -> None:
    """A home's own gateway, which its home names, takes the note away that lies beside its workspace."""
    one, two = homes
    workspace = one.agent("main").workspace
    workspace.mkdir(parents=True)
    workspace.with_name("workspace.holder").write_text("process 1 of the home /gone")
    with one.lock("a test"), workspace_locks(one, {"main": workspace}):
        refused = rf"process {os.getpid()} \(a test\) of the home {one.path};"
        with pytest.raises(WorkspaceLockedError, match=refused), workspace_locks(two, {"b": workspace}):
            pytest.fail("two work there")
