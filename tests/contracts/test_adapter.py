"""Strandline's own channels against the contract of all channels, `strandline.testing.ChannelContract`."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime

import pytest

from adapters.channel import (
    Adapter,
    Address,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Sender,
)
from adapters.discord import DiscordAdapter
from adapters.http import CHANNEL as HTTP
from adapters.http import HttpAdapter
from adapters.spoken import CHAT
from adapters.telegram import LongPoll, TelegramAdapter
from adapters.terminal import CHANNEL, TerminalAdapter
from adapters.web import CHANNEL as WEB
from adapters.web import PageEvent, PageEventKind, Sign, WebAdapter
from strandline.testing import AskedChannelContract, ChannelContract, Platform, StoreFullError
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.discord import Discord, servers_of
from tests.fakes.discord_shapes import DIRECT, PERSON
from tests.fakes.discord_shapes import TOKEN as DISCORD_TOKEN
from tests.fakes.tally import Tally


class Terminal:
    """A person at a terminal."""

    address = Address(CHANNEL, "main", CHAT)
    person = "0"

    def __init__(self, people: asyncio.TaskGroup) -> None:
        self._terminal = TerminalAdapter("main")
        self.adapter: Adapter = self._terminal
        self._people = people
        self._shown: list[str] = []
        self._attached = ExitStack()
        self._attached.enter_context(self._terminal.attach(self._show))

    async def _show(self, message: OutboundMessage) -> None:
        self._shown.append(message.body.text)

    def says(self, text: str) -> None:
        self._people.create_task(self._say(text))

    async def _say(self, text: str) -> None:
        try:
            await self._terminal.say(text)
        except (ChannelUnavailableError, StoreFullError):
            return

    def shown(self) -> Sequence[str]:
        return self._shown

    async def vanish(self) -> None:
        self._attached.close()


class Page:
    """The owner at the page, which is open."""

    address = Address(WEB, "main", CHAT)
    person = "0"

    def __init__(self, people: asyncio.TaskGroup) -> None:
        self._page = WebAdapter("main")
        self.adapter: Adapter = self._page
        self._people = people
        self._shown: list[str] = []
        self._open = ExitStack()
        self._open.enter_context(self._page.attach(self._show))

    def _show(self, event: PageEvent | Sign | None) -> None:
        if isinstance(event, PageEvent) and event.told.kind is PageEventKind.ANSWER:
            self._shown.append(event.told.text)

    def says(self, text: str) -> None:
        self._people.create_task(self._say(text))

    async def _say(self, text: str) -> None:
        try:
            await self._page.say(text)
        except (ChannelUnavailableError, StoreFullError):
            return

    def shown(self) -> Sequence[str]:
        return self._shown

    async def vanish(self) -> None:
        self._open.close()


class Program:
    """A program that asks by HTTP, one request after another, and again while nobody listens yet."""

    address = Address(HTTP, "laptop", "main", "main")
    person = "laptop"

    def __init__(self, people: asyncio.TaskGroup) -> None:
        self._http = HttpAdapter("laptop")
        self.adapter: Adapter = self._http
        self._people = people
        self._count = 0
        self._one_by_one = asyncio.Lock()

    def says(self, text: str) -> None:
        self._people.create_task(self._ask(text))

    async def _ask(self, text: str) -> None:
        async with self._one_by_one:
            self._count += 1
            by, at = Sender(self.person, self.person), datetime.now(UTC)
            asked = InboundMessage(self.address, f"r{self._count}", by, ChatKind.DIRECT, text, True, at)
            while True:
                try:
                    await self._http.take(asked)
                    return
                except ChannelUnavailableError:
                    await asyncio.sleep(0)

    def shown(self) -> Sequence[str]:
        return ()  # an answer goes with the request that asked

    async def vanish(self) -> None:
        """A program that is gone is not missed."""


class TelegramChat:
    """A person in a direct chat on Telegram."""

    address = Address("telegram", "home", "42")
    person = "42"

    def __init__(self, server: BotApi) -> None:
        self._server = server
        self._server.join(42)
        self.adapter: Adapter = TelegramAdapter("home", TOKEN, Tally().count, base_url=server.url, way=LongPoll(5))

    def says(self, text: str) -> None:
        self._server.says(42, text)

    def shown(self) -> Sequence[str]:
        return [message.text for message in self._server.sent]

    async def vanish(self) -> None:
        await self._server.close()


class DiscordChat:
    """A person in a direct chat on Discord, who writes as soon as the bot is online."""

    address = Address("discord", "home", DIRECT)
    person = PERSON

    def __init__(self, server: Discord) -> None:
        self._server = server
        self.adapter: Adapter = DiscordAdapter("home", DISCORD_TOKEN, Tally().count, servers=servers_of(server))

    def says(self, text: str) -> None:
        self._server.says(text)

    def shown(self) -> Sequence[str]:
        return [message.text for message in self._server.posted]

    async def vanish(self) -> None:
        await self._server.close()


@asynccontextmanager
async def terminal() -> AsyncIterator[Platform]:
    async with asyncio.TaskGroup() as people:
        platform = Terminal(people)
        yield platform
        await platform.adapter.close()


@asynccontextmanager
async def page() -> AsyncIterator[Platform]:
    async with asyncio.TaskGroup() as people:
        platform = Page(people)
        yield platform
        await platform.adapter.close()


@asynccontextmanager
async def program() -> AsyncIterator[Platform]:
    async with asyncio.TaskGroup() as people:
        platform = Program(people)
        yield platform
        await platform.adapter.close()


@asynccontextmanager
async def telegram() -> AsyncIterator[Platform]:
    async with BotApi() as server:
        platform = TelegramChat(server)
        yield platform
        await platform.adapter.close()


@asynccontextmanager
async def discord_chat() -> AsyncIterator[Platform]:
    async with Discord() as server:
        platform = DiscordChat(server)
        yield platform
        await platform.adapter.close()
        assert server.problems == []


LISTENED = {"terminal": terminal, "page": page, "telegram": telegram, "discord": discord_chat}


class TestListened(ChannelContract):
    """The channels that bring messages by listening."""

    @pytest.fixture(params=list(LISTENED.values()), ids=list(LISTENED))
    async def platform(self, request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
        """One adapter with its platform, and a person there."""
        async with request.param() as platform:
            yield platform


class TestAsked(AskedChannelContract):
    """The HTTP API; tests/adapters/test_http.py says what else holds there."""

    @pytest.fixture
    async def platform(self) -> AsyncIterator[Platform]:
        """Its adapter, and a program that asks."""
        async with program() as platform:
            yield platform
