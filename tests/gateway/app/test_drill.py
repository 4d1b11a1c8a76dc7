"""Drills: the newest backup, restored and asked."""

from pathlib import Path

from gateway.app.drill import drill
from gateway.backup.automatic import DRILL, outcomes, take_automatic
from gateway.backup.seal import KEY_NAME
from gateway.config import read_config
from gateway.runtime.clock import utc_now
from tests.homes.laid_out import VERSIONS, laid_out
from tests.journeys.house import ENVIRON


async def test_a_drill_restores_the_newest_backup_and_every_line_comes_back(tmp_path: Path) -> None:
    """The outcome is recorded and nothing is left; without key or file, or with a torn one, it fails and says why."""
    home = laid_out(VERSIONS[-1], tmp_path / "home")
    config = read_config(home.config_file)
    assert "there is no backup to restore" in (await drill(home, config, ENVIRON)).said
    taken = take_automatic(home, config, utc_now())
    outcome = await drill(home, config, ENVIRON)
    assert outcome.is_good, outcome.said
    assert f"lines of the notes come back from {taken.file.name}, made at 2026" in outcome.said
    assert outcomes(home)[DRILL] == outcome
    assert not (home.path / "run/drill").exists()
    taken.file.write_bytes(taken.file.read_bytes()[:-3])
    assert "is damaged or cut short" in (await drill(home, config, ENVIRON)).said
    (home.path / KEY_NAME).unlink()
    lost = await drill(home, config, ENVIRON)
    assert (lost.is_good, "there is no key here" in lost.said) == (False, True)
