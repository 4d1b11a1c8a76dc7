"""Telegram's updates by webhook, brought over HTTP to a real gateway with a Bot API server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from adapters.channel import InboundMessage, Receive
from gateway.errors import StoreError
from gateway.web.webhooks import WebhookPages
from tests.fakes.botapi import BotApi
from tests.gateway.web.house import House, open_house
from tests.journeys.house import OWNER

SECRET = "a-secret-of-the-webhook"
EXTRA = """[channels.telegram.home]
token_env = "BOT_TOKEN"
base_url = "{url}"
mode = "webhook"
webhook_url = "https://bot.example.org/telegram/home"
webhook_secret_env = "HOOK_SECRET"
[channels.telegram.polled]
token_env = "BOT_TOKEN"
base_url = "{url}"
[web]
"""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with BotApi() as bot, open_house(tmp_path, lambda _: "Hi.", EXTRA.format(url=bot.url)) as house:
        yield house


def update(number: int, text: str = "hello") -> bytes:
    message = {
        "message_id": number,
        "date": 1793707200,
        "chat": {"id": OWNER, "type": "private", "first_name": "Anna"},
        "from": {"id": OWNER, "is_bot": False, "first_name": "Anna"},
        "text": text,
    }
    return json.dumps({"update_id": number, "message": message}).encode()


async def bring(house: House, body: bytes, *, account: str = "home", secret: str = SECRET, host: str = "bot") -> int:
    headers = {"x-telegram-bot-api-secret-token": secret, "host": host, "content-type": "application/json"}
    return (await house.http.post(f"/telegram/{account}", content=body, headers=headers)).status_code


async def test_an_update_is_taken_once_and_answered(house: House) -> None:
    """Under whatever host the proxy was asked by; brought again, it is not answered again."""
    assert [await bring(house, update(1)) for _ in range(2)] == [200, 200]
    assert await bring(house, update(2)) == 200
    for message in ("1", "2"):
        replies = await house.app.parts.outcomes.of(message)
        assert [reply.outgoing.text for reply in replies] == ["Hi."]
    assert len(house.model.bodies) == 2


async def test_nobody_else_brings_updates(house: House) -> None:
    """A wrong secret, an account that is not there, one that polls: nothing is taken."""
    assert await bring(house, update(1), secret="wrong") in {401, 403}
    assert await bring(house, update(1), secret="") in {401, 403}
    assert await bring(house, update(1), account="absent") == 404
    assert await bring(house, update(1), account="polled") == 404
    assert await bring(house, update(1, "x" * 70_000)) == 413
    assert house.model.bodies == []
    assert (await house.app.parts.resources.home.store.report()).inbox_waiting == 0


class Full:
    """An account whose gateway cannot keep what is brought."""

    async def take(self, _: str, __: bytes, ___: Receive) -> int:
        raise StoreError("the disk is full")


@pytest.mark.parametrize(("loaded", "said"), [({("telegram", "home"): Full()}, ""), ({}, "not ready\n")])
async def test_what_cannot_be_taken_now_is_brought_again(loaded: Any, said: str) -> None:
    """503, while the store refuses and while the account is loaded: Telegram tries again."""

    async def receive(_: InboundMessage) -> str | None:
        raise AssertionError("nothing comes so far")

    app = Starlette(routes=WebhookPages(loaded, frozenset({"home"}), receive).routes())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://bot") as http:
        response = await http.post("/telegram/home", content=update(1))
    assert (response.status_code, response.text) == (503, said)
