"""Contract of every adapter; a new channel adds its platform below and passes.

One differs: `http` does not listen. Each client sends a message with its own request and waits for the outcome and the
answer. So there is nothing that its listener could bring again or fail at, and nobody else to show an answer to:
tests/adapters/test_http.py holds its rules instead. Tests with a `listened` platform leave it out.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from adapters.channel import (
    Adapter,
    Address,
    Body,
    ChannelError,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Sender,
)
from adapters.discord import DiscordAdapter
from adapters.http import CHANNEL as HTTP
from adapters.http import HttpAdapter
from adapters.telegram import LongPoll, TelegramAdapter
from adapters.terminal import CHANNEL, CHAT, TerminalAdapter
from adapters.web import CHANNEL as WEB
from adapters.web import PageEvent, PageEventKind, Sign, WebAdapter
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.discord import Discord, servers_of
from tests.fakes.discord_shapes import DIRECT, PERSON
from tests.fakes.discord_shapes import TOKEN as DISCORD_TOKEN
from tests.fakes.listening import Received, listening
from tests.fakes.tally import Tally

ANSWER = "# Today\n\n" + "\n\n".join(f"{n}. **bold {n}** and `code {n}`, <b>, 😀, слово" for n in range(400))


class Platform(Protocol):
    """The far side of an adapter: one person, writing and reading."""

    adapter: Adapter
    address: Address
    person: str
    """Their id, as the transport knows it."""

    def says(self, text: str) -> None:
        """The person writes."""

    def shown(self) -> Sequence[str]:
        """What the person has been shown."""

    async def vanish(self) -> None:
        """Nobody can be reached any more."""


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


class StoreFullError(Exception):
    """The inbox could not store a message."""


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
EVERY = LISTENED | {"http": program}


@pytest.fixture(params=list(EVERY.values()), ids=list(EVERY))
async def platform(request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
    """One adapter with its platform, and a person there."""
    async with request.param() as platform:
        yield platform


@pytest.fixture(params=list(LISTENED.values()), ids=list(LISTENED))
async def listened(request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
    """One adapter that brings messages by listening and shows the answers to a person."""
    async with request.param() as platform:
        yield platform


async def test_a_message_says_where_it_comes_from(platform: Platform) -> None:
    """Address, person, kind and time are the transport's facts, complete and in UTC."""
    received = Received()
    async with listening(platform.adapter, received):
        platform.says("hello")
        (message,) = await received.wait_for(1)
    assert message.address == platform.address
    assert (message.address.channel, message.address.account) == (platform.adapter.channel, platform.adapter.account)
    assert message.text == "hello"
    assert message.kind is ChatKind.DIRECT
    assert message.is_for_us
    assert message.id
    assert message.sender.id == platform.person
    assert not message.sender.is_bot
    assert message.sent_at.utcoffset() == timedelta(0)


async def test_messages_come_in_order_and_one_at_a_time(platform: Platform) -> None:
    """The next message waits until the one before is durable."""
    received = Received(hold=True)
    async with listening(platform.adapter, received):
        for number in range(5):
            platform.says(f"message {number}")
        await received.begun.wait()
        assert received.texts == []
        received.go_on.set()
        await received.wait_for(5)
    assert received.texts == [f"message {number}" for number in range(5)]
    assert received.most_at_once == 1
    assert len({message.id for message in received.messages}) == 5


async def test_what_was_not_yet_durable_comes_again(listened: Platform) -> None:
    """A listener that is stopped within `receive` loses nothing: the same message, by id, is handed over anew."""
    stopped, received = Received(hold=True), Received()
    async with listening(listened.adapter, stopped):
        listened.says("hold this")
        await stopped.begun.wait()
    async with listening(listened.adapter, received):
        (message,) = await received.wait_for(1)
    assert stopped.messages == []
    assert message == stopped.offered[0]


async def test_an_inbox_that_fails_stops_the_listener(listened: Platform) -> None:
    """The gateway learns of it; nothing is swallowed, and the adapter can listen again."""

    async def full(_: InboundMessage) -> None:
        raise StoreFullError

    listened.says("hello")
    with pytest.raises(StoreFullError):
        await listened.adapter.listen(full)
    received = Received()
    async with listening(listened.adapter, received):
        listened.says("again")
        await received.hear("again")


async def test_listening_ends_when_it_is_cancelled(platform: Platform) -> None:
    """A cancelled listener ends as cancelled, at once."""
    async with asyncio.timeout(20), listening(platform.adapter, Received()) as listener:
        await asyncio.sleep(0)
    assert listener.cancelled()


async def test_a_long_answer_arrives_whole_and_in_order(listened: Platform) -> None:
    """Every part fits, each is receipted under its own id, and together they hold every word."""
    bodies = listened.adapter.render(ANSWER)
    ids = [(await listened.adapter.send(_part(listened, body, n))).message_id for n, body in enumerate(bodies)]
    assert list(listened.shown()) == [body.text for body in bodies]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    everything = "".join(listened.shown())
    for number in range(400):
        assert f"code {number}" in everything
    assert everything.count("<b>") == 400


async def test_rendering_is_repeatable_and_leaves_nothing_for_blank_text(platform: Platform) -> None:
    """Delivery counts parts, so they must not depend on when they are made."""
    assert platform.adapter.render(ANSWER) == platform.adapter.render(ANSWER)
    assert list(platform.adapter.render(" \n ")) == []


async def test_nobody_there_is_said_to_be_temporary(listened: Platform) -> None:
    """The reply stays in the outbox: surely not sent, and worth another try."""
    await listened.vanish()
    with pytest.raises(ChannelUnavailableError):
        await listened.adapter.send(_part(listened, Body("hello"), 0))


async def test_a_closed_adapter_sends_nothing(platform: Platform) -> None:
    """After `close` no connection is opened again."""
    await platform.adapter.close()
    with pytest.raises(ChannelError):
        await platform.adapter.send(_part(platform, Body("too late"), 0))
    assert list(platform.shown()) == []


def _part(platform: Platform, body: Body, number: int) -> OutboundMessage:
    return OutboundMessage(platform.address, body, key=f"t1.{number}")
