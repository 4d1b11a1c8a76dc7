from collections.abc import AsyncIterator

import pytest

from adapters.discord import DiscordAdapter
from tests.fakes.discord import Discord, servers_of
from tests.fakes.discord_shapes import TOKEN
from tests.fakes.tally import Tally


@pytest.fixture
async def server() -> AsyncIterator[Discord]:
    """A platform that was asked nothing but what it knows."""
    async with Discord() as server:
        yield server
        assert server.problems == []


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
async def adapter(server: Discord, tally: Tally) -> AsyncIterator[DiscordAdapter]:
    adapter = DiscordAdapter("home", TOKEN, tally.count, servers=servers_of(server, 2))
    yield adapter
    await adapter.close()
