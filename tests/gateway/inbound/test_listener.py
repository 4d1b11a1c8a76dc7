"""How a bot account is kept listening."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from adapters.channel import (
    Adapter,
    Body,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sent,
)
from gateway.errors import ConfigError, StoreError
from gateway.inbound.listener import BotAccount, ListeningState, listen
from gateway.runtime.clock import Clock, SystemClock
from tests.fakes.clock import ManualClock
from tests.fakes.patience import PATIENCE_S

CLOCK = SystemClock()


class Scripted:
    """An adapter whose every `listen` ends as scripted, and the last one never."""

    channel = "scripted"
    account = "home"

    def __init__(self, *endings: ChannelError | StoreError) -> None:
        self.endings = list(endings)
        self.listening = asyncio.Event()
        self.ended = asyncio.Event()

    def render(self, markdown: str) -> Sequence[Body]:
        return [Body(markdown)]

    async def listen(self, receive: Receive) -> None:
        if self.endings:
            self.ended.set()
            raise self.endings.pop(0)
        self.listening.set()
        await asyncio.Event().wait()

    async def send(self, message: OutboundMessage) -> Sent:
        return Sent("1")

    async def close(self) -> None:
        """Nothing is open."""


def account(adapter: Adapter) -> BotAccount:
    async def build() -> Adapter:
        return adapter

    return BotAccount("scripted", "home", build)


async def receive(_: InboundMessage) -> None:
    """Take nothing."""


async def run(account: BotAccount, until: Callable[[], Awaitable[object]], clock: Clock = CLOCK) -> list[Adapter]:
    loaded: list[Adapter] = []
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        task = group.create_task(listen(account, receive, loaded.append, clock))
        await until()
        task.cancel()
    return loaded


@pytest.mark.parametrize(
    ("ending", "pauses"),
    [
        (ChannelUnavailableError("gone"), [1.0, 2.0, 4.0]),
        (ChannelUnavailableError("gone", retry_after_s=7.0), [7.0] * 3),
        (StoreError("disk full"), [1.0, 2.0, 4.0]),
    ],
)
async def test_an_outage_is_waited_out(ending: ChannelError | StoreError, pauses: list[float]) -> None:
    """A lost connection or a full disk only delays the next try, each time for longer; the adapter is made once."""
    adapter, clock, waited = Scripted(ending, ending, ending), ManualClock(), []

    async def until() -> None:
        for _ in pauses:
            await clock.waiters(1)
            waited.extend(clock.waits())
            clock.advance(waited[-1])
        await adapter.listening.wait()

    kept = account(adapter)
    assert await run(kept, until, clock) == [adapter]
    assert (kept.state, waited) == (ListeningState.LISTENING, pauses)


async def test_while_an_outage_lasts_the_account_says_why() -> None:
    """`status` shows what the platform said."""
    adapter = Scripted(ChannelUnavailableError("no route to the platform", retry_after_s=60))
    kept = account(adapter)
    await run(kept, adapter.ended.wait)
    assert (kept.state, kept.detail) == (ListeningState.WAITING, "no route to the platform")


async def test_a_wrong_token_ends_the_account_and_nothing_else() -> None:
    """An account that cannot work as configured says so and returns; it takes no other down."""
    kept = account(Scripted(ChannelConfigError("the token is wrong")))
    await listen(kept, receive, lambda _: None, CLOCK)
    assert (kept.state, kept.detail) == (ListeningState.REFUSED, "the token is wrong")


async def test_an_account_that_cannot_be_made_is_refused() -> None:
    """A missing secret is told like a wrong one."""

    async def build() -> Adapter:
        raise ConfigError("TOKEN is not set")

    kept = BotAccount("scripted", "home", build)
    await listen(kept, receive, lambda _: None, CLOCK)
    assert (kept.state, kept.detail) == (ListeningState.REFUSED, "TOKEN is not set")
