"""The floor and the benches beside it, with real processes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from bench import gateway, messages
from bench.floor import running_floor
from bench.lived import Extent
from bench.messages import by_telegram
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import instant
from tests.journeys.house import OWNER

SMALL = Extent(runs=1, messages=2, entries=28, chats=2)


async def test_the_floor_answers_and_what_it_took_is_durable(tmp_path: Path) -> None:
    """By Telegram and by HTTP: each message is in its store, and both its lines are in its conversation."""
    folder = tmp_path / "floor"
    async with BotApi() as bot, OpenAIStub(instant) as model:
        with running_floor(folder, bot.url, model.url) as floor:
            await by_telegram(bot, OWNER, "Good morning")
            async with aiohttp.ClientSession(floor.url) as http:
                await messages.by_http(http, "web", "hello")
        assert [(each.chat, each.text) for each in bot.sent] == [(OWNER, "You said: Good morning")]
        assert not model.problems
    with closing(sqlite3.connect(folder / "state.db")) as store, store:
        rows = store.execute("SELECT chat, text, answered FROM inbox ORDER BY id").fetchall()
    assert rows == [(str(OWNER), "Good morning", 1), ("web", "hello", None)]
    for chat, text in ((OWNER, "Good morning"), ("web", "hello")):
        said, answered = (folder / f"{chat}.jsonl").read_text().splitlines()
        assert text in said
        assert f"You said: {text}" in answered


@pytest.mark.nightly
async def test_messages_are_measured_beside_the_floor() -> None:
    """A small run of the whole: every figure is above nothing, and each way has its ratio."""
    figures = {figure.name: figure for figure in await messages.run(SMALL)}
    assert all(figure.value > 0 for figure in figures.values())
    assert {"owner's chat", "owner's chat, times the floor", "by HTTP, times the floor"} <= figures.keys()


@pytest.mark.nightly
async def test_lived_in_homes_are_measured() -> None:
    """A small run of the whole: the home with notes weighs more than the new one only by what it holds."""
    figures = {figure.name: figure for figure in await gateway.run(SMALL)}
    assert all(figure.value > 0 for figure in figures.values())
    assert figures["search through the gateway, 28 entries"].value < 1_000
