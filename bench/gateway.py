"""Benchmark of the gateway as its owner runs it: `strandline up` as a process, with loopback servers around it."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, children_of, resident_mb
from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import OWNER, make_home, openai_section
from tests.journeys.processes import ROOT, Gateway, server

RUNS = 5
MESSAGES_A_RUN = 40
CHATS = 50
MESSAGES_A_CHAT = 6
IDLE_S = 3.0
"""Time for the memory worker to load before memory is measured."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for homes, and their servers."""

    folder: Path
    bot: BotApi
    model: str


async def run() -> list[Figure]:
    """Return the figures of this bench."""
    with tempfile.TemporaryDirectory() as name, server("openai_stub", Path(name)) as model:
        async with BotApi() as bot:
            place = Place(Path(name), bot, f"{model}/v1")
            return [
                *await asyncio.to_thread(_without_channels, place),
                *await _first_poll(place),
                *await _messages(place),
                await _throughput(place),
                await _request_size(place),
            ]


def _without_channels(place: Place) -> list[Figure]:
    boots, residents, workers, statuses = [], [], [], []
    for number in range(RUNS):
        gateway = Gateway(make_home(place.folder / f"bare{number}"), place.folder / "gateway.log")
        start = time.perf_counter()
        gateway.start()
        boots.append(time.perf_counter() - start)
        time.sleep(IDLE_S)
        assert gateway.process is not None
        residents.append(resident_mb(gateway.process.pid))
        workers.append(sum(resident_mb(child) for child in children_of(gateway.process.pid)))
        statuses.append(_status_s(gateway.home))
        gateway.stop()
    return [
        Figure("boot to ready, no channel", boots, "s", "< 1", "1.0-1.3, 0.8-1.1, 9-14"),
        Figure("resident, gateway process, idle", residents, "MB", "< 100", "95-130, 94, 970-1,030"),
        Figure("resident, memory worker, idle", workers, "MB"),
        Figure("strandline status", statuses, "s", "< 0.5", "0.7, 0.6, 4.2"),
    ]


def _status_s(home: Home) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "gateway", "status", "--home", str(home.path)]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, capture_output=True)
    return time.perf_counter() - start


async def _first_poll(place: Place) -> list[Figure]:
    polls, residents = [], []
    for number in range(RUNS):
        before = len(place.bot.calls("getUpdates"))
        start = time.perf_counter()
        async with _up(make_home(place.folder / f"poll{number}", place.bot.url), place) as gateway:
            await place.bot.wait_for_polls(before + 1, 30)
            polls.append(time.perf_counter() - start)
            assert gateway.process is not None
            residents.append(resident_mb(gateway.process.pid))
    return [
        Figure("start to first Telegram poll", polls, "s", "<= 5"),
        Figure("resident, gateway process with Telegram", residents, "MB"),
    ]


async def _messages(place: Place) -> list[Figure]:
    """Send one message at a time through the warm gateway, each run in a separate chat; the model is instant."""
    chats = [-2000 - number for number in range(RUNS + 1)]
    home = _home_with_groups(place, "warm", chats)
    runs: list[float] = []
    async with _up(home, place):
        for number, chat in enumerate(chats):
            times = [await _one(place.bot, chat) for _ in range(MESSAGES_A_RUN)]
            if number:  # the first run warms up
                runs.append(sorted(times)[len(times) // 2] * 1000)
    return [Figure("one message, receive to send, warm", runs, "ms", "< 20", "65, 181, 248")]


async def _one(bot: BotApi, chat: int) -> float:
    sent = len(bot.sent)
    start = time.perf_counter()
    bot.says(chat, "hello", user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")
    await bot.wait_for_sent(sent + 1)
    return time.perf_counter() - start


async def _throughput(place: Place) -> Figure:
    """Send to many groups at once; each group is a separate session."""
    chats = [-1000 - number for number in range(CHATS)]
    home = _home_with_groups(place, "many", chats)
    rates = []
    async with _up(home, place):
        for _ in range(RUNS + 1):
            before = len(place.bot.sent)
            start = time.perf_counter()
            for number in range(MESSAGES_A_CHAT):
                for chat in chats:
                    place.bot.says(chat, f"hello {number}", user_id=OWNER, chat_type="supergroup")
            await place.bot.wait_for_sent(before + CHATS * MESSAGES_A_CHAT, 120)
            rates.append(CHATS * MESSAGES_A_CHAT / (time.perf_counter() - start))
    return Figure("messages a second, 50 chats at once", rates[1:], "1/s", ">= 60", "16, 9, 4.7")


def _home_with_groups(place: Place, name: str, chats: Sequence[int]) -> Home:
    home = make_home(place.folder / name, place.bot.url, openai_section(place.model))
    groups = ", ".join(f'"{chat}" = {{ mention = false }}' for chat in chats)
    text = home.config_file.read_text()
    home.write(home.config_file, text.replace('"-100" = { mention = true }', groups))
    return home


async def _request_size(place: Place) -> Figure:
    """Measure the model request for "hello" in a new home."""
    async with OpenAIStub(lambda _: "Hi.") as model:
        home = make_home(place.folder / "size", place.bot.url, openai_section(model.url))
        async with _up(home, place):
            await _one(place.bot, OWNER)
        body = json.dumps(model.bodies[0], separators=(",", ":"), ensure_ascii=False)
    return Figure('model request for "hello"', [len(body.encode()) / 1000], "KB", "<= 12", "30, 57, 61")


@asynccontextmanager
async def _up(home: Home, place: Place) -> AsyncIterator[Gateway]:
    gateway = Gateway(home, place.folder / "gateway.log")
    await asyncio.to_thread(gateway.start)
    try:
        yield gateway
    finally:
        await asyncio.to_thread(gateway.stop)
