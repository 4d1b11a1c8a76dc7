"""Benchmark of the OpenAI-compatible API: `strandline up` as a process, an instant model, client programs."""

import asyncio
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from bench.figures import Figure
from tests.journeys.house import make_home, openai_section
from tests.journeys.processes import Gateway, server

RUNS = 5
MESSAGES_A_RUN = 40
CHATS = 50
MESSAGES_A_CHAT = 6
BURST = 200
TOKEN = "a-token-of-the-bench-0123456789"


async def run() -> list[Figure]:
    """Return the figures of this bench."""
    with tempfile.TemporaryDirectory() as name, server("openai_stub", Path(name)) as model:
        async with _asking(Path(name), model) as ask:
            return [await _one_by_one(ask), await _first_piece(ask), await _many_chats(ask), *await _burst(ask)]


class Ask:
    """A program with a guest's token."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http
        self.refused = 0

    async def whole(self, text: str, chat: str) -> None:
        """Send a request, and read the answer; a refused or wrong one is counted."""
        async with self._http.post("/v1/chat/completions", json=_body(text, chat)) as response:
            answer = await response.json()
            is_right = response.status == 200 and text in answer["choices"][0]["message"]["content"]
            self.refused += not is_right

    async def first_piece_s(self, text: str, chat: str) -> float:
        """Request a stream; return the time to its first words."""
        start = time.perf_counter()
        taken = 0.0
        async with self._http.post("/v1/chat/completions", json=_body(text, chat) | {"stream": True}) as response:
            async for line in response.content:
                if not taken and b'"content":"' in line and b'"content":""' not in line:
                    taken = time.perf_counter() - start
        return taken


def _body(text: str, chat: str) -> dict[str, object]:
    return {"model": "main", "user": chat, "messages": [{"role": "user", "content": text}]}


async def _one_by_one(ask: Ask) -> Figure:
    """Send one message at a time, each run in a separate chat; the first run warms up."""
    runs = []
    for number in range(RUNS + 1):
        times = []
        for _ in range(MESSAGES_A_RUN):
            start = time.perf_counter()
            await ask.whole("hello", f"warm{number}")
            times.append((time.perf_counter() - start) * 1000)
        runs.append(sorted(times)[len(times) // 2])
    return Figure("one message by HTTP, asked to answered", runs[1:], "ms", "< 20", "65")


async def _first_piece(ask: Ask) -> Figure:
    times = [await ask.first_piece_s("hello", "stream") * 1000 for _ in range(MESSAGES_A_RUN)]
    return Figure("first words of a stream by HTTP", times, "ms")


async def _many_chats(ask: Ask) -> Figure:
    rates = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        await asyncio.gather(*(_talk(ask, f"chat{number}") for number in range(CHATS)))
        rates.append(CHATS * MESSAGES_A_CHAT / (time.perf_counter() - start))
    assert not ask.refused
    return Figure(f"messages a second by HTTP, {CHATS} chats", rates[1:], "1/s", ">= 60", "16")


async def _talk(ask: Ask, chat: str) -> None:
    for number in range(MESSAGES_A_CHAT):
        await ask.whole(f"hello {number}", chat)


async def _burst(ask: Ask) -> Sequence[Figure]:
    """Send all at once, over as many chats as in the other figure."""
    start, before = time.perf_counter(), ask.refused
    await asyncio.gather(*(ask.whole(f"burst {number}", f"chat{number % CHATS}") for number in range(BURST)))
    return [
        Figure(f"a burst of {BURST} by HTTP, all answered", [time.perf_counter() - start], "s"),
        Figure(f"refused of {BURST} at once", [ask.refused - before], "", "0"),
    ]


@asynccontextmanager
async def _asking(folder: Path, model: str) -> AsyncIterator[Ask]:
    home = make_home(folder / "home", model=openai_section(f"{model}/v1"))
    port = _free_port()
    (home.path / "token").write_text(TOKEN)
    web = f'[web]\nenabled = true\nport = {port}\n[web.tokens.bench]\ntoken_file = "token"\nagents = ["main"]\n'
    home.write(home.config_file, f"{home.config_file.read_text()}\n{web}")
    gateway = Gateway(home, folder / "gateway.log")
    await asyncio.to_thread(gateway.start)
    headers = {"authorization": f"Bearer {TOKEN}"}
    connections = aiohttp.TCPConnector(limit=BURST)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers, connector=connections) as http:
            yield Ask(http)
    finally:
        await asyncio.to_thread(gateway.stop)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    for figure in asyncio.run(run()):
        print(figure.line())
