"""What is measured of each gateway, over its OpenAI-compatible API and with everything on loopback."""

import asyncio
import gc
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp

from bench.compare.model import NOTE, SEARCH, CompareModel, last_of, said, said_anywhere
from bench.compare.rival import Around, Rival, Start
from bench.made_notes import PEOPLE, PLACES, THINGS, VERBS, daily_notes
from bench.observed import all_processor_ms, family, weight_mb
from tests.fakes.provider_stub import Body

BOOTS, WARM, SINGLES, CHATS, ROUNDS = 3, 5, 30, 50, 3
ENTRIES, PLANTED = 1_000, 20
STARTS_WITHIN_S, ANSWERS_WITHIN_S, SETTLE_S, INDEXES_S, PART_S = 180.0, 120.0, 4.0, 15.0, 400.0
CHAT, TOO_MANY, WAITS = "/v1/chat/completions", 429, 1_000
KILLS, KILLED_CHATS, SLOW_S = 3, 10, 0.3
STORY, QUESTION = "the staging database moved to port 5433.", "Which port does the staging database use?"
NOTED, NOTED_QUESTION = "The boat house opens with code 7719.", "With which code does the boat house open?"
OWN, NEXT = "owner", "owner-next"


Findings = dict[str, Sequence[float] | str]
"""Figures of one gateway by name, each with all its runs; a text where there is no figure."""


class Running:
    """One started gateway, and conversations with it."""

    def __init__(self, rival: Rival, start: Start, home: Path, around: Around, model: CompareModel) -> None:
        self.rival, self.model = rival, model
        self._start, self._home, self._around = start, home, around
        self.process: subprocess.Popen[bytes] | None = None
        self.http = aiohttp.ClientSession(f"http://127.0.0.1:{around.port}", connector=aiohttp.TCPConnector(limit=0))

    async def up(self) -> float:
        """Start it; return the seconds until it has answered a first message."""
        began = time.perf_counter()
        self.process = self._start.launch(self._home, self._home.with_suffix(".log"))
        while time.perf_counter() - began < STARTS_WITHIN_S and self.process.poll() is None:
            with suppress(aiohttp.ClientError, OSError):
                await self.say("hello", "guest-first")
                return time.perf_counter() - began
            await asyncio.sleep(0.02)
        raise RuntimeError(f"{self.rival.name} did not start: {self._log()}")

    def _log(self) -> str:
        return self._home.with_suffix(".log").read_text(errors="replace")[-2_000:]

    async def down(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it and every process that it started."""
        if self.process is None:
            return
        processes = family(self.process.pid)
        self.process.send_signal(number)
        try:
            await asyncio.to_thread(self.process.wait, 30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for pid in processes[1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process = None

    def processor_s(self) -> float:
        """Return the processor time of all its processes, those that have ended included."""
        assert self.process is not None
        return all_processor_ms(self.process.pid) / 1000

    def weight_mb(self) -> float:
        """Return the proportional set size of all its processes, in MB."""
        assert self.process is not None
        return weight_mb(self.process.pid)

    async def say(self, text: str, chat: str) -> str:
        """Send a message; return the answer. Raises aiohttp.ClientError without one."""
        async with self._post(text, chat) as got:
            answer: Body = await got.json()
        return str(answer["choices"][0]["message"]["content"])

    async def stream(self, text: str, chat: str, accepted: Callable[[], None]) -> None:
        """Send a message, and read its answer to the end; *accepted* is called at the first event."""
        async with self._post(text, chat, stream=True) as got:
            async for line in got.content:
                if line.startswith(b"data:"):
                    accepted()

    @asynccontextmanager
    async def _post(self, text: str, chat: str, **fields: object) -> AsyncIterator[aiohttp.ClientResponse]:
        request = self.rival.request(chat)
        body = {"model": request.model, "messages": [{"role": "user", "content": text}], **request.fields, **fields}
        timeout = aiohttp.ClientTimeout(ANSWERS_WITHIN_S)
        for _ in range(WAITS):
            async with self.http.post(CHAT, json=body, headers=request.headers, timeout=timeout) as got:
                if got.status == 200:
                    yield got
                    return
                if got.status != TOO_MANY:
                    raise aiohttp.ClientError(f"{got.status}: {(await got.text())[:300]}")
            await asyncio.sleep(0.05)  # as a program does that is told to come again
        raise aiohttp.ClientError(f"{TOO_MANY}, again and again")


async def measure(rival: Rival, folder: Path, until: float) -> Findings:
    """Return everything that is measured of *rival*, which is installed in *folder*; a part that fails says why.

    The loop's time *until* bounds all parts together.
    """
    found = Findings()
    with tempfile.TemporaryDirectory(prefix="strandline-compare-") as name:
        async with CompareModel(rival.search, rival.remember) as model:
            for number, part in enumerate((_boots, _story, _killed, _notes, _talk)):
                place = Place(rival, folder, Path(name) / f"home{number}", model)
                try:
                    async with asyncio.timeout_at(min(until, asyncio.get_running_loop().time() + PART_S)):
                        await part(place, found)
                except (AssertionError, RuntimeError, OSError, TimeoutError, aiohttp.ClientError) as exc:
                    found[part.__name__.strip("_")] = f"not to the end: {type(exc).__name__}"
                    print(f"{rival.name}, {part.__name__}: {exc!r}", file=sys.stderr, flush=True)
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """Where one part of the comparison happens."""

    rival: Rival
    folder: Path
    home: Path
    model: CompareModel

    @asynccontextmanager
    async def gateway(self, notes: Mapping[str, str] | None = None) -> AsyncIterator[Running]:
        """Yield a gateway of a new home, which is not started; it is ended at last."""
        self.home.mkdir()
        around = Around(self.model.url, _free_port(), notes or {})
        start = await asyncio.to_thread(self.rival.prepare, self.folder, self.home, around)
        running = Running(self.rival, start, self.home, around, self.model)
        try:
            yield running
        finally:
            await running.down(signal.SIGKILL)
            await running.http.close()


async def _boots(place: Place, found: Findings) -> None:
    """Start and stop one home; the first start, which makes the home's files, does not count."""
    boots, weights = [], []
    used = []
    async with place.gateway() as gateway:
        for _ in range(BOOTS + 1):
            boots.append(await gateway.up())
            used.append(gateway.processor_s())
            await asyncio.sleep(SETTLE_S)
            weights.append(gateway.weight_mb())
            await gateway.down()
    found["start to first answer, s"] = boots[1:]
    found["processor time of the start, s"] = used[1:]
    found["memory at rest, all processes, MB"] = weights[1:]


async def _talk(place: Place, found: Findings) -> None:
    """Send single messages, then 50 conversations at once."""
    async with place.gateway() as gateway:
        before = len(place.model.sizes)
        await gateway.up()
        found['request for "hello", KB'] = [place.model.sizes[before] / 1000]
        times, used = [], 0.0
        _keep_heap()
        for number in range(SINGLES + WARM):
            if number == WARM:
                used = gateway.processor_s()
            begun = time.perf_counter()
            await gateway.say(f"hello {number}", "guest-one")
            times.append(1000 * (time.perf_counter() - begun))
        found["a warm message, ms"] = times[WARM:]
        found["processor time of a warm message, ms"] = [1000 * (gateway.processor_s() - used) / SINGLES]
        rates = []
        for _ in range(ROUNDS + 1):
            begun = time.perf_counter()
            await asyncio.gather(*(gateway.say("hello", f"guest-{number}") for number in range(CHATS)))
            rates.append(CHATS / (time.perf_counter() - begun))
            found["50 conversations at once, messages/s"] = rates[1:]
        found["memory after them, MB"] = [gateway.weight_mb()]


async def _notes(place: Place, found: Findings) -> None:
    """Search notes of months, among which twenty lines are planted, by their number and by what they say."""
    days, planted = _planted()
    rows = "notes found by number, of 20", "notes found by words, of 20", "a search, ms"
    if not place.rival.notes:
        found |= dict.fromkeys(rows, "no place for notes")
        return
    async with place.gateway(days) as gateway:
        await gateway.up()
        place.model.missing.clear()
        await gateway.say(f"{SEARCH}: {planted[0].number}", OWN)
        await asyncio.sleep(INDEXES_S)
        if place.model.missing:
            found |= dict.fromkeys(rows, f"no tool {', '.join(place.model.missing)}")
            return
        place.model.results.clear()
        _keep_heap()
        found[rows[0]] = [sum([await _finds(gateway, each.number, each.what) for each in planted])]
        found[rows[1]] = [sum([await _finds(gateway, each.question, each.number) for each in planted])]
        found[rows[2]] = [1000 * each.seconds for each in place.model.results]


def _keep_heap() -> None:
    """Have our own heap never be scanned again: one scan of 50 to 90 ms fell into a measured message."""
    gc.collect()
    gc.freeze()


async def _finds(gateway: Running, question: str, wanted: str) -> bool:
    before = len(gateway.model.results)
    await gateway.say(f"{SEARCH}: {question}", OWN)
    return any(wanted in result.text for result in gateway.model.results[before:])


@dataclass(frozen=True, slots=True)
class Planted:
    """A line among the notes."""

    number: str
    what: str
    question: str


def _planted() -> tuple[dict[str, str], list[Planted]]:
    """Return daily notes by file name, and the lines that were put into every third day."""
    chance = random.Random(5)
    days = {f"{day}.md": text for day, text in daily_notes(ENTRIES)}
    planted = []
    for name in list(days)[::3][:PLANTED]:
        person, done, thing = (
            chance.choice(PEOPLE),
            chance.choice(VERBS),
            f"{chance.choice(PLACES)} {chance.choice(THINGS)}",
        )
        number = f"QX-{chance.randint(10_000, 99_999)}"
        days[name] += f"- 19:30 {person} {done} the {thing}; the receipt is {number}\n"
        planted.append(Planted(number, thing, f"Which receipt belongs to the {thing} that {person} {done}?"))
    return days, planted


async def _story(place: Place, found: Findings) -> None:
    """Tell a fact, once only said and once noted by a tool; start again; ask in a new conversation."""
    async with place.gateway() as gateway:
        await gateway.up()
        await gateway.say(f"Remember that {STORY}", OWN)
        await gateway.say(f"{NOTE}: {NOTED}", OWN)
        if place.rival.ends:
            await gateway.say(place.rival.ends, OWN)
        await gateway.down()
        await gateway.up()
        await asyncio.sleep(SETTLE_S)
        told = await _comes_back(gateway, QUESTION, "5433")
        noted = await _comes_back(gateway, NOTED_QUESTION, "7719")
    found["a fact only told, asked the next day"] = told
    found["a fact noted by a tool"] = noted


async def _comes_back(gateway: Running, question: str, wanted: str) -> str:
    """Return how a fact reaches the model in a new conversation."""
    model = gateway.model
    before, results = len(model.bodies), len(model.results)
    await gateway.say(question, NEXT)
    if any(said_anywhere(body, wanted) for body in model.bodies[before:]):
        return "in the request"
    model.missing.clear()
    await gateway.say(f"{SEARCH}: {question}", NEXT)
    if any(wanted in result.text for result in model.results[results:]):
        return "by one search"
    return f"no ({', '.join(model.missing)} missing)" if model.missing else "no"


async def _killed(place: Place, found: Findings) -> None:
    """Kill it while it answers, start it again, and ask each conversation what it knows of what was said."""
    fates: list[Fate] = []
    async with place.gateway() as gateway:
        await gateway.up()
        for number in range(KILLS):
            place.model.delay_s = SLOW_S
            chats = [f"guest-k{number}c{chat}" for chat in range(KILLED_CHATS)]
            talks = [asyncio.create_task(_until_killed(gateway, chat)) for chat in chats]
            await asyncio.sleep(SLOW_S * 4)
            await gateway.down(signal.SIGKILL)
            place.model.delay_s = 0
            sent = [await talk for talk in talks]
            await gateway.up()
            await asyncio.sleep(SETTLE_S)
            for chat, texts in zip(chats, sent, strict=True):
                fates += await _fates(gateway, chat, texts)
    found[f"messages before {KILLS} x kill -9"] = [len(fates)]
    found["of them, stream had begun"] = [sum(fate.is_accepted for fate in fates)]
    found["stream had begun, unknown afterwards"] = [sum(fate.is_accepted and fate.is_lost for fate in fates)]
    found["of them unknown afterwards"] = [sum(fate.is_lost for fate in fates)]
    found["of them known, never answered"] = [sum(fate.is_unanswered for fate in fates)]
    found["of them there twice"] = [sum(fate.is_doubled for fate in fates)]


@dataclass(frozen=True, slots=True)
class Fate:
    """What a conversation knows of a message after a kill."""

    is_accepted: bool
    asked: int
    answered: int

    @property
    def is_lost(self) -> bool:
        return self.asked == 0

    @property
    def is_unanswered(self) -> bool:
        return self.asked > 0 and self.answered == 0

    @property
    def is_doubled(self) -> bool:
        return max(self.asked, self.answered) > 1


async def _fates(gateway: Running, chat: str, texts: Mapping[str, bool]) -> list[Fate]:
    """Say one more thing, and read the conversation from the model's request."""
    before = len(gateway.model.bodies)
    await gateway.say(f"and now, {chat}?", chat)
    body = next((each for each in gateway.model.bodies[before:] if f"and now, {chat}?" in last_of(each)), None)
    if body is None:
        raise RuntimeError(f"the model was not asked: {gateway.model.bodies[-1]['messages'][-1]}")
    return [
        Fate(is_accepted, said(body, "user", text), said(body, "assistant", text))
        for text, is_accepted in texts.items()
    ]


async def _until_killed(gateway: Running, chat: str) -> dict[str, bool]:
    """Talk until the connection breaks; return each text, and whether its answer had begun."""
    sent: dict[str, bool] = {}
    with suppress(aiohttp.ClientError, OSError):
        for number in range(100):
            text = f"say {chat}n{number}z"
            sent[text] = False
            await gateway.stream(text, chat, partial(sent.__setitem__, text, True))
    return sent


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
