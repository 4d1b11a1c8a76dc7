"""Names of chats and people, as messages bring them."""

from dataclasses import replace
from pathlib import Path

from adapters.channel import Sender
from gateway.admission.internal_channels import heartbeat_address
from gateway.inbound.known_names import KEY, LONGEST, MOST, KnownNames
from gateway.stores.sqlite.store import SqliteStore
from tests.gateway.turns.test_turn import DIRECT
from workspaces.access import AgentId


async def test_names_are_bounded_and_last(tmp_path: Path) -> None:
    """The latest are remembered, over a restart too; a long one is cut, and a known one is not written again."""
    store = await SqliteStore.open(tmp_path / "state.db")
    try:
        names = KnownNames(store)
        for number in range(MOST + 2):
            await names.learn(replace(DIRECT, sender=Sender(str(number), "n" * 99)))
        known = await KnownNames(store).all()
        assert (len(known), set(known.values())) == (MOST, {"n" * LONGEST})
        await store.put(KEY, "{}")
        await names.learn(replace(DIRECT, sender=Sender(str(MOST + 1), "n" * 99)))
        assert await store.get(KEY) == "{}"
    finally:
        await store.close()


async def test_the_gateways_own_messages_name_nobody(tmp_path: Path) -> None:
    """A heartbeat and a job have senders too, which are no people."""
    store = await SqliteStore.open(tmp_path / "state.db")
    try:
        names = KnownNames(store)
        for address in (heartbeat_address(AgentId("main")), DIRECT.address):
            await names.learn(replace(DIRECT, address=address, sender=Sender("7", f"by {address.channel}")))
        assert await names.all() == {f"{DIRECT.address.channel}:7": f"by {DIRECT.address.channel}"}
    finally:
        await store.close()
