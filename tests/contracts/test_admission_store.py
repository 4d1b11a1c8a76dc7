"""What every store promises of the door: requests, guests, what was overheard, and the ledger of silences."""

from datetime import datetime, timedelta

import pytest

from adapters.channel import Address, OverheardMessage
from gateway.stores.admission import SILENCES_KEPT, Context, Guest, PairingRequest, Silence, Visitor
from gateway.stores.ports import Store
from gateway.stores.rows import OutboxRow, Outgoing
from tests.contracts.test_store import Kept
from tests.fakes.clock import START

EVE = Visitor("telegram", "home", "99", "Eve | “quoted” 😀")
GROUP = Address("telegram", "home", "-100", "7")
HOUR = timedelta(hours=1)


def request(visitor: Visitor = EVE, code: str = "AAAA") -> PairingRequest:
    return PairingRequest(visitor, code, START, START + HOUR)


def visitor(number: int, account: str = "home") -> Visitor:
    return Visitor("telegram", account, str(number), f"Visitor {number}")


async def ask(store: Store, wanted: PairingRequest, most: int = 3, older: datetime = START - HOUR) -> OutboxRow | None:
    reply = Outgoing(Address(wanted.visitor.channel, wanted.visitor.account, wanted.visitor.id), f"code {wanted.code}")
    return await store.pairings.ask(wanted, most, reply, older)


async def test_a_request_and_the_reply_that_tells_its_code_are_kept_together(kept: Kept) -> None:
    """After a restart the request waits, and so does the one message about it."""
    row = await ask(kept.store, request())
    store = await kept.reopen()
    assert await store.pairings.waiting() == [request()]
    assert row is not None
    assert await store.outbox.unfinished() == [row]
    assert row.is_notice


async def test_who_asks_again_within_the_hour_gets_nothing_and_later_a_new_code(kept: Kept) -> None:
    """One code an hour for each person at each account; another account counts for itself."""
    assert await ask(kept.store, request())
    assert await ask(kept.store, request(code="BBBB")) is None
    assert await ask(kept.store, request(visitor(99, "work"), "CCCC"))
    kept.clock.advance(HOUR.total_seconds())
    assert await kept.store.pairings.waiting() == []
    assert await kept.store.pairings.approve("AAAA") is None
    assert await ask(kept.store, request(code="DDDD"))


async def test_only_so_many_wait_at_an_account(store: Store) -> None:
    """Who comes when all places are taken is not kept; a decision makes room, another account has its own."""
    for number in range(3):
        assert await ask(store, request(visitor(number), f"CODE{number}"))
    assert await ask(store, request(visitor(7), "LATE")) is None
    assert await ask(store, request(visitor(7, "work"), "WORK"))
    await store.pairings.refuse("CODE1", START + HOUR)
    assert await ask(store, request(visitor(7), "LATE"))
    assert [each.code for each in await store.pairings.waiting()] == ["CODE0", "CODE2", "LATE", "WORK"]


async def test_where_all_places_are_taken_the_oldest_makes_way_once_it_is_old(kept: Kept) -> None:
    """Its code counts no more, who made it gets no other one for as long, and nobody at another account is touched."""
    minute = timedelta(minutes=1)
    await ask(kept.store, request(visitor(50, "work"), "WORK"))
    for number in range(3):
        kept.clock.advance(60)
        at = START + (number + 1) * minute
        made = PairingRequest(visitor(number), f"CODE{number}", at, at + HOUR)
        assert await ask(kept.store, made)
    late = PairingRequest(visitor(7), "LATE", START + 4 * minute, START + 4 * minute + HOUR)
    assert await ask(kept.store, late, older=START + minute) is None
    assert await ask(kept.store, late, older=START + minute + timedelta(microseconds=1))
    store = await kept.reopen()
    assert [each.code for each in await store.pairings.waiting()] == ["WORK", "CODE1", "CODE2", "LATE"]
    assert await store.pairings.approve("CODE0") is None
    again = PairingRequest(visitor(0), "MORE", START + 5 * minute, START + 5 * minute + HOUR)
    assert await ask(store, again, older=START + 9 * minute) is None
    kept.clock.advance(HOUR.total_seconds())
    assert await ask(store, again, older=START + 9 * minute)


async def test_somebody_is_let_in_without_a_code(kept: Kept) -> None:
    """Whether they asked, were refused or never wrote; a code of theirs is used up, others' are not."""
    await ask(kept.store, request())
    await ask(kept.store, request(visitor(2), "TWO"))
    await ask(kept.store, request(visitor(3), "THREE"))
    await kept.store.pairings.refuse("TWO", START + 3 * HOUR)
    for each in (EVE, visitor(2), visitor(4)):
        await kept.store.pairings.let_in(each)
    store = await kept.reopen()
    assert {guest.visitor.id for guest in await store.pairings.guests()} == {"99", "2", "4"}
    assert [each.code for each in await store.pairings.waiting()] == ["THREE"]
    assert await store.pairings.approve("AAAA") is None


async def test_a_code_makes_one_guest_once(kept: Kept) -> None:
    """Approving uses the code up; the grant survives a restart and is that account's alone."""
    await ask(kept.store, request())
    assert not await kept.store.pairings.is_guest("telegram", "home", "99")
    assert await kept.store.pairings.approve("AAAA") == Guest(EVE, START)
    assert await kept.store.pairings.approve("AAAA") is None
    store = await kept.reopen()
    assert await store.pairings.guests() == [Guest(EVE, START)]
    places = [("telegram", "home"), ("telegram", "work"), ("discord", "home")]
    assert [await store.pairings.is_guest(*each, "99") for each in places] == [True, False, False]


async def test_who_was_refused_gets_no_code_for_as_long_as_it_says(kept: Kept) -> None:
    """The refused code is worth nothing, and the person is not told another one before."""
    await ask(kept.store, request())
    assert await kept.store.pairings.refuse("AAAA", START + 3 * HOUR) == EVE
    assert await kept.store.pairings.refuse("AAAA", START + 3 * HOUR) is None
    assert await kept.store.pairings.approve("AAAA") is None
    kept.clock.advance(2 * HOUR.total_seconds())
    assert await ask(kept.store, request(code="BBBB")) is None
    kept.clock.advance(2 * HOUR.total_seconds())
    later = PairingRequest(EVE, "CCCC", START + 4 * HOUR, START + 5 * HOUR)
    assert await ask(kept.store, later)
    assert await kept.store.pairings.waiting() == [later]


async def test_revoking_takes_a_person_out_at_every_account_of_the_platform(store: Store) -> None:
    """And nobody else, nor the same number on another platform."""
    guests = [visitor(99), visitor(99, "work"), visitor(98), Visitor("discord", "home", "99", "Other")]
    for number, each in enumerate(guests):
        await ask(store, request(each, f"CODE{number}"))
        await store.pairings.approve(f"CODE{number}")
    gone = await store.pairings.revoke("telegram", "99")
    assert {guest.visitor for guest in gone} == set(guests[:2])
    assert {guest.visitor for guest in await store.pairings.guests()} == set(guests[2:])
    assert await store.pairings.revoke("telegram", "99") == []


def heard(text: str, minutes: int = 0) -> OverheardMessage:
    return OverheardMessage("Kim", text, START + timedelta(minutes=minutes))


async def test_what_was_overheard_is_kept_for_its_chat_until_it_is_forgotten(kept: Kept) -> None:
    """The newest, oldest first, through a restart; the same message twice is one; what comes later stays."""
    for number in range(5):
        await kept.store.overheard.keep(GROUP, str(number), heard(f"{number} \u2028 😀", number), 3)
    await kept.store.overheard.keep(GROUP, "4", heard("4, edited", 4), 3)
    store = await kept.reopen()
    context = await store.overheard.of(GROUP)
    assert [each.text for each in context.heard] == ["2 \u2028 😀", "3 \u2028 😀", "4, edited"]
    await store.overheard.keep(GROUP, "5", heard("late", 5), 3)
    await store.overheard.forget(GROUP, context.last)
    assert (await store.overheard.of(GROUP)).heard == (heard("late", 5),)
    assert await store.overheard.of(Address("telegram", "home", "-100")) == Context()


async def test_what_was_overheard_is_dropped_when_its_author_deletes_it(kept: Kept) -> None:
    """That message alone, and in that chat alone; an unknown one is no fault."""
    other = Address("telegram", "home", "-100")
    for address in (GROUP, other):
        for number in "12":
            await kept.store.overheard.keep(address, number, heard(number), 9)
    for number in "19":
        await kept.store.overheard.drop(GROUP, number)
    store = await kept.reopen()
    assert [each.text for each in (await store.overheard.of(GROUP)).heard] == ["2"]
    assert [each.text for each in (await store.overheard.of(other)).heard] == ["1", "2"]


async def test_what_was_overheard_is_gone_after_a_day(kept: Kept) -> None:
    """It is no record of a group."""
    await kept.store.overheard.keep(GROUP, "1", heard("old"), 9)
    await kept.store.overheard.keep(GROUP, "2", heard("new", 120), 9)
    kept.clock.advance(timedelta(hours=25).total_seconds())
    assert [each.text for each in (await kept.store.overheard.of(GROUP)).heard] == ["new"]
    await kept.store.prune(kept.clock.now())
    assert [each.text for each in (await kept.store.overheard.of(GROUP)).heard] == ["new"]


def silence(person: str = "telegram:99", reason: str = "stranger", minutes: int = 0, times: int = 1) -> Silence:
    return Silence(START + timedelta(minutes=minutes), GROUP, person, reason, times)


async def test_the_ledger_has_a_line_for_each_chat_person_and_reason(kept: Kept) -> None:
    """The newest first; the same again only counts."""
    for minute, reason in enumerate(["stranger", "rate", "stranger"]):
        await kept.store.silences.record(silence(reason=reason, minutes=minute))
    await kept.store.silences.record(silence("telegram:5", minutes=1))
    store = await kept.reopen()
    found = await store.silences.latest()
    assert found[0] == silence(minutes=2, times=2)
    assert {(each.person, each.reason, each.times) for each in found[1:]} == {
        ("telegram:99", "rate", 1),
        ("telegram:5", "stranger", 1),
    }


async def test_the_ledger_of_silences_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many strangers write, the newest lines are kept and no more."""
    assert SILENCES_KEPT == 1_000
    for store_kind in ("sqlite", "redis"):
        monkeypatch.setattr(f"gateway.stores.{store_kind}.admission.SILENCES_KEPT", 5)
    for number in range(12):
        await store.silences.record(silence(f"telegram:{number}", minutes=number))
    assert [each.person for each in await store.silences.latest()] == [f"telegram:{n}" for n in range(11, 6, -1)]


async def test_silences_and_refusals_are_pruned_by_their_age(kept: Kept) -> None:
    """What nobody asks about any more goes."""
    await kept.store.silences.record(silence())
    await kept.store.silences.record(silence(reason="rate", minutes=60 * 24 * 20))
    await ask(kept.store, request())
    kept.clock.advance(timedelta(days=31).total_seconds())
    assert await kept.store.prune(kept.clock.now()) >= 2
    assert [each.reason for each in await kept.store.silences.latest()] == ["rate"]
