"""Who owns a home owns its agents' workspaces, and is refused before anything is written."""

from pathlib import Path

import pytest

from gateway.app.ownership import own
from gateway.cluster.workspace_locks import workspace_locks
from gateway.errors import ConfigError, HomeLockedError, WorkspaceLockedError
from gateway.home import Home
from workspaces.errors import WorkspaceUnusableError


def home_of(path: Path, settings: str) -> Home:
    path.mkdir()
    (path / "config.toml").write_text(settings)
    return Home(path)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_one_workspace_that_is_taken_keeps_the_whole_home_out(tmp_path: Path) -> None:
    """Of two agents one's workspace is in use by another home: no folder is made, and both homes are as they were."""
    shared = tmp_path / "shared"
    shared.mkdir()
    other, home = (
        Home(tmp_path / "other"),
        home_of(tmp_path / "home", f'[agents.a]\n[agents.b]\nworkspace = "{shared}"'),
    )
    other.create()
    with workspace_locks(other, {"x": shared}):
        before = names(tmp_path)
        with pytest.raises(WorkspaceLockedError, match=r"agents\.b\.workspace"), own(home, "a test", create=True):
            pytest.fail("two own it")
        assert names(tmp_path) == before
        with home.lock("a test"):
            assert home.holder_file.exists()


def test_workspaces_are_made_and_owned_where_that_is_wanted(tmp_path: Path) -> None:
    """Nobody else can take one that was missing; without the wish a missing one is left missing."""
    home = home_of(tmp_path / "home", "[agents.a]\n")
    workspace = home.agent("a").workspace
    with own(home, "a test"):
        assert not workspace.exists()
        with pytest.raises(HomeLockedError), home.lock("another"):
            pytest.fail("two own it")
    with own(home, "a test", create=True) as config:
        assert list(config.agents) == ["a"]
        with pytest.raises(WorkspaceLockedError), workspace_locks(Home(tmp_path / "other"), {"b": workspace}):
            pytest.fail("two own it")
    with workspace_locks(Home(tmp_path / "other"), {"b": workspace}):
        pass


@pytest.mark.parametrize("is_there", [True, False])
def test_a_workspace_on_a_disk_that_is_not_mounted_is_not_begun_anew(tmp_path: Path, is_there: bool) -> None:
    """It had files, as its history shows: new ones would hide them. With a file in it, it is the owner's wish."""
    home = home_of(tmp_path / "home", "[agents.a]\n")
    workspace = home.agent("a").workspace
    with own(home, "a test", create=True):
        pass
    home.agent("a").history.mkdir()
    if not is_there:
        workspace.rmdir()
    before = names(tmp_path)
    with pytest.raises(WorkspaceUnusableError, match="Mount its disk"), own(home, "a test", create=True):
        pytest.fail("it was begun anew")
    assert names(tmp_path) == before
    workspace.mkdir(exist_ok=True)
    (workspace / "MEMORY.md").touch()
    with own(home, "a test", create=True):
        pass


def test_settings_that_cannot_be_used_touch_nothing(tmp_path: Path) -> None:
    """They are read under the lock, and before anything is written."""
    home = home_of(tmp_path / "home", f'[agents.a]\n[agents.b]\nworkspace = "{tmp_path}/home/agents/a/workspace"')
    with pytest.raises(ConfigError, match=r"agents\.b\.workspace"), own(home, "a test", create=True):
        pytest.fail("it is owned")
    assert names(tmp_path) == {"home", "home/config.toml"}


def test_among_gateways_on_one_redis_the_claim_locks(tmp_path: Path) -> None:
    """To own a home there takes no workspace: another gateway, whose agents lie in the same folder, may work in it."""
    home = home_of(tmp_path / "home", '[redis]\nurl = "redis://127.0.0.1:1/0"\n[agents.a]\n')
    workspace = home.agent("a").workspace
    workspace.mkdir(parents=True)
    other = Home(tmp_path / "other")
    other.path.mkdir()
    other.agents.symlink_to(home.agents)
    with own(home, "a test", create=True), workspace_locks(other, {"a": other.agent("a").workspace}):
        pass
