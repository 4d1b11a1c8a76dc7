"""`strandline upgrade`, as it is typed."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.gateway.backup.homes import files_below
from tests.gateway.cli.terminal import Terminal
from tests.homes.laid_out import VERSIONS, laid_out
from tests.journeys.house import ENVIRON

VERSION = VERSIONS[-1]


@pytest.fixture
def lived_in(terminal: Terminal) -> Terminal:
    """A terminal whose home was lived in."""
    shutil.rmtree(terminal.home.path, ignore_errors=True)
    laid_out(VERSION, terminal.home.path)
    return terminal


def test_a_version_is_tried_shown_and_used_once_the_owner_agrees(lived_in: Terminal) -> None:
    """First nothing changes; with --yes it switches, names the next step, and remembers the version."""
    shown = lived_in("upgrade", environ=os.environ | ENVIRON)
    assert (shown.status, shown.err) == (0, "")
    assert f"home      {lived_in.home.path}, last used by an earlier version" in shown.out
    assert f"compared  on a copy, Strandline {VERSION} with the home: " in shown.out
    assert "differs   nothing, of " in shown.out
    assert shown.out.endswith(" compared lines\nNothing was changed. To switch, add --yes.\n")
    assert lived_in.home.last_version == ""
    done = json.loads(lived_in("upgrade", "--yes", "--json", environ=os.environ | ENVIRON).out)
    assert (done["switched"], done["differences"], done["to"]) == (True, [], VERSION)
    assert Path(done["backup"]).is_file()
    assert lived_in.home.last_version == VERSION


def test_differences_are_shown_and_only_a_person_switches_in_spite_of_them(
    lived_in: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 1; --yes is not enough; the home is as it was."""
    newer = tmp_path / "python"
    notes = lived_in.home.path / "run/upgrade/new/agents/main/workspace/memory"
    newer.write_text(
        '#!/bin/sh\n[ "$4" = --version ] && echo strandline 9.0.0 && exit 0\n'
        f'case "$*" in *"--step open"*) for i in {notes}/*.md; do : > "$i"; done; exit 0;; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    newer.chmod(0o700)
    before = files_below(lived_in.home.path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    shown = lived_in("upgrade", "--yes", "--python", str(newer), environ=os.environ | ENVIRON)
    assert shown.status == 1
    assert "differs   files: agents/main/workspace/memory/2026-11-23.md: " in shown.out
    assert "but only in the replay" not in shown.out
    assert shown.out.endswith("Nothing was changed. To switch in spite of this, run it at a terminal.\n")
    after = files_below(lived_in.home.path)
    assert {name: after[name] for name in before} == before


def test_many_differences_of_a_replay_are_a_few_lines_and_told_from_losses(lived_in: Terminal, tmp_path: Path) -> None:
    """Each turn differs where a version words its instructions otherwise: five are shown, and the rest counted."""
    newer = tmp_path / "python"
    newer.write_text(
        '#!/bin/sh\n[ "$4" = --version ] && echo strandline 9.0.0 && exit 0\n'
        f'case "$*" in *"--step open"*) exec {sys.executable} "$@";; esac\n'
        f'{sys.executable} "$@" | sed "s/personal agent/impersonal agent/g"\n'
    )
    newer.chmod(0o700)
    shown = lived_in("upgrade", "--python", str(newer), environ=os.environ | ENVIRON)
    lines = [line for line in shown.out.splitlines() if line.startswith("differs   ")]
    assert (shown.status, len(lines)) == (1, 5)
    assert all(line.startswith("differs   requests to the model: main") for line in lines)
    assert " more of requests to the model: --json\n" in shown.out
    assert "but only in the replay: the new version words its requests or chooses memories differently" in shown.out
    assert f"by {VERSION} of {sys.executable} and by 9.0.0 of {newer}" in shown.out


def test_what_cannot_be_tried_is_one_line_with_its_remedy(
    terminal: Terminal, lived_in: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No home, a newer home, no space, no such environment, a home in use when it would be switched."""

    def complaint(*words: str, status: int = 1) -> str:
        shown = lived_in("upgrade", *words, environ=os.environ | ENVIRON)
        assert (shown.status, shown.err.count("\n")) == (status, 1), shown
        return shown.err

    assert "cannot be started" in complaint("--python", str(tmp_path / "none"))
    with lived_in.home.lock("strandline up"):
        assert "is in use by process" in complaint("--yes", status=3)
    assert not lived_in.home.backups.exists(), "it is told before the trial"
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
        assert "0 are free: free some space; nothing was changed" in complaint()
    lived_in.home.version_file.write_text("99.0.0\n")
    assert "was last used by Strandline 99.0.0" in complaint()
    shutil.rmtree(lived_in.home.path)
    assert "there is no home at" in complaint()


def test_a_killed_upgrade_leaves_the_home_untouched_or_complete_and_the_next_one_succeeds(tmp_path: Path) -> None:
    """Killed with its children before the backup, on the copy, and while the copy is opened.

    On a busy machine a moment may be over before it is seen: then the upgrade was complete.
    """
    home = laid_out(VERSION, tmp_path / "home")
    before = {name: content for name, content in files_below(home.path).items() if name != "state.db"}
    words = [sys.executable, "-m", "gateway", "upgrade", "--yes", "--home", str(home.path)]
    for moment in ("run/upgrade", "run/upgrade/new/.restoring", "run/upgrade/new/run/holder"):
        process = subprocess.Popen(words, env=os.environ | ENVIRON, start_new_session=True, stdout=subprocess.DEVNULL)
        while not (home.path / moment).exists() and process.poll() is None:
            time.sleep(0.001)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() in {-signal.SIGKILL, 0}
        after = files_below(home.path)
        assert {name: after[name] for name in before} == before
        assert home.last_version in {"", VERSION}
    again = subprocess.run(words, env=os.environ | ENVIRON, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")
    assert "differs   nothing" in again.stdout
    assert not (home.path / "run/upgrade").exists()
    assert home.last_version == VERSION
