"""Chats are told that nothing can be stored, without the store: seldom, by bots alone, and the reason to the owner."""

from dataclasses import replace

import pytest

from adapters.channel import Address, SendRefusedError
from gateway.delivery.direct_notices import EVERY, KEPT, MOST_CHATS, NOT_TAKEN, SERVER_AWAY, DirectNotices
from gateway.delivery.sender import Adapters
from gateway.errors import StoreError
from gateway.stores.ports import LeaseLostError, RowStateError, StoreServerError
from strandline.testing.adapter import FakeAdapter, message
from tests.fakes.clock import ManualClock

FULL = StoreError("the disk that holds state.db is full")
OWNER = Address("fake", "home", "olga")
TOLD_OWNER = f"I cannot answer anybody right now: {FULL}"


class House:
    """A bot, and a clock that stands still."""

    def __init__(self, owner: Address | None = OWNER) -> None:
        self.clock, self.adapter = ManualClock(), FakeAdapter(text_limit=400)
        adapters = Adapters([("fake", "home"), ("terminal", "main")])
        adapters.loaded["fake", "home"] = self.adapter
        adapters.loaded["terminal", "main"] = self.adapter
        self.notices = DirectNotices(adapters.of, {("fake", "home")}, lambda: owner, self.clock)

    def told(self) -> list[tuple[str, str]]:
        said = [(each.address.chat, each.body.text) for each in self.adapter.taken]
        self.adapter.taken.clear()
        return said


async def test_a_single_failure_is_told_to_nobody() -> None:
    """The message comes again after a second; only what fails again is told, and what came behind it."""
    house = House()
    alice, bob = message("hello", id="1"), message("hello", id="2", chat="bob")
    await house.notices.not_taken(alice, FULL)
    await house.notices.not_taken(bob, None)
    house.notices.worked()
    await house.notices.not_taken(alice, FULL)
    assert house.told() == []
    await house.notices.not_taken(alice, FULL)
    await house.notices.not_taken(bob, None)
    assert house.told() == [("alice", NOT_TAKEN), ("olga", TOLD_OWNER), ("bob", NOT_TAKEN)]


async def test_a_chat_is_told_once_in_a_while() -> None:
    """However many messages it sends; again if it still is so ten minutes later, also by a clock that was set back."""
    house = House()
    for _ in range(3):
        await house.notices.kept(message("hello", id="1"), FULL)
    assert house.told() == [("alice", KEPT), ("olga", TOLD_OWNER)]
    house.clock.advance(EVERY.total_seconds())
    await house.notices.kept(message("hello", id="1"), FULL)
    assert len(house.told()) == 2
    house.clock.advance(-400 * 86_400)
    await house.notices.kept(message("hello", id="1"), FULL)
    assert len(house.told()) == 2


async def test_the_owner_is_told_the_reason_where_they_write() -> None:
    """In one message; where no chat of theirs is known, others are told all the same."""
    house = House()
    await house.notices.kept(message("hello", id="1", chat="olga"), FULL)
    assert house.told() == [("olga", f"{KEPT} The reason: {FULL}")]
    house = House(None)
    await house.notices.kept(message("hello", id="1"), FULL)
    assert house.told() == [("alice", KEPT)]


async def test_the_disk_is_not_blamed_for_a_server() -> None:
    """Whoever waits for a server is told so, the owner with the reason."""
    house, away = House(), StoreServerError("Redis does not answer; nothing was stored")
    await house.notices.kept(message("hello", id="1"), away)
    assert house.told() == [("alice", SERVER_AWAY), ("olga", f"I cannot answer anybody right now: {away}")]


@pytest.mark.parametrize("exc", [LeaseLostError("another gateway has it"), RowStateError("a defect")])
async def test_what_is_no_trouble_of_the_disk_is_not_told(exc: StoreError) -> None:
    """Another gateway answers, or a program has a fault."""
    house = House()
    await house.notices.kept(message("hello", id="1"), exc)
    assert house.told() == []


async def test_nobody_is_told_but_by_a_bot_and_a_refusal_stops_nothing() -> None:
    """Whoever sits at a terminal or asks by the API gets the error itself."""
    house = House()
    await house.notices.kept(message("hello", id="1", channel="terminal", account="main"), FULL)
    assert house.told() == [("olga", TOLD_OWNER)]
    house.adapter.faults["bob"] = [SendRefusedError("blocked")]
    await house.notices.kept(message("hello", id="1", chat="bob"), FULL)
    assert house.told() == []


async def test_an_answer_that_goes_elsewhere_is_told_of_there() -> None:
    """Where its chat is."""
    house = House()
    said = replace(message("hello", id="1"), answers_to=Address("fake", "home", "carol"))
    await house.notices.kept(said, FULL)
    assert house.told()[0] == ("carol", KEPT)


async def test_what_is_known_of_who_was_told_is_bounded() -> None:
    """A crowd fills no memory."""
    house = House(None)
    for number in range(MOST_CHATS + 10):
        await house.notices.kept(message("hello", id="1", chat=str(number)), FULL)
    assert len(house.notices._told) == MOST_CHATS
