"""Two days with an agent, a new version, and a question about the first day."""

import os
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.control.cron_wire import CronOrder
from tests.homes.laid_out import VERSIONS, laid_out
from tests.journeys.house import ENVIRON, running
from tests.journeys.test_backup import said


@pytest.mark.parametrize("version", VERSIONS)
async def test_after_an_upgrade_everything_is_remembered(
    tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was said, and the job; the answer comes from the offline responder."""
    home = laid_out(version, tmp_path / "home")
    home.config_file.write_text(
        home.config_file.read_text("utf-8").replace('model = "stub"', 'model = "offline"'), "utf-8"
    )
    words = ["upgrade", "--yes", "--home", str(home.path)]
    assert main.run(words, os.environ | ENVIRON, "strandline") == 0
    assert "differs   nothing, of " in (shown := capsys.readouterr().out)
    assert "\nSwitched to Strandline " in shown
    async with running(home) as app:
        answer = await said(app, "Where is the spare key?")
        jobs = (await app.operator.ask(CronOrder("list"))).jobs
    assert "third pot" in answer
    assert len(jobs) == 1
