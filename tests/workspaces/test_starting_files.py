"""The files with which a workspace begins: one that lacks any is completed at a start."""

from pathlib import Path

from workspaces.access import AgentId
from workspaces.starting_files import is_complete
from workspaces.workspace import Workspace


def test_a_workspace_is_complete_until_a_file_of_a_new_one_is_missing(tmp_path: Path) -> None:
    """A used one needs no `BOOTSTRAP.md`; a start opens no complete one for what it might lack."""
    home = tmp_path / "workspace"
    assert not is_complete(home)
    home.mkdir(parents=True)
    assert not is_complete(home)
    Workspace.create(home, AgentId("main")).folder.close()
    assert is_complete(home)
    (home / "BOOTSTRAP.md").unlink()
    assert is_complete(home)
    (home / "SOUL.md").unlink()
    assert not is_complete(home)
    Workspace.create(home, AgentId("main")).folder.close()
    assert is_complete(home)
