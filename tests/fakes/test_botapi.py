"""The loopback Bot API server as a process: it outlives its clients and keeps a record."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.channel import Address, Body, OutboundMessage
from adapters.telegram import LongPoll, TelegramAdapter
from strandline.testing.listening import Received, listening
from tests.fakes.botapi import TOKEN
from tests.fakes.patience import PATIENCE_S
from tests.fakes.tally import Tally

ROOT = Path(__file__).parents[2]


class ServerProcess:
    """The server as a separate process, controlled through its control routes."""

    def __init__(self, port: int, record: Path, session: aiohttp.ClientSession) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.record = record
        self._session = session

    async def tell(self, what: str, **arguments: Any) -> None:
        async with self._session.post(f"{self.url}/control/{what}", json=arguments) as answer:
            assert answer.status == 200

    async def state(self, **at_least: int) -> dict[str, Any]:
        async with self._session.get(f"{self.url}/control/state", params=at_least) as answer:
            return dict(await answer.json())

    def recorded(self, kind: str) -> list[dict[str, Any]]:
        lines = map(json.loads, self.record.read_text().splitlines())
        return [line for line in lines if line["kind"] == kind]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    port_file, record = tmp_path / "port", tmp_path / "record.jsonl"
    command = [sys.executable, "-m", "tests.fakes.botapi", "--port-file", str(port_file), "--record", str(record)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        assert await process.stdout.readline() == b"listening\n"
    async with aiohttp.ClientSession() as session:
        yield ServerProcess(int(port_file.read_text()), record, session)
    process.terminate()
    assert await process.wait() == 0


async def test_the_process_is_told_serves_and_records(server: ServerProcess) -> None:
    """A person's words go in, the bot's go out, and the record has both with their times."""
    adapter = TelegramAdapter("home", TOKEN, Tally().count, base_url=server.url, way=LongPoll(5))
    received = Received()
    await server.tell("says", chat=42, text="hello", user_id=42)
    await server.tell("fault", status=429, parameters={"retry_after": 1}, method="sendChatAction")
    async with listening(adapter, received):
        await received.hear("hello")
        await adapter.send(OutboundMessage(Address("telegram", "home", "42"), Body("hi"), key="t1.0"))
        await server.tell("says", chat=42, text="bye")
        await received.hear("bye")
        state = await server.state(sent=1, polls=2, confirmed=1)
    await adapter.close()
    assert [message["text"] for message in state["sent"]] == ["hi"]
    assert len(state["confirmed"]) >= 1
    assert [line["text"] for line in server.recorded("sent")] == ["hi"]
    assert [line["update_id"] for line in server.recorded("confirmed")][: len(state["confirmed"])] == state["confirmed"]
    assert {line["method"] for line in server.recorded("request")} == {"getMe", "getUpdates", "sendMessage"}
    assert all(line["at"] <= time.time() for line in server.recorded("request"))
