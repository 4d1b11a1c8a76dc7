"""Git works for us alone: nobody's settings, no hook, no endless wait, and one writer at a time."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.patience import PATIENCE_S
from tests.workspaces.history.home import ORIGIN, START, Home
from tests.workspaces.turns import MAIN
from workspaces.errors import HistoryUnusableError
from workspaces.history import LogQuery, Origin
from workspaces.history.git_command import Git

ALL = LogQuery(limit=1000)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_nobodys_settings_count_and_no_hook_runs(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken configuration of the user's, hostile variables and hooks in the repository change nothing."""
    history = home.open()
    home.git("config", "--unset", "core.hooksPath")
    (home.root / ".gitconfig").write_text("[broken\n")
    monkeypatch.setenv("HOME", str(home.root))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.root))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {home.root}/ran")
    for name in ("post-commit", "reference-transaction", "pre-auto-gc", "post-index-change"):
        hook = home.git_dir / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {home.root}/ran\n")
        hook.chmod(0o700)
    made = history.record([home.put("a.md", "a\n")], None, ORIGIN)
    assert made is not None
    assert history.view(MAIN).show(made).diff.files
    assert history.maintain(START + timedelta(days=40))
    assert history.bundle(MAIN).exists()
    assert not (home.root / "ran").exists()


def test_a_process_begins_without_anybodys_settings(home: Home) -> None:
    """A broken configuration in the user's home is not even read, and whose the repository is does not matter."""
    (home.root / ".gitconfig").write_text("[broken\n")
    environment = {"HOME": str(home.root), "PATH": os.defpath}
    for label in ("one", "two"):
        command = [sys.executable, "-m", "tests.workspaces.history.committing", str(home.root), label, "1"]
        subprocess.run(command, input="\n", capture_output=True, text=True, check=True, env=environment)
        if os.geteuid() == 0:
            os.chown(home.git_dir, 12345, 12345)
    assert [commit.origin for commit in home.open().view(MAIN).log(ALL)] == [
        Origin("two", "0"),
        Origin("one", "0"),
        None,
    ]


def test_git_ends_at_its_deadline(home: Home) -> None:
    """A git that takes too long is stopped, and the refusal says so."""
    home.open()
    with pytest.raises(HistoryUnusableError, match="took too long"):
        Git(home.git_dir).run("-c", "alias.wait=!sleep 60", "wait", deadline_s=0.2)
    with pytest.raises(HistoryUnusableError, match="git log failed"):
        Git(home.git_dir).run("log", "nothing", deadline_s=PATIENCE_S)


def test_a_log_that_is_read_in_part_leaves_no_process(home: Home) -> None:
    """Whoever stops reading early ends git too."""
    history = home.open()
    for number in range(5):
        history.record([home.put("a.md", f"{number}")], None, ORIGIN)
    before = set(children())
    fields = Git(home.git_dir).fields("log", "-z", "--format=%H", "main", deadline_s=PATIENCE_S)
    next(fields)
    assert set(children()) - before
    fields.close()
    assert not set(children()) - before


def children() -> list[str]:
    """Return the numbers of this process's children, the dead that nobody waited for among them."""
    return [number for each in Path("/proc/self/task").glob("*/children") for number in each.read_text().split()]


def test_two_processes_lose_no_commit(home: Home) -> None:
    """Sixty commits of two processes at once are all there, one after the other."""
    home.open()
    command = [sys.executable, "-m", "tests.workspaces.history.committing", str(home.root)]
    both = [
        subprocess.Popen([*command, label, "30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for label in ("one", "two")
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate(timeout=50)[1] for process in both] == [None, None]
    assert [process.returncode for process in both] == [0, 0]
    history = home.open()
    origins = [commit.origin for commit in history.view(MAIN).log(ALL)]
    assert {each for each in origins if each} == {Origin(label, str(n)) for label in ("one", "two") for n in range(30)}
    assert (len(origins), history.repairs) == (61, ())
    assert home.is_sound()
