"""Each agent has a folder of its own: no setting lets one reach another's files, or the gateway's."""

from pathlib import Path

import pytest

from gateway.app.agents import refuse_overlaps
from gateway.config.reading import parse_config
from gateway.errors import ConfigError
from gateway.home import Home


def check(folder: Path, main: str, other: str | None = None) -> None:
    """Look at a configuration of two agents; without a second workspace it is where it usually is."""
    home = Home(folder / "home")
    setting = f"workspace = '{other}'" if other else ""
    text = f"[agents.main]\nworkspace = '{main}'\n[agents.other]\n{setting}\n"
    refuse_overlaps(home, parse_config(text, home.config_file))


@pytest.mark.parametrize("main", ["notes", "../notes", "agents/main/workspace", "./agents/other/../main/workspace"])
def test_a_folder_of_its_own_is_taken(tmp_path: Path, main: str) -> None:
    """Anywhere, also where it would be without the setting."""
    check(tmp_path, main)


@pytest.mark.parametrize(
    "main",
    [
        *(".", "..", "/", "agents", "agents/main", "agents/main/sessions", "agents/main/workspace/deeper"),
        *("agents/other/workspace", "agents/other/workspace/skills", "run", "hooks", "hooks/mine", "removed"),
    ],
)
def test_what_the_gateway_keeps_is_nobodys_workspace(tmp_path: Path, main: str) -> None:
    """Conversations, histories, the control token, hooks, and other agents' homes."""
    with pytest.raises(ConfigError, match=r"^agents\.main\.workspace: the gateway keeps its own files in "):
        check(tmp_path, main)


@pytest.mark.parametrize(("main", "other"), [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a", "./x/../a/b")])
def test_two_agents_share_no_folder(tmp_path: Path, main: str, other: str) -> None:
    """Neither the same one nor one within the other, however it is written."""
    with pytest.raises(ConfigError, match="agent other would share files with it"):
        check(tmp_path, main, other)


def test_a_link_does_not_hide_that_a_folder_is_shared(tmp_path: Path) -> None:
    """Where a path leads counts."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a").mkdir()
    (tmp_path / "home" / "link").symlink_to("a")
    with pytest.raises(ConfigError, match="agent other would share files with it"):
        check(tmp_path, "a", "link")


def test_folders_of_hundreds_of_agents_are_compared_with_their_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work grows with the agents and not with their square; one folder inside another is still found."""
    pairs = 0

    def counted(one: Path, other: Path) -> bool:
        nonlocal pairs
        pairs += 1
        return one.is_relative_to(other) or other.is_relative_to(one)

    monkeypatch.setattr("gateway.app.agents._overlap", counted)
    many = "".join(f'[agents.a{n}]\nworkspace = "{tmp_path}/folders/f{n}"\n' for n in range(200))
    home = Home(tmp_path / "home")
    refuse_overlaps(home, parse_config(many, home.config_file))
    assert pairs < 200 * 6
    inside = f'[agents.z]\nworkspace = "{tmp_path}/folders/f7/notes"\n'
    with pytest.raises(ConfigError, match="share files"):
        refuse_overlaps(home, parse_config(many + inside, home.config_file))
