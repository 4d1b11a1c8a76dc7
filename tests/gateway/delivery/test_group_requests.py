"""The owner is asked about new groups in their own chat, and no flood of groups makes many questions."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.abilities import JoinedGroup
from adapters.channel import Address, Button, Sender
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.routing import Routes
from gateway.delivery.group_requests import MOST, STRANGERS_AN_HOUR, GroupRequests
from gateway.delivery.owner_notices import Notices
from gateway.errors import ConfigError, StrandlineError
from gateway.stores.rows import OutboxRow
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId

OWNER, EVE = Sender("7", "Nia"), Sender("666", "Eve [x](y) `z`\u202e")
POLICY = Policy(
    frozenset({"telegram:7"}),
    {
        ("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, {"-1": GroupPolicy()}),
        ("telegram", "unclaimed"): AccountPolicy(DirectPolicy.CLAIM),
    },
)


@dataclass
class House:
    """Requests on a real store; what the owner is asked, and what was allowed."""

    store: SqliteStore
    clock: ManualClock = field(default_factory=ManualClock)
    asked: list[OutboxRow] = field(default_factory=list)
    allowed: list[tuple[str, str, str]] = field(default_factory=list)
    fault: str = ""

    def __post_init__(self) -> None:
        async def allow(*place: str) -> None:
            if self.fault:
                raise ConfigError(self.fault)
            channel, account, chat = place
            self.allowed.append((channel, account, chat))

        notices = Notices(self.store, Address("terminal", "main", "owner"), self.asked.extend)
        self.requests = GroupRequests(self.store, notices, Routes([], AgentId("main"), POLICY), self.clock.now, allow)

    async def added(self, chat: str, by: Sender = EVE, account: str = "home", name: str = "Family") -> None:
        await self.requests.joined(JoinedGroup(Address("telegram", account, chat), name, by))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield House(store)
    await store.close()


async def test_a_group_asks_once_and_its_button_allows_it(house: House) -> None:
    """With its name as code, so that it is no link; what a stranger adds again asks no second time."""
    for _ in range(2):
        await house.added("-5", name="Family `x` [evil](http://e)")
    (asked,) = house.asked
    assert "`Family ˋxˋ [evil](http://e) (telegram.home.-5)`" in asked.outgoing.text
    assert "`Eve [x](y) ˋzˋ\\u202e (666)` added me" in asked.outgoing.text
    assert asked.outgoing.buttons[1] == Button("Keep closed", "/group refuse telegram.home.-5")
    assert asked.outgoing.buttons[0].command == "/group allow telegram.home.-5"
    assert asked.outgoing.buttons[0].label.startswith("Allow Family")
    await house.requests.allow("telegram.home.-5")
    assert house.allowed == [("telegram", "home", "-5")]
    assert await house.requests.known() == []


async def test_a_flood_of_groups_is_bounded(house: House) -> None:
    """A few questions an hour, whoever the strangers are; the others are counted, and the list has an end."""
    for number in range(500):
        await house.added(f"-{1000 + number}", Sender(f"6{number}", "x"))
    assert len(house.asked) == STRANGERS_AN_HOUR
    assert (await house.store.report()).reasons["group_held_back"] == 500 - STRANGERS_AN_HOUR
    for number in range(2 * MOST):
        await house.added(f"-{9000 + number}", OWNER)
    assert len(house.asked) == STRANGERS_AN_HOUR + 2 * MOST
    assert len(await house.requests.known()) == MOST
    house.clock.advance(7_200)
    await house.added("-1000", EVE)
    assert len(house.asked) == STRANGERS_AN_HOUR + 2 * MOST


async def test_a_refused_group_asks_no_more(house: House) -> None:
    """Not even when its owner writes there, until they allow it themselves."""
    await house.added("-5", OWNER)
    await house.added("-5", OWNER)
    await house.requests.refuse("telegram.home.-5")
    house.clock.advance(2 * 86_400)
    await house.added("-5", OWNER)
    await house.added("-5", EVE)
    assert len(house.asked) == 1
    (known,) = await house.requests.known()
    assert known.is_refused
    await house.requests.allow(known.place)
    assert house.allowed == [("telegram", "home", "-5")]


async def test_the_owners_own_call_asks_again_on_another_day(house: House) -> None:
    """An ignored question is not asked twice in a day."""
    for days in (0, 0, 1):
        house.clock.advance(days * 86_400)
        await house.added("-5", OWNER)
    assert len(house.asked) == 2


async def test_nobody_is_asked_about_an_allowed_group_or_an_unclaimed_bot(house: House) -> None:
    """A bot without an owner has nobody to ask."""
    await house.added("-1")
    await house.added("-5", account="unclaimed")
    await house.added("-5", account="unknown")
    assert house.asked == []


async def test_only_groups_that_ask_can_be_allowed(house: House) -> None:
    """A place that nobody asked about is no group; a configuration that cannot be written is told."""
    with pytest.raises(StrandlineError, match="lists those that do"):
        await house.requests.allow("telegram.home.-77")
    await house.added("-5")
    house.fault = "config.toml: cannot be written"
    with pytest.raises(StrandlineError, match="cannot be written"):
        await house.requests.allow("telegram.home.-5")
    assert len(await house.requests.known()) == 1
