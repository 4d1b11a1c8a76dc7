"""The registry's commands stand in the platforms' own menus."""

import asyncio

from adapters.abilities import MenuEntry
from adapters.channel import ChannelConfigError, ChannelUnavailableError
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.menu import MENU_FAILED, Menus, menu_entries
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import FakeAdapter
from tests.fakes.clock import ManualClock
from tests.fakes.media import MediaAdapter
from tests.fakes.patience import PATIENCE_S

CLOCK = ManualClock()
PEOPLE = {"fake:7", "fake:12", "other:9"}


async def _nothing(_: CommandCall) -> str:
    return ""


def command(name: str, who: Who) -> Command:
    return Command(name, "[words]", f"does {name}", who, True, _nothing)


ENTRIES = menu_entries([command("why", Who.ANYONE), command("status", Who.OWNER), command("purge", Who.MAIN)])


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
        await Menus(ENTRIES, PEOPLE, store, CLOCK).show(home)
        await Menus(ENTRIES, PEOPLE, store, CLOCK).show(other)
    assert home.menus == other.menus == [(ENTRIES, ("12", "7"))]
    await Menus(ENTRIES[:1], PEOPLE, store, CLOCK).show(home)
    await Menus(ENTRIES[:1], {"fake:7"}, store, CLOCK).show(home)
    assert home.menus[1:] == [(ENTRIES[:1], ("12", "7")), (ENTRIES[:1], ("7",))]


async def test_an_outage_is_waited_out(store: SqliteStore) -> None:
    """The menu comes later, and only then counts as shown; each pause is twice the one before."""
    adapter, clock = MediaAdapter(menu_faults=[ChannelUnavailableError("down")] * 2), ManualClock()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(Menus(ENTRIES, PEOPLE, store, clock).show(adapter))
        for pause_s in (10, 20):
            await clock.waiters(1)
            assert clock.waits() == [pause_s]
            clock.advance(pause_s)
    assert len(adapter.menus) == 1
    assert (await store.report()).reasons == {}


async def test_a_platform_that_refuses_the_menu_stops_nothing(store: SqliteStore) -> None:
    """It is counted, and tried again at the next start."""
    adapter = MediaAdapter(menu_faults=[ChannelConfigError("no right to do that")])
    await Menus(ENTRIES, PEOPLE, store, CLOCK).show(adapter)
    assert (adapter.menus, (await store.report()).reasons) == ([], {MENU_FAILED: 1})
    await Menus(ENTRIES, PEOPLE, store, CLOCK).show(adapter)
    assert len(adapter.menus) == 1


async def test_a_channel_without_a_menu_needs_none(store: SqliteStore) -> None:
    """Nothing is asked, nothing kept."""
    await Menus(ENTRIES, PEOPLE, store, CLOCK).show(FakeAdapter())
    assert await store.get("menu:fake.home") is None
