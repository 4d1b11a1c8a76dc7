"""What a gateway keeps small by itself."""

import asyncio
import os
from pathlib import Path

from gateway.observability.logs import LARGEST_LOG
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running


async def test_the_log_of_a_launchd_agent_is_rotated(tmp_path: Path) -> None:
    """At a start, and once a day."""
    home = make_home(tmp_path / "home")
    home.service_log.parent.mkdir(exist_ok=True)
    home.service_log.touch()
    os.truncate(home.service_log, LARGEST_LOG + 1)
    async with running(home), asyncio.timeout(PATIENCE_S):
        while home.service_log.stat().st_size:  # noqa: ASYNC110  # there is no event for it
            await asyncio.sleep(0.01)
    assert (tmp_path / "home/run/service.log.1").stat().st_size == LARGEST_LOG + 1
