"""`strandline backup` and `strandline restore`, as they are typed."""

import json
from pathlib import Path

import pytest

from tests.gateway.cli.test_main import Terminal, at_home, terminal

__all__ = ["at_home", "terminal"]


def test_a_home_is_backed_up_and_restored(at_home: Terminal, tmp_path: Path) -> None:
    """For people and for machines; the next step is named."""
    file = tmp_path / "backup.tar.gz"
    made = at_home("backup", str(file))
    assert (made.status, made.err) == (0, "")
    assert f"{file}: " in made.out
    assert "files of main" in made.out
    again = at_home("backup", str(file))
    assert (again.status, again.out) == (1, "")
    assert again.err == f"strandline: {file} exists already; choose another name, or remove it first\n"
    shown = at_home("restore", str(file), "--home", str(tmp_path / "other"), home=False)
    assert shown.status == 0
    assert f"strandline up --home {tmp_path / 'other'}" in shown.out
    assert (tmp_path / "other/agents/main/workspace/SOUL.md").is_file()
    (tmp_path / "again").mkdir()
    restored = json.loads(at_home("restore", str(file), "--json", "--home", str(tmp_path / "again"), home=False).out)
    taken = json.loads(at_home("backup", str(tmp_path / "second.tar.gz"), "--json").out)
    assert (taken["files"], taken["agents"], taken["left_out"]) == (restored["files"], ["main"], [])
    assert taken["bytes"] == (tmp_path / "second.tar.gz").stat().st_size


def test_the_secrets_to_bring_along_are_named(terminal: Terminal, tmp_path: Path) -> None:
    """Once when they are left out, and once where they are missing."""
    home, file = tmp_path / "with-a-bot", str(tmp_path / "backup.tar.gz")
    terminal("init", "--yes", "--home", str(home), home=False)
    (home / "config.toml").write_text(
        '[owner]\npeople = ["telegram:7"]\n[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\n'
    )
    assert (
        "keep them elsewhere: channels.telegram.home.token_env"
        in terminal("backup", file, "--home", str(home), home=False).out
    )
    shown = terminal("restore", file, "--home", str(tmp_path / "other"), home=False).out
    assert "Its secret is not here yet: channels.telegram.home.token_env" in shown


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_place_that_is_not_there_is_one_line(terminal: Terminal, tmp_path: Path, command: str) -> None:
    """No home to back up, no file to restore."""
    failed = terminal(command, str(tmp_path / "file"), "--home", str(tmp_path / "absent"), home=False)
    assert failed.status == 1
    assert failed.err.startswith("strandline: ")
    assert len(failed.err.splitlines()) == 1
    assert not (tmp_path / "absent").exists()
