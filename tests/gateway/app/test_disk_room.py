"""What the owner hears of a disk before it is full."""

import asyncio
import shutil
from pathlib import Path

import pytest

from gateway.app.app import App
from gateway.app.disk_room import LOOK_EVERY_S, look_at_disk
from gateway.app.resources import Machine
from gateway.config import read_config
from tests.fakes.clock import ManualClock
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON, make_home, running

WEEK_S = 7 * 86_400.0
Usage = shutil._ntuple_diskusage


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (Usage(500_000_000_000, 499_100_000_000, 900_000_000), "has 900 MB left"),
        (Usage(4_000_000_000, 3_950_000_000, 50_000_000), "has 50 MB left"),
        (Usage(4_000_000_000, 3_100_000_000, 900_000_000), ""),
    ],
    ids=["a large disk", "a small disk", "room on a small disk"],
)
async def test_a_disk_with_little_room_is_told_once_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: Usage, told: str
) -> None:
    """Before messages are refused; a restart does not repeat it."""
    home, clock = make_home(tmp_path / "home"), ManualClock()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    for passes_s, times in ((0.0, 1), (LOOK_EVERY_S, 1), (WEEK_S, 2)):
        clock.advance(passes_s)
        with home.lock("a test"):
            config = read_config(home.config_file)
            async with App.open(home, config, ENVIRON, channels=False, machine=Machine(clock)) as app:
                await look_at_disk(app.parts.resources.home)
                rows = await app.parts.resources.home.store.outbox.unfinished()
        found = [row.outgoing.text for row in rows if "MB left" in row.outgoing.text]
        assert len(found) == (times if told else 0)
        assert all(told in text for text in found)


async def test_a_running_gateway_looks_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its start already."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(4_000_000_000, 3_950_000_000, 50_000_000))
    async with running(make_home(tmp_path / "home")) as app, asyncio.timeout(PATIENCE_S):
        while not await app.parts.resources.home.store.outbox.unfinished():  # noqa: ASYNC110  # there is no event
            await asyncio.sleep(0.01)
