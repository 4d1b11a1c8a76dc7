"""How strangers are let in, and how they are taken out again."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.pairing import (
    ALPHABET,
    CHATS_KNOWN,
    CODE_LENGTH,
    HELD_FOR,
    MOST_WAITING,
    Pairing,
    describe_visitor,
    examine,
    format_code,
    new_code,
)
from gateway.admission.policy import AccountPolicy, Admitted, DirectPolicy, Policy, RefusalReason, Refused
from gateway.errors import PairingError
from gateway.stores.admission import Visitor
from gateway.stores.rows import OutboxRow, Outgoing
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import START, ManualClock

POLICY = Policy(
    frozenset({"telegram:7"}),
    {("telegram", account): AccountPolicy(DirectPolicy.PAIRING) for account in ("home", "work")},
)
EVE = InboundMessage(
    Address("telegram", "home", "99"), "1", Sender("99", "Eve\nthe owner"), ChatKind.DIRECT, "hello", True, START
)


@dataclass
class Door:
    """A door on a real store."""

    store: SqliteStore
    clock: ManualClock
    told: list[OutboxRow]

    def __post_init__(self) -> None:
        self.pairing = Pairing(POLICY, self.store, self.clock.now, self.told.extend)

    async def greet(self, message: InboundMessage = EVE) -> str:
        """Return the code that *message*'s sender was told, empty if none."""
        before = len(self.told)
        await self.pairing.greet(message)
        new = self.told[before:]
        return new[0].outgoing.text.split("`")[1] if new else ""

    async def examine(self, message: InboundMessage = EVE) -> Admitted | Refused:
        return await examine(message, POLICY, self.store.pairings)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    clock = ManualClock()
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    yield Door(store, clock, [])
    await store.close()


def test_a_code_is_worth_forty_bits_and_more() -> None:
    """Of letters that nobody mistakes for one another; no two are alike."""
    assert len(set(ALPHABET)) == 32
    assert CODE_LENGTH * 5 >= 40
    assert len({new_code() for _ in range(1_000)}) == 1_000
    assert set("".join(new_code() for _ in range(1_000))) == set(ALPHABET)


async def test_a_stranger_is_told_a_code_once_and_nothing_else(door: Door) -> None:
    """Neither who the owner is nor who answers; who goes on writing hears nothing more for an hour."""
    code = await door.greet()
    assert code == format_code(door.told[0].outgoing.text.split("`")[1].replace("-", ""))
    assert door.told[0].outgoing.address == EVE.address
    assert [await door.greet() for _ in range(3)] == ["", "", ""]
    door.clock.advance(3601)
    assert await door.greet() not in {"", code}


async def test_the_code_in_the_owners_hand_lets_its_bearer_in(door: Door) -> None:
    """However it is typed; once; and to that account alone."""
    code = await door.greet()
    assert await door.examine() == Refused(RefusalReason.UNPAIRED)
    assert "`Eve the owner (telegram:99)` may now write to telegram.home" in await door.pairing.approve(
        f" {code.lower().replace('-', ' ')} "
    )
    assert await door.examine() == Admitted()
    assert await door.examine(replace(EVE, address=Address("telegram", "work", "99"))) == Refused(
        RefusalReason.UNPAIRED
    )
    with pytest.raises(PairingError, match="no pending request has that code"):
        await door.pairing.approve(code)


async def test_a_code_is_worth_nothing_after_an_hour(door: Door) -> None:
    """Short-lived, so that a leaked one does little."""
    code = await door.greet()
    door.clock.advance(3600)
    with pytest.raises(PairingError, match="older than an hour"):
        await door.pairing.approve(code)


async def test_who_was_refused_is_left_in_silence_for_a_week(door: Door) -> None:
    """Their code is gone, and they get no other one."""
    code = await door.greet()
    assert "`Eve the owner (telegram:99)` was refused" in await door.pairing.refuse(code)
    with pytest.raises(PairingError):
        await door.pairing.refuse(code)
    door.clock.advance(6 * 86_400)
    assert await door.greet() == ""
    door.clock.advance(86_401)
    assert await door.greet() != ""


def stranger(number: int) -> InboundMessage:
    """Return what one of a crowd writes, in a chat whose id is not theirs."""
    return replace(EVE, sender=Sender(str(number), "x"), address=replace(EVE.address, chat=f"{number}00"))


async def test_a_crowd_of_strangers_cannot_fill_the_waiting_room(door: Door) -> None:
    """Few wait at an account; the rest hear nothing until there is room."""
    codes = [await door.greet(stranger(number)) for number in range(MOST_WAITING + 5)]
    assert [bool(code) for code in codes] == [True] * MOST_WAITING + [False] * 5
    assert len(await door.pairing.waiting()) == MOST_WAITING


async def test_five_strangers_who_write_all_day_keep_nobody_out(door: Door) -> None:
    """After ten minutes at most somebody else gets a code, keeps it for ten, and comes in by it."""

    async def crowd(minutes: int) -> None:
        for _ in range(minutes):
            for number in range(MOST_WAITING):
                await door.greet(stranger(number))
            door.clock.advance(60)

    kept_out = []
    for hour in range(3):
        await crowd(45)
        waited = 0
        while not (code := await door.greet(stranger(1_000 + hour))):
            await crowd(1)
            waited += 60
        await crowd(9)
        assert f"telegram:{1_000 + hour}" in await door.pairing.approve(code)
        kept_out.append(waited)
    assert max(kept_out) <= HELD_FOR.total_seconds()


async def test_a_crowd_that_never_ends_keeps_nobody_out_whom_the_owner_names(door: Door) -> None:
    """New accounts take every place as it is free; by number the owner lets in whom they know, if any bot pairs."""
    for number in range(500):
        await door.greet(stranger(number))
        door.clock.advance(30)
        assert len(await door.pairing.waiting()) <= MOST_WAITING
    assert await door.greet() == ""
    assert await door.examine() == Refused(RefusalReason.UNPAIRED)
    told = await door.pairing.approve(" telegram:99 ")
    assert "telegram:99` may now write to telegram.home" in told
    assert "telegram:99` may now write to telegram.work" in told
    assert await door.examine() == Admitted()
    with pytest.raises(PairingError, match="no bot on discord offers pairing"):
        await door.pairing.approve("discord:99")


async def test_who_was_let_in_is_told_so_in_their_own_chat(door: Door) -> None:
    """In the chat where they wrote, also after a restart; nobody else is told, and nobody who was refused."""
    here = replace(EVE, address=replace(EVE.address, chat="4711"))
    code = await door.greet(here)
    other = await door.greet(stranger(1))
    door.__post_init__()
    await door.pairing.refuse(other)
    before = len(door.told)
    assert (await door.pairing.approve(code)).endswith("directly, as a guest; I have told them")
    (notice,) = door.told[before:]
    assert notice.outgoing == Outgoing(here.address, "You have been approved: from now on I answer your messages here.")
    assert notice in await door.store.outbox.unfinished()
    assert "please tell them, because I have no chat with them yet" in await door.pairing.approve("telegram:555")


async def test_chats_of_strangers_are_remembered_within_bounds(door: Door) -> None:
    """However many ask, of each account the latest."""
    for number in range(CHATS_KNOWN + 20):
        await door.greet(stranger(number))
        door.clock.advance(HELD_FOR.total_seconds())
    kept = json.loads(await door.store.get("pairing_chats:telegram.home") or "")
    assert list(kept) == [str(number) for number in range(20, CHATS_KNOWN + 20)]


async def test_revoking_takes_the_guest_out_and_what_they_said_with_them(door: Door) -> None:
    """Their waiting messages are dropped and counted; others' and groups' stay; it is told in words."""
    await door.pairing.approve(await door.greet())
    await door.pairing.approve(await door.greet(replace(EVE, sender=Sender("98", "Gus"))))
    in_group = replace(EVE, address=Address("telegram", "home", "-100"), kind=ChatKind.GROUP)
    said = [
        replace(EVE, id="1"),
        replace(EVE, id="2"),
        replace(EVE, id="3", sender=Sender("98", "Gus")),
        replace(in_group, id="4"),
    ]
    for each in said:
        await door.store.inbox.append(each)
    assert await door.pairing.revoke("telegram:99") == (
        "`Eve the owner (telegram:99)` is no longer a guest; 2 waiting messages dropped"
    )
    assert [row.message.id for row in await door.store.inbox.waiting()] == ["3", "4"]
    assert (await door.store.report()).reasons == {"revoked.unpaired": 2}
    assert await door.examine() == Refused(RefusalReason.UNPAIRED)
    assert [guest.visitor.id for guest in await door.pairing.guests()] == ["98"]


@pytest.mark.parametrize("person", ["telegram:5", "Eve", "telegram:", "99", "telegram:99 "])
async def test_only_a_guest_can_be_revoked(door: Door, person: str) -> None:
    """Anybody else is named with what to do instead."""
    with pytest.raises(PairingError, match=r"was not approved by pairing|name the person as"):
        await door.pairing.revoke(person)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[Approve](https://evil.example)", "`[Approve](https://evil.example) (telegram:99)`"),
        ("Eve` **you**", "`Eve' **you** (telegram:99)`"),
        ("Eve\u202e", "`Eve\\u202e (telegram:99)`"),
        ("", "`telegram:99`"),
    ],
)
def test_a_name_is_quoted_wherever_it_is_told(name: str, shown: str) -> None:
    """It is no link, ends no quotation and turns nothing round: others choose it, and the owner reads it."""
    assert describe_visitor(Visitor("telegram", "home", "99", name)) == shown
