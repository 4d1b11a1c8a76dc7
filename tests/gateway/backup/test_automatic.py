"""Backups by themselves: which are kept, when one is due, what their outcome was."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.backup.automatic import (
    BACKUP,
    DRILL,
    BackupOutcome,
    backup_troubles,
    due,
    expired,
    newest_backup,
    outcomes,
    record_outcome,
    take_automatic,
)
from gateway.backup.encryption import encrypted_with
from gateway.backup.seal import key_of
from gateway.config import BackupSettings, read_config
from gateway.errors import StoreError
from tests.gateway.backup.homes import make_home

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
DAILY = BackupSettings(every_hours=24)
LAST_ALONE = BackupSettings(every_hours=24, keep_days=1, keep_weeks=0, keep_months=0)


def test_the_newest_of_each_day_week_and_month_is_kept() -> None:
    """Of two years of backups, two a day: seven days, four weeks, six months; nothing that somebody else made goes."""
    times = [NOW - timedelta(hours=12 * number) for number in range(1_460)]
    files = [Path(f"/backups/auto-{at:%Y%m%dT%H%M%SZ}.tar.gz.enc") for at in times]
    gone = set(expired([*files, Path("/backups/mine.tar.gz.enc"), Path("/backups/auto-x.tar.gz.enc")], DAILY, NOW))
    kept = [at for at, file in zip(times, files, strict=True) if file not in gone]
    evening = NOW + timedelta(hours=12)
    assert kept[:7] == [NOW, *(evening - timedelta(days=number) for number in range(1, 7))]
    assert len(kept) == len(set(kept)) <= 7 + 4 + 6
    assert min(kept) == datetime(2026, 6, 30, 21, tzinfo=UTC)
    assert gone < set(files)
    assert expired(files[:1], DAILY, NOW) == []


async def test_one_is_made_encrypted_when_due_and_old_ones_go(tmp_path: Path) -> None:
    """Nothing plain is left; the next is due a day later; a drill is due once there is a backup."""
    home = await make_home(tmp_path / "home")
    config = read_config(home.config_file).model_copy(update={"backup": LAST_ALONE})
    assert list(due(home, DAILY, NOW)) == [BACKUP]
    assert list(due(home, BackupSettings(), NOW)) == []
    old = home.backups / "auto-20200101T000000Z.tar.gz.enc"
    home.backups.mkdir()
    (home.backups / "auto-20200102T000000Z.tar.gz.enc").write_bytes(b"")
    old.write_bytes(b"")
    taken = take_automatic(home, config, NOW)
    assert encrypted_with(taken.file) == key_of(home).name
    assert not old.exists()
    assert sorted(path.name for path in home.control_file.parent.iterdir()) == ["backup.lock"]
    assert newest_backup(home, DAILY, NOW) == taken.file
    record_outcome(home, BACKUP, BackupOutcome(NOW, True, str(taken.file)))
    assert list(due(home, DAILY, NOW + timedelta(hours=23))) == [DRILL]
    assert list(due(home, DAILY, NOW + timedelta(hours=24))) == [BACKUP, DRILL]


async def test_a_clock_that_was_ahead_once_holds_nothing_up(tmp_path: Path) -> None:
    """The backup of that moment is left alone: it takes no other's place, and is not the one to restore on trial."""
    home = await make_home(tmp_path / "home")
    config = read_config(home.config_file).model_copy(update={"backup": LAST_ALONE})
    ahead = take_automatic(home, config, NOW + timedelta(days=800)).file
    os.utime(ahead, times=((NOW + timedelta(days=800)).timestamp(),) * 2)
    for kind in (BACKUP, DRILL):
        record_outcome(home, kind, BackupOutcome(NOW + timedelta(days=800), True, ""))
    assert list(due(home, DAILY, NOW)) == [BACKUP, DRILL]
    taken = take_automatic(home, config, NOW).file
    os.utime(taken, times=(NOW.timestamp(),) * 2)
    assert sorted(home.backups.iterdir()) == [taken, ahead]
    assert newest_backup(home, DAILY, NOW) == taken
    record_outcome(home, BACKUP, BackupOutcome(NOW, True, ""))
    assert list(due(home, DAILY, NOW - timedelta(minutes=50))) == [DRILL]


async def test_a_failure_stays_until_one_succeeds(tmp_path: Path) -> None:
    """A folder that cannot be used is one line; what cannot be read counts as nothing."""
    home = await make_home(tmp_path / "home")
    config = read_config(home.config_file)
    (tmp_path / "file").write_text("")
    bad = config.model_copy(update={"backup": BackupSettings(folder=tmp_path / "file" / "backups")})
    with pytest.raises(StoreError, match=r"cannot be used \(Not a directory\); check the path"):
        take_automatic(home, bad, NOW)
    record_outcome(home, DRILL, BackupOutcome(NOW, False, "no key"))
    assert backup_troubles(home, BERLIN) == ("the latest drill of 2026-11-24 10:00 failed: no key",)
    record_outcome(home, DRILL, BackupOutcome(NOW, True, "all"))
    assert (backup_troubles(home, BERLIN), outcomes(home)[DRILL].said) == ((), "all")
    home.backups_file.write_text("[]")
    assert outcomes(home) == {}
