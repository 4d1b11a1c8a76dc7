"""A disk with no room for a single message: who writes is told, nothing is lost, and all goes on by itself."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.app.app import App
from gateway.control.status_wire import StatusOrder
from gateway.delivery.direct_notices import NOT_TAKEN
from gateway.errors import StoreError
from gateway.home import Home
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.botapi import BotApi
from tests.fakes.disk import fill, small_disk
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

MEMBER = 8
STRANGER = 99
OTHER_GROUP = -101
LONG = "the heron is back " * 225
"""As long as Telegram takes one, and longer than a page of the database holds."""


@dataclass
class Disk:
    """A home's disk, which is full while a block runs."""

    folder: Path
    fill: Callable[[Home, App], Awaitable[Callable[[], Awaitable[None]]]]
    """Fills it; what it returns makes room again."""


async def fill_disk(home: Home, _: App) -> Callable[[], Awaitable[None]]:
    filler = fill(home.path.parent)

    async def make_room() -> None:
        filler.unlink()

    return make_room


async def fill_database(_: Home, app: App) -> Callable[[], Awaitable[None]]:
    """SQLite's own bound says that the disk is full, on any machine."""
    store = app.parts.resources.home.store
    assert isinstance(store, SqliteStore)

    async def done(statement: str) -> None:
        await store.commits.run(lambda db: db.execute(statement).close())

    await done("CREATE TABLE filler (x)")
    await done("PRAGMA max_page_count = 1")  # never less than there are
    for size in (3_000, 300, 30):
        with suppress(StoreError):
            while True:
                await done(f"INSERT INTO filler VALUES (zeroblob({size}))")

    async def make_room() -> None:
        await done("PRAGMA max_page_count = 1000000")
        await done("DROP TABLE filler")

    return make_room


@pytest.fixture(params=["disk", "database"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A real file system without a byte left, and the database's own bound."""
    if request.param == "database":
        yield Disk(tmp_path, fill_database)
        return
    with small_disk(tmp_path / "disk"):
        yield Disk(tmp_path / "disk", fill_disk)


async def test_who_writes_to_a_full_disk_is_told_and_answered_afterwards(disk: Disk) -> None:
    """Each chat once, though all come in one batch and again and again; a stranger never; no message is confirmed."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Good day.") as provider:
        home = make_home(disk.folder / "home", bot.url, openai_section(provider.url))
        config = home.config_file.read_text("utf-8")
        groups = f'"{GROUP}" = {{ mention = true }}'
        assert groups in config
        home.write(home.config_file, config.replace(groups, f'{groups}, "{OTHER_GROUP}" = {{ mention = true }}'))
        bot.join(GROUP)
        bot.join(OTHER_GROUP)
        bot.join(OWNER)
        async with running(home) as app:
            bot.says(OWNER, "hello")
            await bot.wait_for_sent(1)
            make_room = await disk.fill(home, app)
            confirmed = len(bot.confirmed)
            bot.says(GROUP, f"@strand_bot {LONG}", user_id=MEMBER, chat_type="supergroup")
            bot.says(STRANGER, LONG)
            bot.says(GROUP, f"@strand_bot again {LONG}", user_id=MEMBER, chat_type="supergroup")
            bot.says(OWNER, f"and {LONG}")
            bot.says(OTHER_GROUP, f"@strand_bot {LONG}", user_id=MEMBER, chat_type="supergroup")
            told = (await bot.wait_for_sent(4))[1:]
            await bot.wait_for_polls(len(bot.calls("getUpdates")) + 2)
            assert len(bot.sent) == 4
            assert len(bot.confirmed) <= confirmed + 1  # the hello's
            await make_room()
            await bot.until(lambda: len([each for each in bot.sent[4:] if each.text == "Good day."]) == 4)
            await bot.until(lambda: STRANGER in {each.chat for each in bot.sent})
            (account,) = (await app.operator.ask(StatusOrder())).channels
    (to_group,) = [each.text for each in told if each.chat == GROUP]
    (behind,) = [each.text for each in told if each.chat == OTHER_GROUP]
    (to_owner,) = [each.text for each in told if each.chat == OWNER]
    assert to_group == behind == NOT_TAKEN
    assert "state.db is full" in to_owner
    answered = sorted(each.chat for each in bot.sent[4:] if each.text == "Good day.")
    assert answered == [OTHER_GROUP, GROUP, GROUP, OWNER]
    assert NOT_TAKEN not in [each.text for each in bot.sent[4:]]
    assert account.state == "listening"
