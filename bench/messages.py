"""Benchmark of a message beside the floor: in the owner's own chat, in a group, by HTTP, and fifty chats at once.

The gateway is `strandline up` on a lived-in home, started for the second time. It and the floor take turns in the same
run, each with a Bot API of its own; the model answers at once. The servers share the machine's cores with both.
"""

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp

from bench.figures import Figure, at_least, at_most, percentile, ratio
from bench.floor import RunningFloor, running_floor
from bench.lived import TOKEN, USUAL, Around, Extent, LivedHome, lived_home
from bench.made_notes import questions
from bench.observed import all_processor_ms
from tests.fakes.botapi import BotApi
from tests.journeys.house import OWNER
from tests.journeys.processes import server

MESSAGES_A_CHAT = 6
BURST_A_CHAT = 4
SAYINGS = (
    "Good morning! I slept rather well for once.",
    "I am off to the workshop, the saddle needs another coat of oil.",
    "We had soup and bread at noon, it was too salty.",
    "My sister may come over at the weekend if the trains run.",
    "Please keep it short, I am on my bicycle.",
    "It has been raining since six and the cellar is damp.",
    "That was quick, thank you!",
    "I think I will read a little and go to bed.",
)

Say = Callable[[str], Awaitable[None]]
"""Sends a message, and returns once its answer is there."""


@dataclass(frozen=True, slots=True)
class Told:
    """Messages that were sent one after the other, in runs."""

    medians: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """Milliseconds of all processes a message, of each run."""
    every: list[float] = field(default_factory=list)

    def figures(self, name: str, limit: float | None = None, rivals: str = "") -> list[Figure]:
        """Return the median, the percentiles and the processor time."""
        return [
            Figure(name, self.medians, "ms", at_most(limit) if limit else None, rivals),
            Figure(f"{name}, 95th percentile", [percentile(self.every, 0.95)], "ms"),
            Figure(f"{name}, 99th percentile", [percentile(self.every, 0.99)], "ms"),
            Figure(f"{name}, processor time", self.processor, "ms"),
        ]


@dataclass(frozen=True, slots=True)
class Place:
    """A gateway and the floor, both running, with what talks to them."""

    bot: BotApi
    floor_bot: BotApi
    pid: int
    floor: RunningFloor
    http: aiohttp.ClientSession
    floor_http: aiohttp.ClientSession
    made: LivedHome


async def run(extent: Extent = USUAL) -> list[Figure]:
    """Return the figures of this bench."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = f"{stack.enter_context(server('openai_stub', folder))}/v1"
        bot, floor_bot = [await stack.enter_async_context(BotApi()) for _ in range(2)]
        made = await asyncio.to_thread(lived_home, folder / "home", Around(bot.url, model), extent)
        floor = stack.enter_context(running_floor(folder / "floor", floor_bot.url, model))
        gateway = made.gateway()
        await asyncio.to_thread(gateway.start)
        stack.callback(gateway.stop)
        assert gateway.process is not None
        headers = {"authorization": f"Bearer {TOKEN}"}
        urls = (f"http://127.0.0.1:{made.port}", floor.url)
        http, floor_http = [
            await stack.enter_async_context(
                aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(limit=0))
            )
            for url in urls
        ]
        place = Place(bot, floor_bot, gateway.process.pid, floor, http, floor_http, made)
        return [figure for part in (_one_by_one, _streamed, _at_once) for figure in await part(place, extent)]


async def _one_by_one(place: Place, extent: Extent) -> list[Figure]:
    """Send one message at a time; the first run of each kind warms up."""
    group = place.made.groups[1]
    own, question, grouped, floor, web, floor_web = (Told() for _ in range(6))
    talk, asked = itertools.cycle(SAYINGS), questions(10_000)
    ways: list[tuple[Told, int, Say, Iterator[str]]] = [
        (own, place.pid, partial(by_telegram, place.bot, OWNER), talk),
        (grouped, place.pid, partial(by_telegram, place.bot, group), talk),
        (floor, place.floor.pid, partial(by_telegram, place.floor_bot, OWNER), talk),
        (web, place.pid, partial(by_http, place.http, "warm"), talk),
        (floor_web, place.floor.pid, partial(by_http, place.floor_http, "warm"), talk),
        (question, place.pid, partial(by_telegram, place.bot, OWNER), asked),
    ]
    for number in range(extent.runs + 1):
        for told, pid, say, texts in ways:
            used = all_processor_ms(pid)
            times = [await timed_ms(say, next(texts)) for _ in range(extent.messages)]
            if number:
                told.every.extend(times)
                told.medians.append(statistics.median(times))
                told.processor.append((all_processor_ms(pid) - used) / extent.messages)
    return [
        *(figures := own.figures("owner's chat", 8, "99, 256, 248 (HTTP)")),
        ratio(
            "owner's chat, times the floor", figures[0], (below := floor.figures("floor, Telegram"))[0], at_most(2.5)
        ),
        *question.figures("owner's chat, a question about a note"),
        *(figures := grouped.figures("a group's chat", 7)),
        ratio("a group's chat, times the floor", figures[0], below[0], at_most(2.5)),
        *(figures := web.figures("by HTTP", 7)),
        ratio("by HTTP, times the floor", figures[0], (beside := floor_web.figures("floor, HTTP"))[0], at_most(2.5)),
        *below,
        *beside,
    ]


async def by_telegram(bot: BotApi, chat: int, text: str) -> None:
    """Write as the owner; return once the bot has answered."""
    sent = len(bot.sent)
    bot.says(chat, text, user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")
    await bot.wait_for_sent(sent + 1)


async def by_http(http: aiohttp.ClientSession, chat: str, text: str) -> None:
    """Ask as a program. Raises AssertionError for another answer than the model's."""
    async with http.post("/v1/chat/completions", json=_body(text, chat)) as response:
        answer = await response.json()
    if text not in answer["choices"][0]["message"]["content"]:
        raise AssertionError(f"a wrong answer: {answer}")


def _body(text: str, chat: str) -> dict[str, object]:
    return {"model": "main", "user": chat, "messages": [{"role": "user", "content": text}]}


async def timed_ms(say: Say, text: str) -> float:
    """Return the milliseconds until the answer to *text*."""
    start = time.perf_counter()
    await say(text)
    return (time.perf_counter() - start) * 1000


async def _streamed(place: Place, extent: Extent) -> list[Figure]:
    """Return when the first words of a stream are there."""

    async def first_words(text: str) -> None:
        async with place.http.post("/v1/chat/completions", json=_body(text, "stream") | {"stream": True}) as response:
            async for line in response.content:
                if b'"content":"' in line and b'"content":""' not in line:
                    return

    texts = itertools.cycle(SAYINGS)
    runs = [[await timed_ms(first_words, next(texts)) for _ in range(extent.messages)] for _ in range(extent.runs + 1)]
    return [Figure("first words of a stream by HTTP", [statistics.median(times) for times in runs[1:]], "ms")]


async def _at_once(place: Place, extent: Extent) -> list[Figure]:
    """Send to many chats at once, each a conversation of its own; then a burst over as many."""
    rates: dict[str, list[float]] = {"ours": [], "floor": [], "ours, HTTP": [], "floor, HTTP": []}
    ways: dict[str, Callable[[], Awaitable[None]]] = {
        "ours": partial(_crowd, place.bot, place.made.groups),
        "floor": partial(_crowd, place.floor_bot, place.made.groups),
        "ours, HTTP": partial(_callers, place.http, extent.chats),
        "floor, HTTP": partial(_callers, place.floor_http, extent.chats),
    }
    for _ in range(extent.runs + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            await way()
            rates[name].append(extent.chats * MESSAGES_A_CHAT / (time.perf_counter() - start))
    found = {
        name: Figure(
            f"{extent.chats} chats at once{', by HTTP' if 'HTTP' in name else ''}", each[1:], "1/s", at_least(200)
        )
        for name, each in rates.items()
    }
    floors = {name: Figure(f"floor, {found[name].name}", found[name].runs, "1/s") for name in rates if "floor" in name}
    burst, start = BURST_A_CHAT * extent.chats, time.perf_counter()
    await asyncio.gather(
        *(by_http(place.http, f"chat{number % extent.chats}", f"burst {number}") for number in range(burst))
    )
    return [
        found["ours"],
        ratio(f"{extent.chats} chats at once, of the floor's time", floors["floor"], found["ours"], at_most(2.2)),
        found["ours, HTTP"],
        ratio(f"{extent.chats} by HTTP, of the floor's time", floors["floor, HTTP"], found["ours, HTTP"], at_most(2.2)),
        *floors.values(),
        Figure(f"a burst of {burst} by HTTP, none refused", [time.perf_counter() - start], "s"),
    ]


async def _crowd(bot: BotApi, chats: Sequence[int]) -> None:
    before = len(bot.sent)
    for number in range(MESSAGES_A_CHAT):
        for chat in chats:
            bot.says(chat, f"hello {number}", user_id=OWNER, chat_type="supergroup")
    await bot.wait_for_sent(before + len(chats) * MESSAGES_A_CHAT, 120)


async def _callers(http: aiohttp.ClientSession, chats: int) -> None:
    async def talk(chat: str) -> None:
        for number in range(MESSAGES_A_CHAT):
            await by_http(http, chat, f"hello {number}")

    await asyncio.gather(*(talk(f"chat{number}") for number in range(chats)))
