"""Resuming of a bot after a restart: no message sent meanwhile is lost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from adapters.channel import ChannelUnavailableError
from adapters.discord import DiscordAdapter
from adapters.discord.session import KEPT_EVERY_S, GatewaySession, GatewaySessionStore
from strandline.testing.listening import Received, listening
from tests.fakes.discord import Discord, servers_of
from tests.fakes.discord_shapes import BOT_ROLE, CHANNEL, TOKEN
from tests.fakes.tally import Tally

IDENTIFY, RESUME = 2, 6
READY_SERVER_AND_ONE = 3
"""How many events there were when somebody had said one thing."""
BEGUN = GatewaySession(id="s1", sequence=1, resume_at="wss://a", gateway="wss://g")


class Kept:
    """A `Keeps` that remembers, and counts what it is given."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.puts = 0

    async def get(self, key: str) -> str | None:
        return self.values.get(key)

    async def put(self, key: str, value: str) -> None:
        self.puts += 1
        self.values[key] = value


@pytest.fixture
def kept() -> Kept:
    return Kept()


@asynccontextmanager
async def one_run(server: Discord, kept: Kept) -> AsyncIterator[Received]:
    """A bot that lives as long as the block, and what it hands over."""
    adapter, received = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server), keeps=kept), Received()
    try:
        async with listening(adapter, received):
            yield received
    finally:
        await adapter.close()


async def test_another_run_is_told_what_was_said_in_between(server: Discord, kept: Kept) -> None:
    """It resumes the session of the one before: no new one, nothing lost."""
    async with one_run(server, kept) as received:
        server.says("one")
        await received.wait_for(1)
    server.says("two")
    async with one_run(server, kept) as received:
        server.says("three")
        await received.hear("three")
    assert received.texts[-2:] == ["two", "three"]
    assert len(server.ops(IDENTIFY)) == 1
    assert len(server.ops(RESUME)) == 1


async def test_a_run_that_resumed_knows_its_own_role(server: Discord, kept: Kept) -> None:
    """Of its servers Discord tells only who begins anew; their roles are asked for when one is mentioned."""
    async with one_run(server, kept) as received:
        server.says("one")
        await received.wait_for(1)
    key = "discord.session.home"
    begun = GatewaySession.model_validate_json(kept.values[key])
    kept.values[key] = begun.model_copy(update={"sequence": READY_SERVER_AND_ONE}).model_dump_json()
    async with one_run(server, kept) as received:
        server.says(f"<@&{BOT_ROLE}> to you", CHANNEL, mention_roles=[BOT_ROLE])
        server.says("<@&999> to others", CHANNEL, mention_roles=["999"])
        await received.hear("<@&999> to others")
    assert [message.is_for_us for message in received.messages[-2:]] == [True, False]
    assert len(server.calls("/roles")) == 1


async def test_a_session_that_discord_forgot_is_begun_anew(server: Discord, kept: Kept) -> None:
    """As after a long outage; the gateway waits a moment and calls again."""
    async with one_run(server, kept) as received:
        server.says("one")
        await received.wait_for(1)
    server.forget_session()
    adapter, received = DiscordAdapter("home", TOKEN, Tally().count, servers=servers_of(server), keeps=kept), Received()
    with pytest.raises(ChannelUnavailableError, match="starting a new one"):
        await adapter.listen(received)
    async with listening(adapter, received):
        server.says("two")
        await received.wait_for(1)
    await adapter.close()
    assert received.texts == ["two"]
    assert len(server.ops(IDENTIFY)) == 2


async def test_another_gateways_session_is_none(server: Discord, kept: Kept) -> None:
    """The configuration leads elsewhere now: the bot begins there, and knocks nowhere else."""
    async with one_run(server, kept) as received:
        server.says("one")
        await received.wait_for(1)
    async with Discord() as other:
        servers = structs.replace(servers_of(other), base_url=server.url)
        adapter, received = DiscordAdapter("home", TOKEN, Tally().count, servers=servers, keeps=kept), Received()
        other.channels = server.channels
        async with listening(adapter, received):
            other.says("elsewhere")
            await received.wait_for(1)
        await adapter.close()
        assert len(other.ops(IDENTIFY)) == 1
    assert len(server.ops(RESUME)) == 0


async def test_a_session_is_kept_at_once_and_its_place_now_and_then(kept: Kept) -> None:
    """What is told again is known by the inbox; a write for every event of a busy server is not worth it."""
    now = 0.0
    keeper = GatewaySessionStore("home", kept, lambda: now)
    for sequence in range(1, 50):
        await keeper.keep(BEGUN.model_copy(update={"sequence": sequence}))
    assert kept.puts == 1
    assert await keeper.recall("wss://g") == BEGUN
    now += KEPT_EVERY_S
    await keeper.keep(BEGUN.model_copy(update={"sequence": 50}))
    await keeper.keep(BEGUN.model_copy(update={"id": "s2"}))
    assert kept.puts == 3
    assert await keeper.recall("wss://g") == BEGUN.model_copy(update={"id": "s2"})


async def test_a_run_that_goes_on_keeps_how_far_it_came(kept: Kept) -> None:
    """At its first step, however short it lives; what it was told to begin with is kept already."""
    await GatewaySessionStore("home", kept).keep(BEGUN)
    keeper = GatewaySessionStore("home", kept, lambda: 0.0)
    begun = await keeper.recall("wss://g")
    assert begun is not None
    await keeper.keep(begun)
    assert kept.puts == 1
    await keeper.keep(begun.model_copy(update={"sequence": 2}))
    assert await GatewaySessionStore("home", kept).recall("wss://g") == BEGUN.model_copy(update={"sequence": 2})


@pytest.mark.parametrize("text", ["", "rubbish", '{"id": 7}'])
async def test_what_is_no_session_is_none(kept: Kept, text: str) -> None:
    """Then a new one is begun."""
    kept.values["discord.session.home"] = text
    assert await GatewaySessionStore("home", kept).recall("wss://g") is None
