"""A browser as seen by the page's server: a cookie, an origin, a stream of events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from gateway.control.browsers import BrowserOrder
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Step, instant
from tests.gateway.web.house import House


def echo(body: Body) -> Step:
    """A model that repeats what was said."""
    return instant(body)


@dataclass
class Browser:
    """A browser at the page: it keeps the cookie, and says where its requests come from."""

    http: httpx2.AsyncClient
    csrf: str = ""

    async def sign_in(self, code: str) -> httpx2.Response:
        response = await self.http.post("/sign-in", json={"code": code}, headers=self.origin)
        me = await self.http.get("/chat/me")
        self.csrf = me.json()["csrf"] if me.is_success else ""
        return response

    async def say(self, text: str, agent: str = "main", **headers: str) -> httpx2.Response:
        shown = self.origin | {"x-csrf-token": self.csrf} | headers
        return await self.http.post("/chat/messages", json={"agent": agent, "text": text}, headers=shown)

    @property
    def origin(self) -> dict[str, str]:
        return {"origin": str(self.http.base_url).rstrip("/")}

    @asynccontextmanager
    async def events(self, last: str = "", agent: str = "main") -> AsyncIterator[AsyncIterator[dict[str, str]]]:
        """Give the events of the stream as they come, each with what an EventSource tells of it."""
        headers = {"last-event-id": last} if last else {}
        async with self.http.stream("GET", "/chat/events", params={"agent": agent}, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            yield read(response.aiter_lines())


async def read(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif "event" in event:
            yield event
            event = {}


async def until(events: AsyncIterator[dict[str, str]], kind: str) -> dict[str, Any]:
    """Return the next event of that *kind*, with its data read."""
    async with asyncio.timeout(PATIENCE_S):
        async for event in events:
            if event["event"] == kind:
                return {"id": event.get("id", ""), **json.loads(event["data"])}
    raise AssertionError(f"the stream ended without {kind}")


async def shown(events: AsyncIterator[dict[str, str]], count: int) -> list[tuple[str, str]]:
    """Return the kinds and texts of the next events, whatever these are, but for drafts."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            event = await anext(events)
            if event["event"] != "draft":
                found.append((event["event"], json.loads(event["data"])["text"]))
    return found


@asynccontextmanager
async def browser_at(address: str) -> AsyncIterator[Browser]:
    async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=PATIENCE_S) as http:
        yield Browser(http)


async def a_code(house: House) -> str:
    return (await house.app.operator.ask(BrowserOrder("link"))).code
