"""Benchmark of the gateway as its owner runs it: starts, memory, commands, first moments, search, a request's size.

Homes were started before and have notes; memory is that of the gateway and its worker together (PSS).
"""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.figures import Figure, at_most
from bench.lived import USUAL, Around, Extent, LivedHome, command, lived_home, small_home
from bench.made_notes import questions
from bench.messages import by_telegram, timed_ms
from bench.observed import weight_mb
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import instant
from tests.journeys.house import OWNER
from tests.journeys.processes import Gateway

LOOKS, LOOK_EVERY_S, LEAST_MB = 5, 1.0, 1.0
"""A gateway is at rest once so many looks, one after the other, saw no change of its memory beyond this."""
QUESTION = "When did Ada work on the bicycle in Lisbon together with Tara?"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for homes, and their servers."""

    folder: Path
    bot: BotApi
    model: OpenAIStub

    @property
    def around(self) -> Around:
        """The servers' addresses."""
        return Around(self.bot.url, self.model.url)


async def run(extent: Extent = USUAL) -> list[Figure]:
    """Return the figures of this bench."""
    with tempfile.TemporaryDirectory() as name:
        async with BotApi() as bot, OpenAIStub(instant) as model:
            place = Place(Path(name), bot, model)
            lived = await asyncio.to_thread(lived_home, place.folder / "lived", place.around, extent)
            two = await asyncio.to_thread(small_home, place.folder / "two", place.around)
            five = await asyncio.to_thread(small_home, place.folder / "five", place.around, 5)
            return [
                *await _at_rest(place, two, five, extent.runs),
                *await _commands(two, extent.runs),
                *await _first_moments(place, lived, extent.runs),
                *await _searches(lived, extent),
                *await _request(place),
            ]


async def _at_rest(place: Place, two: LivedHome, five: LivedHome, runs: int) -> list[Figure]:
    starts, rests, news, fives = (list[float]() for _ in range(4))
    for number in range(runs):
        new = await asyncio.to_thread(small_home, place.folder / f"new{number}", place.around, lived=False)
        for made, weights in ((two, rests), (new, news), (five, fives)):
            began = time.perf_counter()
            async with up(made) as gateway:
                if made is two:
                    starts.append(time.perf_counter() - began)
                weights.append(await resting_mb(pid_of(gateway)))
    return [
        Figure("start to ready, two notes", starts, "s", at_most(0.5), "1.19, 1.04, 10.3"),
        Figure("at rest, second start of a home with two notes", rests, "MB", at_most(110), "99, 95, 927"),
        Figure("at rest, new home", news, "MB", at_most(90)),
        Figure("at rest, five agents with two notes each", fives, "MB", at_most(200)),
    ]


async def resting_mb(pid: int) -> float:
    """Return the memory of *pid* and its worker once it changes no more: a worker may load seconds after the start."""
    looks = [weight_mb(pid)]
    while len(looks) < LOOKS or max(looks[-LOOKS:]) - min(looks[-LOOKS:]) > LEAST_MB:
        await asyncio.sleep(LOOK_EVERY_S)
        looks.append(weight_mb(pid))
    return looks[-1]


async def _commands(made: LivedHome, runs: int) -> list[Figure]:
    async with up(made):
        statuses = [await asyncio.to_thread(command, made.home, "status") for _ in range(runs + 1)]
        helps = [await asyncio.to_thread(command, made.home, "--help") for _ in range(runs)]
    return [
        Figure("strandline status", statuses[1:], "s", at_most(0.25), "0.87, 0.61, 4.2"),
        Figure("strandline --help", helps, "s", at_most(0.15)),
    ]


async def _first_moments(place: Place, lived: LivedHome, runs: int) -> list[Figure]:
    starts, messages, searches = [], [], []
    for _ in range(runs):
        polls, began = len(place.bot.calls("getUpdates")), time.perf_counter()
        async with up(lived):
            starts.append(time.perf_counter() - began)
            await place.bot.wait_for_polls(polls + 1)
            messages.append(await timed_ms(partial(by_telegram, place.bot, OWNER), "Good morning!") / 1000)
        async with up(lived) as gateway:
            searches.append(await asyncio.to_thread(_search_ms, gateway, QUESTION) / 1000)
    return [
        Figure("start to ready, a year of notes", starts, "s", at_most(0.5)),
        Figure("first message after a start", messages, "s", at_most(0.15)),
        Figure("first search after a start", searches, "s", at_most(0.3)),
    ]


async def _searches(lived: LivedHome, extent: Extent) -> list[Figure]:
    async with up(lived) as gateway:
        times = [
            sorted([await asyncio.to_thread(_search_ms, gateway, each) for each in questions(extent.messages)])
            for _ in range(extent.runs + 1)
        ]
        weight = weight_mb(pid_of(gateway))
    return [
        Figure(
            f"search through the gateway, {extent.entries:,} entries",
            [each[extent.messages // 2] for each in times[1:]],
            "ms",
            at_most(6),
            "OpenClaw 183",
        ),
        Figure("memory of both processes after it", [weight], "MB"),
    ]


def _search_ms(gateway: Gateway, question: str) -> float:
    start = time.perf_counter()
    answer = gateway.get("/control/search", json.dumps({"query": question}).encode())
    assert answer["hits"], answer
    return (time.perf_counter() - start) * 1000


async def _request(place: Place) -> list[Figure]:
    """Measure the model request for "hello" in a new home."""
    made = await asyncio.to_thread(small_home, place.folder / "size", place.around, lived=False)
    async with up(made):
        place.model.bodies.clear()
        await by_telegram(place.bot, OWNER, "hello")
    body = place.model.bodies[0]
    size = len(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())
    return [
        Figure('model request for "hello"', [size / 1000], "KB", at_most(7), "30, 57, 61"),
        Figure("tools in it", [len(body["tools"])], ""),
    ]


@asynccontextmanager
async def up(made: LivedHome) -> AsyncIterator[Gateway]:
    """Run the gateway of *made* while the block runs."""
    gateway = made.gateway()
    await asyncio.to_thread(gateway.start)
    try:
        yield gateway
    finally:
        await asyncio.to_thread(gateway.stop)


def pid_of(gateway: Gateway) -> int:
    """Return the id of its process."""
    assert gateway.process is not None
    return gateway.process.pid
