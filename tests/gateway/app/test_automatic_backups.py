"""The gateway's own backups and drills."""

import asyncio
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.backup.automatic import BACKUP, DRILL, BackupOutcome, outcomes, record_outcome
from gateway.backup.encryption import encrypted_with
from gateway.control.status_wire import StatusOrder
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running


async def becomes(home: Home, kinds: set[str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not outcomes(home).keys() >= kinds:  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.05)


async def test_a_gateway_backs_itself_up_encrypted_and_tells_of_a_failure(tmp_path: Path) -> None:
    """At its start if one is due; a folder that cannot be used stands in the status, and the owner is told once."""
    home = make_home(tmp_path / "home")
    with home.config_file.open("a") as config:
        config.write("\n[backup]\nevery_hours = 24\ndrill_days = 0\n")
    async with running(home):
        await becomes(home, {"backup"})
    (file,) = home.backups.iterdir()
    assert encrypted_with(file)
    assert outcomes(home).keys() == {"backup"} != {DRILL}
    home.backups_file.unlink()
    (tmp_path / "file").write_text("")
    home.config_file.write_text(
        home.config_file.read_text().replace("[backup]", f'[backup]\nfolder = "{tmp_path}/file/x"')
    )
    async with running(home) as app:
        await becomes(home, {"backup"})
        async with asyncio.timeout(PATIENCE_S):
            while not (state := await app.operator.ask(StatusOrder())).troubles:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    assert any("the latest backup of" in each and "Not a directory" in each for each in state.troubles)


async def test_a_backup_whose_process_dies_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a machine without memory: it records nothing, and an older success is not its reason."""
    home = make_home(tmp_path / "home")
    with home.config_file.open("a") as config:
        config.write("\n[backup]\nevery_hours = 24\ndrill_days = 0\n")
    record_outcome(home, BACKUP, BackupOutcome(datetime(2026, 11, 1, tzinfo=UTC), is_good=True, said="an older file"))
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    async with running(home) as app, asyncio.timeout(PATIENCE_S):
        while not (state := await app.operator.ask(StatusOrder())).troubles:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert "its process ended with status 1; `strandline backup --automatic` says more" in state.troubles[0]
