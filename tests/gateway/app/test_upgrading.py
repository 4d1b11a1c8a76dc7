"""Trials of a version on copies of a home."""

import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from gateway.agent.recall import RecallSettings
from gateway.app.replay import ANSWERS, MEMORIES, RECEIPTS, REQUESTS, TURNS, replay
from gateway.app.trial import RecordedClock, opened_copy
from gateway.app.upgrading import (
    Installation,
    backup_name,
    installation,
    is_newer,
    refuse_newer,
    remove_old_backups,
    switch,
    try_on_copy,
)
from gateway.backup.comparison import differences
from gateway.backup.inventory import SAID, Figures, inventory
from gateway.config import read_config
from gateway.errors import BackupError
from gateway.home import Home
from tests.gateway.backup.homes import files_below
from tests.homes.laid_out import VERSIONS, laid_out
from tests.journeys.house import ENVIRON


async def replayed(home: Home) -> Figures:
    clock = RecordedClock()
    async with opened_copy(home, ENVIRON, clock) as app:
        return await replay(app, clock)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_home_of_each_version_is_opened_with_nothing_lost(tmp_path: Path, version: str) -> None:
    """Its lines, records, rows and commits; and every word of its conversations is read as it was written."""
    home = laid_out(version, tmp_path / "home")
    before = inventory(home, read_config(home.config_file))
    async with opened_copy(home, ENVIRON, RecordedClock()):
        pass
    after = inventory(home, read_config(home.config_file))
    assert differences(before, after) == []
    found = await replayed(home)
    assert differences({SAID: before[SAID]}, found) == []
    assert 8 <= len(found[RECEIPTS]) <= TURNS
    assert not [line for lines in found[REQUESTS].values() for line in lines if line.startswith("cannot be made")]
    assert any("✓ noted" in line for lines in found[RECEIPTS].values() for line in lines)
    assert any("third pot" in line for lines in found[MEMORIES].values() for line in lines)
    assert ("found",) in found[ANSWERS].values()


async def test_two_replays_are_equal_and_a_version_that_reads_otherwise_is_found(tmp_path: Path) -> None:
    """Another zone, a note that a group must not read: requests and memories differ, and say where."""
    one, same, other = (laid_out(VERSIONS[-1], tmp_path / name) for name in ("one", "same", "other"))
    before = await replayed(one)
    assert differences(before, await replayed(same)) == []
    other.config_file.write_text(other.config_file.read_text().replace("Europe/Berlin", "Asia/Tokyo"))
    notes = other.agent("main").workspace / "memory"
    shutil.copy(notes / "2026-11-23.md", notes / "shared/telegram.home.-100/2026-11-22.md")
    found = differences(before, await replayed(other))
    assert {each.topic for each in found} >= {REQUESTS, MEMORIES}
    assert any("group:telegram.home.-100" in each.place for each in found if each.topic == MEMORIES)


async def test_a_replay_waits_for_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: two versions must not differ because one of them was slow."""
    at_once = partial(RecallSettings, deadline_s=0.0, start_s=0.0)
    monkeypatch.setattr("gateway.app.agents.RecallSettings", at_once)
    found = await replayed(laid_out(VERSIONS[-1], tmp_path / "home"))
    assert any(line.startswith("recalled ") for lines in found[MEMORIES].values() for line in lines)


def test_a_trial_leaves_the_home_as_it_is_and_a_switch_migrates_it(tmp_path: Path) -> None:
    """By both versions in processes of their own; the copy is gone afterwards, and the backup stays."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    before, here = files_below(home.path), installation(None, ENVIRON)
    trial = try_on_copy(home, ENVIRON, here, here, home.backups / "before.tar.gz")
    after = files_below(home.path)
    assert trial.differences == ()
    assert (trial.turns > 8, trial.counts["files"] > 100) == (True, True)
    assert set(after) - set(before) == {"backups/before.tar.gz", "backup.key", "agents/main/history.git.lock"}
    assert {name: after[name] for name in before} == before
    assert not (home.path / "run/upgrade").exists()
    assert home.last_version == ""
    switch(home, here, ENVIRON)
    assert home.last_version == here.version


def test_the_newest_three_backups_before_trials_are_kept(tmp_path: Path) -> None:
    """By their time, whatever version they name; a trial removes the rest, and nothing that it did not make."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    home.backups.mkdir()
    names = [f"before-{version}-2026112{day}T101112000000Z.tar.gz" for day, version in enumerate(("9.0", "0.1", "0.2"))]
    others = ["before-holidays.tar.gz", "auto-20261120T101112Z.tar.gz.enc"]
    for name in (*names, *others):
        (home.backups / name).touch()
    here = installation(None, ENVIRON)
    taken = try_on_copy(home, ENVIRON, here, None, home.backups / backup_name(here)).backup.file.name
    assert {file.name for file in home.backups.iterdir()} == {*names[1:], *others, taken}
    remove_old_backups(home.backups)
    assert len(list(home.backups.iterdir())) == 5


def test_a_statement_counts_only_if_the_newer_version_alone_misses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each version chooses its own ten; another choice is no difference, and what neither finds is none either."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    found: dict[str, Figures] = {
        "old": {ANSWERS: {"the key": ("found",), "the boat": ("not found",), "the cat": ("found",)}},
        "new": {ANSWERS: {"the key": ["not found"], "the boat": ["not found"], "the dog": ["found"]}},
    }
    monkeypatch.setattr(Installation, "run", lambda self, _copy, step, _environ: (found[self.version], ""))
    old, new = (Installation(Path(name), name) for name in found)
    trial = try_on_copy(home, ENVIRON, new, old, home.backups / "before.tar.gz")
    assert [str(each) for each in trial.differences] == [f"{ANSWERS}: the key: the new version does not find it"]


def test_of_equal_versions_the_one_installed_later_is_the_newer() -> None:
    """Two checkouts have the same number; a time that is unknown decides nothing."""
    here = Installation(Path("a"), "0.1.0", 200.0)
    assert here.is_later(Installation(Path("b"), "0.1.0", 100.0))
    assert not here.is_later(Installation(Path("b"), "0.1.0", 300.0))
    assert not here.is_later(Installation(Path("b"), "0.1.0"))
    assert not here.is_later(Installation(Path("b"), "0.2.0", 100.0))
    assert Installation(Path("a"), "0.3.0", 50.0).is_later(here)
    assert installation(None, ENVIRON).installed_at > 0


def test_a_version_that_cannot_open_the_copy_is_a_difference(tmp_path: Path) -> None:
    """Its own words are shown; the home is as it was."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'strandline: the state cannot be migrated' >&2\nexit 1\n")
    broken.chmod(0o700)
    trial = try_on_copy(home, ENVIRON, Installation(broken, "9.0.0"), None, home.backups / "before.tar.gz")
    assert [str(each) for each in trial.differences] == [
        "the new version: opening the copy: the state cannot be migrated"
    ]
    with pytest.raises(BackupError, match=r"9\.0\.0 did not open the home, which is as it was: the state cannot"):
        switch(home, Installation(broken, "9.0.0"), ENVIRON)


def test_a_version_without_an_upgrade_is_told_by_its_remedy(tmp_path: Path) -> None:
    """Instead of the usage of a command line that nobody typed."""
    early = tmp_path / "python"
    early.write_text("#!/bin/sh\nprintf \"Usage: strandline\\n\\nError: No such command 'upgrade'.\\n\" >&2\nexit 2\n")
    early.chmod(0o700)
    found = Installation(early, "0.0.9").run(Home(tmp_path), "replay", ENVIRON)
    assert found == ({}, f"0.0.9 of {early} has no `upgrade` yet; leave --python out")


def test_a_home_of_a_newer_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """By the version that it names, and by the format of its state."""
    home, here = Home(tmp_path / "home"), installation(None, ENVIRON)
    home.create()
    refuse_newer(home, here)
    home.version_file.write_text("99.1.0\n")
    with pytest.raises(
        BackupError, match=r"last used by Strandline 99\.1\.0, .* install that version again, or restore"
    ):
        refuse_newer(home, here)
    assert is_newer("0.10.0", "0.9.3")
    assert not is_newer("", "0.1.0")


def test_an_environment_without_strandline_is_told(tmp_path: Path) -> None:
    """And one that is not there."""
    assert installation(Path(sys.executable), ENVIRON).version == VERSIONS[-1]
    with pytest.raises(BackupError, match="cannot be started"):
        installation(tmp_path / "nothing", ENVIRON)
    with pytest.raises(BackupError, match="has no Strandline; install it there first"):
        installation(Path(shutil.which("true") or "/bin/true"), ENVIRON)
