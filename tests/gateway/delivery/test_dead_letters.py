"""Replies that could not be delivered: what their owner is told, and how often."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.channel import Address
from adapters.spoken import CHAT
from gateway.delivery.dead_letters import MOST_CHATS, DeadLetter, DeadLetters, joined_notice
from gateway.delivery.owner_notices import Notices
from gateway.runtime.clock import SystemClock
from gateway.stores.rows import OutboxRow, Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore

OWNER = Address("terminal", "main", CHAT)
PHONE = Address("telegram", "home", "7")
KITCHEN, GARDEN = Address("telegram", "home", "-5"), Address("telegram", "home", "-6")
TWO = datetime(2026, 3, 2, 14, tzinfo=UTC)


class House:
    """A store, and what its owner was told."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.now = store, TWO
        self.told: list[tuple[Address, str]] = []
        self.restart()

    def restart(self) -> None:
        self.letters = DeadLetters(self.store, Notices(self.store, OWNER, self._wake, self._phone), lambda: self.now)

    def _wake(self, rows: Sequence[OutboxRow]) -> None:
        self.told += [(row.outgoing.address, row.outgoing.text) for row in rows]

    async def _phone(self) -> Address:
        return PHONE

    async def gives_up(self, chat: Address, why: str = "no answer") -> OutboxRow:
        number = len(await self.store.outbox.unfinished())
        turn = TurnId(f"t{number}.{self.now.isoformat()}")
        (row,) = await self.store.commit_turn(TurnCommit(turn, [], [Outgoing(chat, "an answer")]))
        await self.letters.add(row, why)
        return row


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield House(store)
    await store.close()


async def test_a_channel_that_is_down_costs_two_notices_an_hour(house: House) -> None:
    """The first at once; the second counts the others by chat, each with its latest reason, across a restart."""
    await house.gives_up(KITCHEN)
    for number in range(40):
        house.now += timedelta(minutes=1)
        await house.gives_up(KITCHEN if number % 4 else GARDEN, f"timeout {number}")
    house.restart()
    house.now = TWO + timedelta(hours=1)
    again = await house.gives_up(GARDEN, "gone")
    await house.letters.add(again, "gone")
    assert house.told == [
        (PHONE, "A reply to `telegram.home.-5` could not be delivered: no answer"),
        (
            PHONE,
            "40 more replies could not be delivered in the hour from 14:00:\n"  # noqa: ISC004 # one text
            "- 10 to `telegram.home.-6`: timeout 36\n- 30 to `telegram.home.-5`: timeout 39",
        ),
        (PHONE, "A reply to `telegram.home.-6` could not be delivered: gone"),
    ]


async def test_the_notice_of_an_hour_waits_for_no_further_reply(house: House) -> None:
    """It is sent once the hour is over, also by the next run of the gateway."""
    for chat in (KITCHEN, GARDEN):
        await house.gives_up(chat)
    house.restart()
    for minutes, told in ((59, 1), (60, 2), (61, 2)):
        house.now = TWO + timedelta(minutes=minutes)
        watching = asyncio.create_task(house.letters.watch(SystemClock()))
        await asyncio.sleep(0.05)
        watching.cancel()
        assert len(house.told) == told


async def test_a_reply_that_comes_again_after_a_crash_counts_once(house: House) -> None:
    """It is given up before the store knows that it is."""
    await house.gives_up(KITCHEN)
    row = await house.gives_up(GARDEN)
    house.restart()
    await house.letters.add(row, "no answer")
    house.now += timedelta(hours=1)
    await house.gives_up(KITCHEN)
    assert [said.partition("\n")[0] for _, said in house.told][1] == (
        "1 more reply could not be delivered in the hour from 14:00:"
    )


async def test_where_the_owners_own_chat_takes_nothing_the_terminal_is_told(house: House) -> None:
    """As of a single reply."""
    await house.gives_up(KITCHEN)
    await house.gives_up(PHONE)
    house.now += timedelta(hours=2)
    await house.gives_up(KITCHEN)
    assert [where for where, _ in house.told] == [PHONE, OWNER, PHONE]


def test_a_notice_names_some_chats_and_counts_the_others() -> None:
    """A gateway may serve hundreds."""
    letters = [DeadLetter(number, f"c{number}", f"`c{number}`", "down") for number in range(MOST_CHATS + 5)]
    said = joined_notice(TWO, [*letters, letters[-1]]).splitlines()
    assert len(said) == MOST_CHATS + 2
    assert said[0].startswith(f"{MOST_CHATS + 6} more replies")
    assert said[-1] == "- 6 to 5 other chats"
