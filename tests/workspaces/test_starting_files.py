"""The files with which a workspace begins: one that lacks any is completed at a start."""

from pathlib import Path

import pytest

from workspaces.access import AgentId
from workspaces.starting_files import is_blank, is_complete, is_untouched, starting_text
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


@pytest.mark.parametrize("name", ["TOOLS.md", "IDENTITY.md", "USER.md", "MEMORY.md"])
def test_a_form_is_blank_until_it_says_more_than_its_template(name: str) -> None:
    """Shorter, spaced otherwise or empty it says no more; an entry, or a heading of the owner's own, is an entry."""
    form = starting_text(name)
    lines = form.splitlines()
    assert all(is_blank(name, text) for text in (form, form.replace("\n", "  \r\n\n"), lines[0], ""))
    assert not is_blank(name, form + "- tea\n")
    assert not is_blank(name, form + "## Sam is allergic to nuts\n")
    assert not is_blank(name, "\n".join([*lines[:-1], lines[-1] + " tea"]))


@pytest.mark.parametrize("name", ["AGENTS.md", "SOUL.md", "HEARTBEAT.md", "BOOTSTRAP.md"])
def test_a_text_with_instructions_is_no_form(name: str) -> None:
    """A template that says something stands in the prompt, and so does any other file."""
    assert not is_blank(name, starting_text(name))
    assert not is_blank(f"memory/{name}", starting_text("MEMORY.md"))


@pytest.mark.parametrize("name", ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "IDENTITY.md", "HEARTBEAT.md"])
def test_a_template_is_untouched_in_a_home_of_an_earlier_version_too(name: str) -> None:
    """Templates change: the file of an older home that nobody wrote in may give way to an imported one."""
    earlier = (Path(__file__).parents[1] / "homes/0.1.0/agents/main/workspace" / name).read_text("utf-8")
    assert is_untouched(name, starting_text(name))
    assert is_untouched(name, earlier)
    assert not is_untouched(name, earlier + "- tea\n")
    assert not is_untouched(f"memory/{name}", earlier)
