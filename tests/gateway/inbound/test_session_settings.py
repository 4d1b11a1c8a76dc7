"""Settings of sessions, as a start reads them."""

from pathlib import Path

import pytest

from gateway.admission.routing import SessionKey
from gateway.inbound.session_settings import Choice, Choices
from gateway.stores.remembered import UNREADABLE_VALUE
from gateway.stores.sqlite.store import SqliteStore
from workspaces.access import AgentId

WORK, HOME = AgentId("work"), AgentId("home")
MINE, OTHER, HOMES = SessionKey(WORK, "main"), SessionKey(WORK, "guest:7"), SessionKey(HOME, "main")


@pytest.mark.parametrize("damaged", ["{", "[" * 100_000, '{"main": {"mode": "a newer one"}}', "7"], ids=range(4))
async def test_damaged_settings_keep_the_chats_of_their_agent_on_own_machines(tmp_path: Path, damaged: str) -> None:
    """Any of them may have been marked `house`: all are, after a restart too, until the owner says otherwise in one.

    The owner is told before the damaged value is replaced, and another agent's settings stay.
    """
    store = await SqliteStore.open(tmp_path / "state.db")
    try:
        told: list[tuple[AgentId, str | None]] = []

        async def tell(agent: AgentId) -> None:
            told.append((agent, await store.get(f"choices:{agent}")))

        await Choices(store).choose(HOMES, Choice(model="large"))
        await store.put("choices:work", damaged)
        await Choices(store).load([WORK, HOME], tell)
        later = Choices(store)
        await later.load([WORK, HOME], tell)
        assert later.is_house(MINE)
        assert later.is_house(OTHER)
        assert later.of(HOMES) == Choice(model="large")
        assert not later.is_house(HOMES)
        await later.choose(MINE, Choice(house=False))
        assert not later.is_house(MINE)
        assert later.is_house(OTHER)
        assert told == [(WORK, damaged)]
        assert (await store.report()).reasons[UNREADABLE_VALUE] == 1
    finally:
        await store.close()
