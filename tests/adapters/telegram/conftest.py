from collections.abc import AsyncIterator

import pytest

from adapters.telegram import TelegramAdapter
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.tally import Tally


@pytest.fixture
async def server() -> AsyncIterator[BotApi]:
    async with BotApi() as server:
        yield server


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
async def adapter(server: BotApi, tally: Tally) -> AsyncIterator[TelegramAdapter]:
    adapter = TelegramAdapter("home", TOKEN, tally.count, base_url=server.url)
    yield adapter
    await adapter.close()
