"""The floor of a message's cost: the same durable path as the gateway's, and nothing else.

A message is committed to SQLite (WAL, full sync), written to its conversation and synced, put to the model, and the
answer is written and synced before it is sent; that it was sent rides with the next commit. One process polls
Telegram's Bot API and serves the OpenAI-compatible API: `python -m bench.floor --folder F --bot URL --model URL`.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from tests.fakes.botapi import TOKEN

ROOT = Path(__file__).parents[1]


class Floor:
    """Answers messages of any chat, one at a time in each."""

    def __init__(self, folder: Path, model: str, http: ClientSession) -> None:
        self._folder, self._model, self._http = folder, model, http
        self._store = sqlite3.connect(folder / "state.db", isolation_level=None)
        self._store.execute("PRAGMA journal_mode = WAL")
        self._store.execute("PRAGMA synchronous = FULL")
        self._store.execute("CREATE TABLE inbox (id INTEGER PRIMARY KEY, chat TEXT, text TEXT, answered INTEGER)")
        self._lanes: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._files: dict[str, int] = {}
        self._answered: list[int] = []

    def accept(self, messages: Sequence[tuple[str, str]]) -> list[int]:
        """Store *messages*, each a chat and a text, in one commit; return their numbers."""
        numbers = []
        self._store.execute("BEGIN IMMEDIATE")
        for number in self._answered:
            self._store.execute("UPDATE inbox SET answered = 1 WHERE id = ?", (number,))
        self._answered.clear()
        for message in messages:
            row = self._store.execute("INSERT INTO inbox (chat, text) VALUES (?, ?)", message)
            numbers.append(row.lastrowid or 0)
        self._store.execute("COMMIT")
        return numbers

    async def answer(self, number: int, chat: str, text: str) -> str:
        """Return the model's answer once it is durable."""
        async with self._lanes[chat]:
            self._write(chat, {"role": "user", "content": text})
            answer = await self._ask(text)
            self._write(chat, {"role": "assistant", "content": answer})
            self._answered.append(number)
            return answer

    def _write(self, chat: str, line: dict[str, str]) -> None:
        if chat not in self._files:
            self._files[chat] = os.open(self._folder / f"{chat}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(self._files[chat], json.dumps(line).encode() + b"\n")
        os.fsync(self._files[chat])

    async def _ask(self, text: str) -> str:
        body = {
            "model": "stub-1",
            "messages": [{"role": "user", "content": text}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        words = list[str]()
        async with self._http.post(f"{self._model}/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    choices = json.loads(line[6:])["choices"]
                    words.extend(choice["delta"].get("content") or "" for choice in choices)
        return "".join(words)


async def poll(floor: Floor, bot: str, http: ClientSession) -> None:
    """Answer what people write to the bot."""
    offset, tasks = 0, set[asyncio.Task[None]]()
    while True:
        asked = {"offset": offset, "timeout": 5, "allowed_updates": ["message"]}
        async with http.post(f"{bot}/bot{TOKEN}/getUpdates", json=asked) as response:
            updates: list[dict[str, Any]] = (await response.json())["result"]
        messages = [(str(each["message"]["chat"]["id"]), each["message"]["text"]) for each in updates]
        numbers = floor.accept(messages) if messages else []
        offset = updates[-1]["update_id"] + 1 if updates else offset
        for number, (chat, text) in zip(numbers, messages, strict=True):
            task = asyncio.create_task(_send(floor, bot, http, number, chat, text))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


async def _send(floor: Floor, bot: str, http: ClientSession, number: int, chat: str, text: str) -> None:
    message = {"chat_id": int(chat), "text": await floor.answer(number, chat, text)}
    async with http.post(f"{bot}/bot{TOKEN}/sendMessage", json=message) as response:
        await response.read()


async def serve(folder: Path, bot: str, model: str) -> None:
    """Serve both, until it is ended."""
    async with ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(60)) as http:
        floor = Floor(folder, model, http)

        async def complete(request: web.Request) -> web.Response:
            body = await request.json()
            text = body["messages"][-1]["content"]
            [number] = floor.accept([(body["user"], text)])
            answer = await floor.answer(number, body["user"], text)
            return web.json_response({"choices": [{"message": {"role": "assistant", "content": answer}}]})

        application = web.Application()
        application.router.add_post("/v1/chat/completions", complete)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await poll(floor, bot, http)


@dataclass(frozen=True, slots=True)
class RunningFloor:
    """A floor in a process of its own."""

    pid: int
    url: str


@contextmanager
def running_floor(folder: Path, bot: str, model: str) -> Iterator[RunningFloor]:
    """Run a floor while the block runs."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.floor", "--folder", str(folder), "--bot", bot, "--model", model]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield RunningFloor(process.pid, f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


def main() -> None:
    """Serve until it is ended."""
    parser = argparse.ArgumentParser(prog="bench.floor")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--bot", required=True)
    parser.add_argument("--model", required=True, help="base URL of an OpenAI-compatible model")
    given = parser.parse_args()
    asyncio.run(serve(given.folder, given.bot, given.model))


if __name__ == "__main__":
    main()
