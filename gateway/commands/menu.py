"""Updates the platforms' own command menus when the registry has changed."""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

import structlog
from msgspec import structs

from adapters.abilities import HasMenu, MenuEntry
from adapters.channel import Adapter, ChannelError, ChannelUnavailableError
from gateway.commands.command import Command, Who
from gateway.errors import StoreError
from gateway.runtime.clock import Clock, pause
from gateway.stores.ports import Store
from workspaces.backoff import Backoff

log = structlog.get_logger()

MENU_FAILED = "menu_failed"
"""Counted when a platform rejects the menu; the commands work without it."""
RETRIES = Backoff(10.0, 600.0)


def menu_entries(commands: Iterable[Command]) -> tuple[MenuEntry, ...]:
    return tuple(MenuEntry(each.name, each.usage, each.help, each.who in {Who.OWNER, Who.MAIN}) for each in commands)


class Menus:
    """The menus of all bot accounts; a platform keeps a menu until it gets another."""

    def __init__(self, entries: Sequence[MenuEntry], people: Collection[str], store: Store, clock: Clock) -> None:
        """*people* are the owner's, as `<channel>:<id>`."""
        self._entries = entries
        self._people = people
        self._store = store
        self._clock = clock

    async def show(self, adapter: Adapter) -> None:
        """Make the channel show the menu, unless it has it already; a failure is harmless."""
        if not isinstance(adapter, HasMenu):
            return
        owners = sorted(person.partition(":")[2] for person in self._people if person.startswith(f"{adapter.channel}:"))
        failures = 0
        while not await self._has_shown(adapter, adapter, owners):
            await pause(self._clock, RETRIES.delay_s(failures))
            failures += 1

    async def _has_shown(self, adapter: Adapter, menu: HasMenu, owners: Sequence[str]) -> bool:
        """Try once; return `False` if another attempt may succeed."""
        key, mark = f"menu:{adapter.channel}.{adapter.account}", _mark_of(self._entries, owners)
        try:
            if await self._store.get(key) != mark:
                await menu.show_menu(self._entries, owners)
                await self._store.put(key, mark)
        except (ChannelUnavailableError, StoreError) as exc:
            log.info("menu not shown yet", channel=adapter.channel, account=adapter.account, detail=str(exc))
            return False
        except ChannelError as exc:
            log.warning("menu not shown", channel=adapter.channel, account=adapter.account, detail=str(exc))
            with suppress(StoreError):
                await self._store.count(MENU_FAILED)
        return True


def _mark_of(entries: Sequence[MenuEntry], owners: Sequence[str]) -> str:
    """Return a digest that identifies a menu."""
    whole = json.dumps([[structs.asdict(each) for each in entries], list(owners)])
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()
