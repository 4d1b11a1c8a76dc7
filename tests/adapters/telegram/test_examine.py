"""Faults in a bot's setup at Telegram, each named with its fix."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.abilities import Examines
from adapters.channel import ChannelConfigError, ChannelUnavailableError
from adapters.telegram import Groups, LongPoll, TelegramAdapter, Webhook
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.examine import PRIVACY_MODE
from strandline.testing.listening import Received, listening
from tests.fakes.botapi import TOKEN, BotApi
from tests.fakes.patience import PATIENCE_S
from tests.fakes.tally import Tally
from tests.fakes.telegram import BOT, Fault
from tests.fakes.telegram_shapes import Hook

HOOK = Webhook("https://bot.example.org/telegram/home", "s3cret")
POLL = LongPoll(5)
GROUPS = Groups({"-1": False, "-2": True})


class TellingTally(Tally):
    """Says that something was counted."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    async def count(self, reason: str) -> None:
        await super().count(reason)
        self.told.set()


@pytest.fixture(autouse=True)
def joined(server: BotApi) -> None:
    server.join(-1)
    server.join(-2)


@asynccontextmanager
async def connected(
    server: BotApi, groups: Groups = GROUPS, way: LongPoll | Webhook = POLL, tally: Tally | None = None
) -> AsyncIterator[TelegramAdapter]:
    count = (tally or Tally()).count
    adapter = TelegramAdapter("home", TOKEN, count, base_url=server.url, way=way, groups=groups)
    try:
        yield adapter
    finally:
        await adapter.close()


async def test_a_bot_that_is_set_up_well_has_nothing_to_mend(server: BotApi) -> None:
    """It is in its groups, and reads what it is to read."""
    async with connected(server) as adapter:
        assert isinstance(adapter, Examines)
        assert await adapter.examine() == []


async def test_privacy_mode_is_named_where_it_is_in_the_way(server: BotApi) -> None:
    """Not where a mention is needed anyway, and not where the bot is an administrator, who sees all."""
    server.me = BOT
    async with connected(server) as adapter:
        (finding,) = await adapter.examine()
        assert "privacy mode" in finding
        assert "/setprivacy" in finding
        assert "group -2" in finding
        server.status_in[-2] = "administrator"  # whose many rights this server does not list, nor every real one
        assert await adapter.examine() == []


async def test_privacy_mode_is_told_at_the_start(server: BotApi, caplog: pytest.LogCaptureFixture) -> None:
    """Once a group, in the log and in the ledger; the bot listens all the same."""
    tally, received = TellingTally(), Received()
    server.me = BOT
    server.says(42, "hello")
    async with connected(server, tally=tally) as adapter, listening(adapter, received):
        await received.hear("hello")
        async with asyncio.timeout(PATIENCE_S):
            await tally.told.wait()
    assert tally.reasons == {PRIVACY_MODE: 1}
    assert [record.levelno for record in caplog.records if "/setprivacy" in record.message] == [logging.WARNING]


@pytest.mark.parametrize("trouble", [Fault("getChatMember", hangs=True), Fault("getChatMember", status=500)])
async def test_messages_do_not_wait_until_the_groups_were_looked_at(
    server: BotApi, trouble: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With privacy mode on, that is a call for each of a bot's groups, and any of them may hang or fail."""
    monkeypatch.setattr(
        TelegramCalls.__call__, "__defaults__", (3 * PATIENCE_S,)
    )  # what hangs does so as long as the test
    received = Received()
    server.me = BOT
    server.fault(trouble)
    server.says(42, "hello")
    async with connected(server) as adapter, listening(adapter, received):
        await received.hear("hello")
        assert received.texts == ["hello"]
        await server.until(lambda: bool(server.calls("getChatMember")))


async def test_a_bot_that_reads_everything_asks_nothing_more_at_the_start(server: BotApi) -> None:
    """A start with many groups must not cost a call for each."""
    async with connected(server) as adapter, listening(adapter, Received()):
        await server.wait_for_polls(1)
    assert server.calls("getChatMember") == []


@pytest.mark.parametrize("status", ["left", "kicked"])
async def test_a_group_without_the_bot_is_named(server: BotApi, status: str) -> None:
    """So is one that Telegram does not know, whose id must be wrong."""
    server.status_in[-1] = status
    async with connected(server, Groups({"-1": False, "-2": False, "-3": True})) as adapter:
        findings = await adapter.examine()
    assert [finding.partition(":")[0] for finding in findings] == [
        "the bot is not in the group -1",
        "the bot is not in the group -3",
    ]


async def test_a_group_that_moved_is_looked_for_where_it_is(server: BotApi) -> None:
    """Not under the id that the configuration knows it by."""
    server.migrate(-2, -1007)
    async with connected(server, Groups({"-2": False}, {"-2": "-1007"})) as adapter:
        assert await adapter.examine() == []


async def test_a_webhook_that_telegram_does_not_reach_is_named(server: BotApi) -> None:
    """With Telegram's own words; an old error of one that works, and somebody else's webhook, are not."""
    async with connected(server, way=HOOK) as adapter:
        assert await adapter.examine() == []
        server.hook = Hook(HOOK.url, HOOK.secret, 40, [])
        server.not_brought("Connection timed out")
        assert await adapter.examine() == []
        server.says(42, "hello")
        (finding,) = await adapter.examine()
        assert "Connection timed out (1 updates are waiting)" in finding
        server.hook = Hook("https://other.example/", "", 40, [])
        assert await adapter.examine() == []


async def test_what_cannot_be_asked_is_an_error(server: BotApi) -> None:
    """A wrong token names its setting; an outage is no finding."""
    for fault, error in (
        (Fault("getMe", status=401, description="Unauthorized"), ChannelConfigError),
        (Fault("getChatMember", status=500, description="Internal Server Error"), ChannelUnavailableError),
    ):
        async with connected(server) as adapter:
            server.fault(fault)
            with pytest.raises(error):
                await adapter.examine()
