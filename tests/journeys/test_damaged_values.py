"""A gateway whose state remembers what nobody can read any more."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.control.status_wire import StatusOrder
from gateway.stores.remembered import UNREADABLE_VALUE
from tests.fakes.botapi import BotApi
from tests.journeys.house import OWNER, make_home, running

STRANGER = 99
REMEMBERED = (
    "choices:main",
    "cut_files:main",
    "group_requests",
    "heartbeat:main",
    "index_sizes:main",
    "known_names",
    "owner_chats",
    "pairing_chats:telegram.home",
    "state_loss",
    "web:sign_in",
)
MET = 4
"""Of these a start and these messages read so many at least; the others are read by views and notices."""


@pytest.mark.parametrize(
    "damaged", ["{", "7", '[["telegram"]]', '{"looked": "2026-11-29T09:00:00"}', "[" * 100_000], ids=range(5)
)
async def test_a_value_that_nobody_can_read_costs_itself_alone(tmp_path: Path, damaged: str) -> None:
    """The owner and a stranger are answered, at the next start too; the reason is counted."""
    async with BotApi() as bot:
        home = make_home(tmp_path / "home", bot.url)
        async with running(home):
            bot.says(OWNER, "/whoami")
            await bot.wait_for_sent(1)
        with closing(sqlite3.connect(home.state_db)) as state, state:
            for key in REMEMBERED:
                state.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (key, damaged))
        async with running(home) as app:
            bot.says(OWNER, "/whoami")
            bot.says(STRANGER, "hello?")
            bot.says(OWNER, "/group")
            answered = await bot.wait_for_sent(5)
            report = await app.operator.ask(StatusOrder())
        async with running(home):
            bot.says(OWNER, "/whoami")
            await bot.wait_for_sent(6)
    assert {each.chat for each in answered} == {OWNER, STRANGER}
    assert report.reasons[UNREADABLE_VALUE] >= MET
