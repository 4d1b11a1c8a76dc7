"""The owner hears in their own chat that somebody asks to be let in, and no flood makes many notices."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from adapters.channel import Address, Button, ChatKind, InboundMessage, Sender
from gateway.admission.pairing import MOST_WAITING, Pairing, format_code
from gateway.admission.policy import AccountPolicy, DirectPolicy, Policy
from gateway.admission.routing import Binding, Routes
from gateway.delivery.owner_notices import Notices
from gateway.delivery.pairing_notices import PairingNotices
from gateway.stores.rows import OutboxRow
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import START, ManualClock
from workspaces.access import AgentId

MAIN, WORK = AgentId("main"), AgentId("work")
ACCOUNTS = ("home", "office")
POLICY = Policy(
    frozenset({"telegram:7"}),
    {("telegram", account): AccountPolicy(DirectPolicy.PAIRING) for account in ACCOUNTS},
)
ROUTES = Routes([Binding(WORK, channel="telegram", account="office")], MAIN, POLICY)
TERMINAL = Address("terminal", "main", "owner")
CHATS = {MAIN: Address("telegram", "home", "7"), WORK: Address("telegram", "office", "7")}
EVE = InboundMessage(
    Address("telegram", "home", "99"), "1", Sender("99", "Eve `or` [you](x)"), ChatKind.DIRECT, "hello", True, START
)


@dataclass
class House:
    """A door with a bell, on a real store."""

    store: SqliteStore
    clock: ManualClock
    chats: dict[AgentId, Address] = field(default_factory=lambda: dict(CHATS))
    rung: list[OutboxRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        notices = Notices(self.store, TERMINAL, self.rung.extend)

        async def owner(agent: AgentId) -> Address | None:
            return self.chats.get(agent)

        self.notices = PairingNotices(self.store, notices, ROUTES, owner)
        self.pairing = Pairing(POLICY, self.store, self.clock.now, lambda _: None, self.notices)

    async def asks(self, person: str, account: str = "home") -> list[OutboxRow]:
        """Let *person* write twice; return what the owner is told of that."""
        before = len(self.rung)
        at = replace(EVE, address=Address("telegram", account, person), sender=Sender(person, EVE.sender.name))
        for _ in range(2):
            await self.pairing.greet(at)
        return self.rung[before:]

    async def code_of(self, person: str) -> str:
        return next(each.code for each in await self.pairing.waiting() if each.visitor.id == person)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock = ManualClock()
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    yield House(store, clock)
    await store.close()


async def test_the_owner_is_told_once_who_asks_where_with_the_code_and_both_decisions(house: House) -> None:
    """In their own chat with the agent that the stranger wrote to; a name is quoted, so that it can be no link."""
    (told,) = await house.asks("99")
    code = await house.code_of("99")
    shown = f"{code[:5]}-{code[5:]}"
    assert told.outgoing.address == CHATS[MAIN]
    assert told.outgoing.text.startswith("`Eve 'or' [you](x) (telegram:99)` asks to be let in at telegram.home.")
    assert f"`{shown}`" in told.outgoing.text
    assert told.outgoing.buttons == (
        Button("Approve", f"/pair approve {shown}"),
        Button("Refuse", f"/pair refuse {shown}"),
    )
    await house.pairing.approve(code)
    (other,) = await house.asks("98", "office")
    assert other.outgoing.address == CHATS[WORK]


async def test_a_flood_makes_two_notices_an_hour(house: House) -> None:
    """One for the first, one for all the others together, at however many bots they ask; the next hour likewise."""
    for hour in range(3):
        rung = [
            row
            for number, account in enumerate(ACCOUNTS * MOST_WAITING)
            for row in await house.asks(f"{hour + 1}00{number}", account)
        ]
        assert [row.outgoing.buttons for row in rung[1:]] == [(Button("Who waits", "/pair"),)]
        assert rung[0].outgoing.buttons[0].label == "Approve"
        assert len(await house.pairing.waiting()) == len(ACCOUNTS) * MOST_WAITING
        house.clock.advance(3_601)
    reasons = (await house.store.report()).reasons
    assert (reasons["pairing_told"], reasons["pairing_held_back"]) == (3, 3 * (len(ACCOUNTS) * MOST_WAITING - 1))


async def test_whoever_was_refused_rings_no_more_for_a_week(house: House) -> None:
    """They are told nothing, and nor is the owner."""
    await house.asks("99")
    await house.pairing.refuse(await house.code_of("99"))
    for _ in range(6):
        house.clock.advance(86_400)
        assert await house.asks("99") == []
    house.clock.advance(86_401)
    assert len(await house.asks("99")) == 1


async def test_without_a_chat_of_the_owners_it_is_said_at_the_terminal(house: House) -> None:
    """Where everything is said that has no better place."""
    house.chats.clear()
    (told,) = await house.asks("99")
    assert told.outgoing.address == TERMINAL


async def test_a_notice_that_a_crash_prevented_comes_at_the_next_start(house: House) -> None:
    """Once, with its buttons; those that were sent do not come again."""
    unheard = Pairing(POLICY, house.store, house.clock.now, lambda _: None)
    await unheard.greet(EVE)
    assert house.rung == []
    await house.notices.recover()
    (told,) = house.rung
    assert told.outgoing.buttons[0].command == f"/pair approve {format_code(await house.code_of('99'))}"
    house.clock.advance(1)
    await house.asks("100")
    before = len(house.rung)
    for _ in range(2):
        await house.notices.recover()
    assert len(house.rung) == before


async def test_of_several_notices_that_a_crash_prevented_the_first_names_its_person(house: House) -> None:
    """The others are told of together, as they would have been without it."""
    unheard = Pairing(POLICY, house.store, house.clock.now, lambda _: None)
    await unheard.greet(EVE)
    house.clock.advance(1)
    await unheard.greet(replace(EVE, address=Address("telegram", "home", "100"), sender=Sender("100", "Bob")))
    await house.notices.recover()
    assert [each.outgoing.buttons[0].command.split()[:2] for each in house.rung] == [["/pair", "approve"], ["/pair"]]
