"""The registry's commands stand in the platforms' own menus."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.abilities import MenuEntry
from adapters.channel import ChannelConfigError, ChannelUnavailableError
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.menu import MENU_FAILED, Menus, menu_entries
from gateway.runtime.backoff import Backoff
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import FakeAdapter
from tests.fakes.media import MediaAdapter
from tests.fakes.patience import PATIENCE_S

PEOPLE = {"fake:7", "fake:12", "other:9"}


async def _nothing(_: CommandCall) -> str:
    return ""


def command(name: str, who: Who) -> Command:
    return Command(name, "[words]", f"does {name}", who, True, _nothing)


ENTRIES = menu_entries([command("why", Who.ANYONE), command("status", Who.OWNER), command("purge", Who.MAIN)])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield store
    await store.close()


def test_an_entry_says_whom_a_command_is_for() -> None:
    """What only the owner may run is marked, wherever they may run it."""
    assert list(ENTRIES) == [
        MenuEntry("why", "[words]", "does why", False),
        MenuEntry("status", "[words]", "does status", True),
        MenuEntry("purge", "[words]", "does purge", True),
    ]


async def test_a_menu_is_shown_once_and_again_when_it_changed(store: SqliteStore) -> None:
    """A platform keeps its menu: a start with the same one asks nothing of it. Each account has its own."""
    home, other = MediaAdapter(), MediaAdapter(account="other")
    for _ in range(2):
        await Menus(ENTRIES, PEOPLE, store).show(home)
        await Menus(ENTRIES, PEOPLE, store).show(other)
    assert home.menus == other.menus == [(ENTRIES, ("12", "7"))]
    await Menus(ENTRIES[:1], PEOPLE, store).show(home)
    await Menus(ENTRIES[:1], {"fake:7"}, store).show(home)
    assert home.menus[1:] == [(ENTRIES[:1], ("12", "7")), (ENTRIES[:1], ("7",))]


async def test_an_outage_is_waited_out(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The menu comes later, and only then counts as shown."""
    monkeypatch.setattr("gateway.commands.menu.RETRIES", Backoff(0.0, 600.0))
    adapter = MediaAdapter(menu_faults=[ChannelUnavailableError("down")] * 2)
    async with asyncio.timeout(PATIENCE_S):
        await Menus(ENTRIES, PEOPLE, store).show(adapter)
    assert len(adapter.menus) == 1
    assert (await store.report()).reasons == {}


async def test_a_platform_that_refuses_the_menu_stops_nothing(store: SqliteStore) -> None:
    """It is counted, and tried again at the next start."""
    adapter = MediaAdapter(menu_faults=[ChannelConfigError("no right to do that")])
    await Menus(ENTRIES, PEOPLE, store).show(adapter)
    assert (adapter.menus, (await store.report()).reasons) == ([], {MENU_FAILED: 1})
    await Menus(ENTRIES, PEOPLE, store).show(adapter)
    assert len(adapter.menus) == 1


async def test_a_channel_without_a_menu_needs_none(store: SqliteStore) -> None:
    """Nothing is asked, nothing kept."""
    await Menus(ENTRIES, PEOPLE, store).show(FakeAdapter())
    assert await store.get("menu:fake.home") is None
