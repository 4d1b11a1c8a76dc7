"""`strandline backup` and `strandline restore`, as they are typed."""

import io
import json
import shutil
import sys
import time
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from tests.gateway.cli.terminal import Outcome, Terminal

RULES = """
from gateway.hooks import MESSAGE_SENT, on

@on(MESSAGE_SENT)
def looks(event): ...
"""


def test_a_home_is_backed_up_and_restored(at_home: Terminal, tmp_path: Path) -> None:
    """For people and for machines; the next step is named."""
    file = tmp_path / "backup.tar.gz"
    made = at_home("backup", str(file))
    assert (made.status, made.err) == (0, "")
    assert f"{file}: " in made.out
    assert "files of main" in made.out
    repeated = at_home("backup", str(file))
    assert (repeated.status, repeated.out) == (1, "")
    assert repeated.err == f"strandline: {file} already exists; choose another name, or remove it first\n"
    shown = at_home("restore", str(file), "--yes", "--home", str(tmp_path / "other"), home=False)
    assert shown.status == 0
    assert f"strandline up --home {tmp_path / 'other'}" in shown.out
    assert (tmp_path / "other/agents/main/workspace/SOUL.md").is_file()
    (tmp_path / "again").mkdir()
    restored = json.loads(
        at_home("restore", str(file), "--yes", "--json", "--home", str(tmp_path / "again"), home=False).out
    )
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
    shown = terminal("restore", file, "--yes", "--home", str(tmp_path / "other"), home=False).out
    assert "Its secret is still missing here: channels.telegram.home.token_env" in shown
    assert "run: strandline keys set BOT_TOKEN" in shown


def test_a_backups_moment_is_told_by_this_machines_clock(
    at_home: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after a restore: it is made in UTC."""
    monkeypatch.setattr("gateway.backup.taking.datetime", _March)
    file = str(tmp_path / "backup.tar.gz")
    at_home("backup", file)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert ": of 2026-03-01 11:30, by" in at_home("verify", file).out
        restored = at_home("restore", file, "--yes", "--home", str(tmp_path / "other"), home=False)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "as of 2026-03-01 11:30" in restored.out


class _March(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_March":
        return cls(2026, 3, 1, 10, 30, tzinfo=tz)


def test_a_backup_is_shown_before_it_is_restored(at_home: Terminal, tmp_path: Path) -> None:
    """Nothing is written without a yes; `verify` says the same, and what a home in use would lose."""
    (at_home.home.hooks).mkdir(mode=0o700)
    (at_home.home.hooks / "mine.py").write_text("x = 1\n")
    file, other = str(tmp_path / "backup.tar.gz"), str(tmp_path / "other")
    at_home("backup", file)
    shown = at_home("restore", file, "--home", other, home=False)
    assert (shown.status, shown.out) == (1, "")
    assert "runs      hooks/mine.py: disabled until strandline hooks enable" in shown.err
    assert "its seal cannot be checked" in shown.err
    assert shown.err.endswith("strandline: nothing was restored; check the plan above, and add --yes to restore it\n")
    assert not Path(other).exists()
    (at_home.home.agent("main").workspace / "later.md").write_text("- after it\n")
    verified = at_home("verify", file).out
    assert "seal      sealed with the key of this home" in verified
    assert "loses     only in the home (1): agents/main/workspace/later.md" in verified
    told = json.loads(at_home("verify", file, "--json").out)
    assert (told["seal"], told["missing"], told["runs"]) == (
        "valid",
        ["agents/main/workspace/later.md"],
        ["hooks/mine.py"],
    )
    wrong = at_home("restore", file, "--allow", "everything", "--home", other, home=False)
    assert (wrong.status, "--allow takes outside, unsealed, large" in wrong.err) == (2, True)


def test_code_of_a_restored_home_waits_for_one_command(at_home: Terminal, tmp_path: Path) -> None:
    """`doctor` and `hooks list` name it until then; a tool server's command is not started either."""
    place, file = at_home.home, str(tmp_path / "backup.tar.gz")
    place.hooks.mkdir(mode=0o700)
    (place.hooks / "mine.py").write_text(RULES)
    proof = tmp_path / "proof"
    place.write(place.config_file, f'[mcp.files]\ncommand = ["touch", "{proof}"]\n')
    at_home("backup", file)
    other = str(tmp_path / "other")
    assert "Disabled until you run" in at_home("restore", file, "--yes", "--home", other, home=False).out
    for command in ("doctor", "hooks list"):
        told = at_home(*command.split(), "--home", other, home=False)
        assert "hooks/mine.py, mcp.files" in told.out + told.err, command
        assert "strandline hooks enable" in told.out + told.err, command
    assert "mine.py:looks" not in at_home("hooks", "list", "--home", other, home=False).out
    assert not proof.exists()
    enabled = at_home("hooks", "enable", "--home", other, home=False).out
    assert enabled.splitlines()[0] == "enabled  hooks/mine.py"
    assert "mine.py:looks" in at_home("hooks", "list", "--home", other, home=False).out
    assert at_home("hooks", "enable", "--home", other, home=False).out == "No hook or tool server is disabled.\n"
    at_home("doctor", "--home", other, home=False)
    assert proof.exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_place_that_is_not_there_is_one_line(terminal: Terminal, tmp_path: Path, command: str) -> None:
    """No home to back up, no file to restore."""
    failed = terminal(command, str(tmp_path / "file"), "--home", str(tmp_path / "absent"), home=False)
    assert failed.status == 1
    assert failed.err.startswith("strandline: ")
    assert len(failed.err.splitlines()) == 1
    assert not (tmp_path / "absent").exists()


def test_a_home_comes_back_from_the_recovery_sheet_and_a_backup_alone(
    at_home: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an empty machine; without the key, with a slip or with the key of another sheet nothing is written."""
    file, other = tmp_path / "backup.tar.gz.enc", tmp_path / "other"
    made = at_home("backup", str(file), "--encrypt")
    assert (made.status, "bytes, encrypted" in made.out) == (0, True)
    sheet = at_home("backup", "--sheet").out
    groups = " ".join(line.strip() for line in sheet.split("\n")[5:8])
    assert "restore FILE --key" in sheet
    shutil.rmtree(at_home.home.path)

    def restored(*words: str, typed: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
        return at_home("restore", str(file), "--yes", *words, "--home", str(other), home=False)

    assert "there is no key here: take the key from the recovery sheet of that name, and add --key" in restored().err
    assert "is not the key of a recovery sheet" in restored("--key", typed=groups[:-1] + "x").err
    assert "and the key here is" in restored("--key", typed=f"{'00' * 32}66687aad").err
    assert not other.exists()
    done = restored("--key", typed=groups)
    assert (done.status, "sealed with the key of this home" in done.out) == (0, True), done.err
    assert (other / "agents/main/workspace/SOUL.md").is_file()
    assert at_home("verify", str(file), "--home", str(other), home=False).status == 0


def test_a_backup_without_a_home_makes_none(terminal: Terminal) -> None:
    """It names the command that does; a folder left by it would be open to others."""
    refused = terminal("backup")
    assert refused.status == 1
    assert f"make one: strandline init --home {terminal.home.path}\n" in refused.err
    assert not terminal.home.path.exists()
