"""How a message is taken in, on a real store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.channel import Address, InboundMessage
from gateway.conversation.reception import Reception
from gateway.door.admission import AccountPolicy, DirectPolicy, Policy
from gateway.door.routing import Routes, SessionKey
from gateway.stores.ports import InboxRow
from gateway.stores.sqlite import SqliteStore
from tests.fakes.adapter import message
from workspaces.access import AgentId

ROUTES = Routes(
    [], AgentId("main"), Policy(frozenset({"fake:alice"}), {("fake", "home"): AccountPolicy(DirectPolicy.OWNER)})
)


class Desk:
    """A reception whose lanes are a list."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.submitted: list[tuple[str, str]] = []
        self.reception = Reception(ROUTES, store, self._submit)

    def _submit(self, key: SessionKey, row: InboxRow) -> None:
        self.submitted.append((str(key), row.message.text))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield Desk(store)
    await store.close()


async def test_a_message_is_durable_before_its_lane_has_it(desk: Desk) -> None:
    """When `receive` returns, the inbox holds the message and its session knows of it."""
    assert await desk.reception.receive(message("hello", id="1")) is None
    assert [row.message.text for row in await desk.store.inbox.waiting()] == ["hello"]
    assert desk.submitted == [("main/main", "hello")]


async def test_the_same_message_twice_is_one(desk: Desk) -> None:
    """A platform that repeats itself is recognised, and counted."""
    for _ in range(2):
        await desk.reception.receive(message("hello", id="1"))
    assert desk.submitted == [("main/main", "hello")]
    assert (await desk.store.report()).reasons == {"duplicate": 1}


async def test_a_stranger_leaves_no_trace_but_a_count(desk: Desk) -> None:
    """What was refused is not stored and reaches no lane; the adapter hears why."""
    assert await desk.reception.receive(message("hello", chat="eve", id="1")) == "stranger"
    report = await desk.store.report()
    assert (desk.submitted, report.inbox_waiting, report.reasons) == ([], 0, {"refused.stranger": 1})


async def test_after_a_crash_every_waiting_message_is_handed_on_in_order(desk: Desk) -> None:
    """What an earlier run accepted and did not answer comes first, and only what this run serves."""
    for number in range(3):
        await desk.store.inbox.append(message(f"{number}", id=f"{number}"))
    await desk.store.inbox.append(_elsewhere(message("not here", id="9")))
    assert await desk.reception.recover(lambda address: address.channel == "fake") == 3
    assert [text for _, text in desk.submitted] == ["0", "1", "2"]


def _elsewhere(said: InboundMessage) -> InboundMessage:
    return replace(said, address=Address("other", "home", "alice"))
