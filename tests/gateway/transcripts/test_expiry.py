"""What helpers said is kept for a while, and for longer where a note cites it."""

import os
import time
from dataclasses import replace
from pathlib import Path

from gateway.admission.routing import SessionKey
from gateway.agent.entries import UserEntry
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.stores.rows import TurnId
from tests.gateway.sessions.resting import BERLIN, KEY, MAIN, Resting, resting

SETTINGS = LifecycleSettings(zone=BERLIN, keep_days=30)
CITED = "Tides are in sessions/subagent:tides-2.jsonl#L3, and (sessions/subagent:gone-9.jsonl#L1) is no more.\n"


async def spoke(house: Resting, name: str, days_ago: float) -> SessionKey:
    """Have something said in a session, so many days ago."""
    key = SessionKey(MAIN, name)
    entry = UserEntry("Look for tides.", house.clock.now(), "", "1")
    await (await house.sessions.open(key)).append(TurnId("t1"), entry)
    moment = house.clock.now().timestamp() - days_ago * 86_400
    os.utime(house.sessions.path(key), (moment, moment))
    return key


async def test_what_is_old_and_cited_nowhere_is_removed(tmp_path: Path) -> None:
    """Each is counted; younger ones, cited ones, one at work and all that is no helper's stay."""
    async with resting(tmp_path, SETTINGS) as house:
        old = [await spoke(house, f"subagent:old-{number}", 31) for number in range(2)]
        kept = [
            await spoke(house, "subagent:young-1", 29),
            await spoke(house, "subagent:tides-2", 400),
            await spoke(house, "subagent:busy-3", 31),
            await spoke(house, "cron:1", 400),
            await spoke(house, KEY.name, 400),
        ]
        torn = house.sessions.path(old[0]).with_name("subagent:old-0.jsonl.torn")
        torn.write_bytes(b"half a li")
        (house.agents[MAIN].workspace.folder.root / "projects.md").write_text(CITED, "utf-8")
        await house.lifecycle.forget_helpers({kept[2]})
        assert not any(house.sessions.path(key).exists() for key in old)
        assert not torn.exists()
        assert all(house.sessions.path(key).exists() for key in kept)
        assert house.counts == {"helper_forgotten": 2}
        await house.lifecycle.forget_helpers({kept[2]})
        assert house.counts == {"helper_forgotten": 2}


async def test_without_a_limit_all_are_kept(tmp_path: Path) -> None:
    """As long as there is a disk for them."""
    async with resting(tmp_path, replace(SETTINGS, keep_days=0)) as house:
        old = await spoke(house, "subagent:old-0", 10_000)
        await house.lifecycle.forget_helpers(())
        assert house.sessions.path(old).exists()


async def test_no_file_that_somebody_sent_holds_the_gateway_up(tmp_path: Path) -> None:
    """What is looked through for names takes as long as it is long, whatever is in it."""
    async with resting(tmp_path, SETTINGS) as house:
        await spoke(house, "subagent:old-0", 31)
        (house.agents[MAIN].workspace.folder.root / "sent.md").write_text("sessions/" * 20_000, "utf-8")
        begun = time.process_time()
        await house.lifecycle.forget_helpers(())
        assert time.process_time() - begun < 2
        assert house.counts == {"helper_forgotten": 1}
