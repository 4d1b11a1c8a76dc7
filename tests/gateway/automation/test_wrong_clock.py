"""A clock that was ahead once, such as that of a board without a battery, silences nothing when it is right again."""

from datetime import timedelta
from pathlib import Path

import pytest

from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock
from tests.gateway.automation.beating import open_beating
from tests.gateway.automation.test_heartbeat_runner import DAY, HOUR, OK, always, asked_at, berlin
from tests.gateway.automation.test_job_runner import NOON, OWNER, Tower

AHEAD_S = 400 * DAY.total_seconds()


async def test_jobs_go_on_and_the_owner_is_told_once(tmp_path: Path) -> None:
    """None of the slots that ran before is run again; also a job that was added while the clock was ahead goes on."""
    clock = ManualClock(NOON)
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    tower = Tower(store, clock)
    await tower.add("every 2h")
    await tower.add("0 9 * * *", "medicine")
    await tower.add("at 2026-12-24 09:00", "tree")
    before = [row.message.id for row in await tower.after(2 * HOUR.total_seconds())]
    await tower.after(AHEAD_S)
    assert [key.split(":")[1] for key in tower.told] == ["3"]
    await tower.add("every 3h", "added meanwhile")
    counted = (await tower.reasons())["schedule_missed"]
    await tower.after(60 - AHEAD_S)
    assert (await tower.reasons())["schedule_missed"] == counted + 3
    tower.job_runner = tower.restarted()
    rows = [row for _ in range(48) for row in await tower.after(HOUR.total_seconds())]
    ran = [(row.message.text, row.message.id) for row in rows]
    assert before == ["2026-03-01T14:00:00+00:00"]
    assert ran[0] == ("tea", "2026-03-01T16:00:00+00:00")
    assert len(ran) == len(set(ran)) == 24 + 2 + 16
    said, to = tower.told["schedule_missed:clock:main:2026-03-01"]
    assert (len(tower.told), to) == (2, OWNER)
    assert said == (
        "My clock was ahead for a while, so jobs of agent main waited for later dates, such as 2027-04-05 18:00, and "
        "were not run. From now on they run by their schedules again; `/cron` shows their next times."
    )
    await store.close()


@pytest.mark.parametrize("restarts", [True, False])
async def test_heartbeats_go_on(tmp_path: Path, *, restarts: bool) -> None:
    """Items come at their times, and `BOOT.md` runs at the next start."""
    async with open_beating(tmp_path, always(OK), berlin("2026-03-10 12:00")) as beating:
        beating.house.put("BOOT.md", "Say that you are up.")
        beating.lists("- [ ] daily 13:30 tea", "- [ ] every 2h look")
        await beating.pass_time(2 * HOUR)
        beating.clock.advance(AHEAD_S)
        await beating.heartbeats.begin()
        await beating.pass_time(HOUR)
        beating.clock.advance(-AHEAD_S)
        if restarts:
            beating.restart()
        await beating.heartbeats.begin()
        assert asked_at(beating)[-1] == "03-10 15:00"
        await beating.answer()
        assert (await beating.standing()).last_run is None
        asked = len(beating.entered)
        await beating.pass_time(3 * DAY, timedelta(minutes=30))
    assert len([each for each in asked_at(beating)[asked:] if each.endswith("13:30")]) == 3
    assert len(beating.entered) - asked == 3 * 12 + 3
