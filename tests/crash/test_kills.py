"""A gateway is killed again and again while several chats talk, with files to write and notes to add in between."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.home import Home
from tests.crash import judge
from tests.crash.nursery import Life, Nursery, nursery
from tests.crash.platform import Platform, telegram
from tests.crash.running import prepared, survive
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER

GROUPS = 4
ORDERS = ("", "write", "note", "", "write note")
AHEAD = 16
"""Messages that wait for their answers when a gateway starts: each kill meets work."""
MOST_ANSWERS = 6
"""How many of them it gives in its life; a moment later it dies."""
MOMENT_S = 0.03
SEED = 20261122


@dataclass
class Crowd:
    """People in several chats, who go on talking."""

    platform: Platform
    dice: random.Random
    told: dict[int, judge.Told] = field(default_factory=dict)
    said: int = 0

    def __post_init__(self) -> None:
        self.told[OWNER] = judge.Told(OWNER, "main", ())
        for chat in range(-GROUPS, 0):
            self.told[chat] = judge.Told(chat, self.platform.session(chat), ())

    def keep_talking(self) -> None:
        """Write until enough messages wait; only the owner's own chat has files to write."""
        while self.said - self.answered() < AHEAD:
            self.said += 1
            chat = self.dice.choice(list(self.told))
            orders = self.dice.choice(ORDERS if chat == OWNER else ("", "note"))
            self.told[chat] = self.told[chat].and_then(self.said, orders)
            self.platform.says(f"{self.said} {orders}".strip(), chat)

    def answered(self) -> int:
        """Return how many messages were answered."""
        return sum(len(set(judge.answers(self.platform, told))) for told in self.told.values())


async def killed_at_work(home: Home, crowd: Crowd, ward: Nursery) -> None:
    """Let a gateway answer something, and kill it a moment later, in the middle of its work."""
    crowd.keep_talking()
    answered = crowd.answered()
    child = await ward.fork(Life(str(home.path)))
    await crowd.platform.shows_more(answered + crowd.dice.randrange(MOST_ANSWERS), PATIENCE_S)
    is_idle = True
    while is_idle:
        crowd.keep_talking()
        await asyncio.sleep(crowd.dice.uniform(0, MOMENT_S))
        is_idle = crowd.answered() == crowd.said
    child.kill()
    assert await child.ended() < 0


async def survive_kills(folder: Path, kills: int) -> str:
    """Kill so often, judge, and return the figures."""
    async with telegram(GROUPS) as platform:
        return await survive_on(platform, prepared(folder / "home", platform), kills)


async def survive_on(platform: Platform, home: Home, kills: int, already: Sequence[tuple[int, str]] = ()) -> str:
    """Do so where the owner has said *already* something, which was answered."""
    async with nursery() as ward:
        crowd = Crowd(platform, random.Random(SEED))
        crowd.told[OWNER] = judge.Told(OWNER, "main", already)
        crowd.said = len(already)
        for _ in range(kills):
            await killed_at_work(home, crowd, ward)
        report = await survive(home, platform)
        tolds = list(crowd.told.values())
        judge.check_report(report)
        assert report.quarantined == 0, "a kill says nothing about what was being worked on"
        doubles = sum(judge.doubles(platform, told) for told in tolds)
        assert doubles <= min(kills * platform.doubles, len(report.unsure))
        for told in tolds:
            judge.check_transcript(home, told)
        judge.check_effects(home, tolds)
        judge.check_files(home)
        before = judge.everything(home, platform, tolds, report)
        assert judge.everything(home, platform, tolds, await survive(home, platform)) == before
        assert report.reasons.get("send_unsure", 0) == len(report.unsure)
    return f"{kills:,} kills, {crowd.said:,} messages, {doubles} answers twice, {len(report.unsure)} sends unsure"


async def test_fifty_kills(tmp_path: Path) -> None:
    """Each message is answered, in the order of its chat; at most one answer a kill comes twice, and is listed."""
    print(await survive_kills(tmp_path, 50))


@pytest.mark.nightly
async def test_a_thousand_kills(tmp_path: Path) -> None:
    """The same, for as long as it takes."""
    print(await survive_kills(tmp_path, 1_000))
