"""What a kill -9 leaves of messages that programs stream over HTTP."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Fault, Reply, Step
from tests.fakes.redis_server import free_port
from tests.gateway.web.house import GUEST_TOKEN, TOKENS, bearer, make_web_home
from tests.journeys.processes import Gateway

CHATS = 20


class Client:
    """A program that streams one message in each of many chats."""

    def __init__(self, address: str) -> None:
        self.accepted: list[str] = []
        """Texts whose streams have begun."""
        self._address = address
        self._more = asyncio.Event()

    async def until_accepted(self, number: int) -> None:
        while len(self.accepted) < number:
            self._more.clear()
            await self._more.wait()

    async def say(self, http: aiohttp.ClientSession, text: str) -> None:
        """Send *text* in a chat of its own, and read until the gateway is gone."""
        body = {"model": "main", "stream": True, "user": text, "messages": [{"role": "user", "content": text}]}
        try:
            async with http.post(self._address, json=body, headers=bearer(GUEST_TOKEN)) as answer:
                async for line in answer.content:
                    if line.startswith(b"data:") and text not in self.accepted:
                        self.accepted.append(text)
                        self._more.set()
        except aiohttp.ClientError:
            pass


def asked_for(model: OpenAIStub) -> list[str]:
    """Return the last words of each request."""
    texts = (str(body["messages"][-1]["content"]) for body in model.bodies)
    return [text.splitlines()[-1].removeprefix("visitor: ") for text in texts]


@pytest.mark.parametrize("kill_after", [1, CHATS])
async def test_a_message_whose_stream_began_survives_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_after: int
) -> None:
    """The first event is sent when the message is stored: it is answered after the next start, and asked once."""
    is_back = False
    for name, token in TOKENS.items():
        monkeypatch.setenv(name, token)

    def slow(_: Body) -> Step:
        return "Well." if is_back else Reply("Well.", fault=Fault.HANG)

    port = free_port()
    async with OpenAIStub(slow) as model, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        home = make_web_home(tmp_path, model.url, f"[web]\nport = {port}\n")
        home.write(home.config_file, home.config_file.read_text("utf-8").replace("port = 0\n", ""))
        gateway = Gateway(home, tmp_path / "gateway.log")
        try:
            await asyncio.to_thread(gateway.start)
            client = Client(f"http://127.0.0.1:{port}/v1/chat/completions")
            async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
                for number in range(CHATS):
                    tasks.create_task(client.say(http, f"chat{number}"))
                await client.until_accepted(kill_after)
                gateway.kill()
            is_back, before = True, len(model.bodies)
            await asyncio.to_thread(gateway.start)
            async with asyncio.timeout(PATIENCE_S):
                while not set(client.accepted) <= set(asked_for(model)[before:]):  # noqa: ASYNC110  # has no event
                    await asyncio.sleep(0.01)
            again = asked_for(model)[before:]
            assert len(again) == len(set(again))
        finally:
            gateway.kill()
