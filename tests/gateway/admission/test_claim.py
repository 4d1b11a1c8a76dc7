"""Claims of bots without an owner."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.claim import ALL_TRIES_A_MINUTE, CODE_FOR, CODES, TRIES_A_MINUTE, Claims
from gateway.errors import ConfigError, StrandlineError
from gateway.stores.rows import OutboxRow
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import START, ManualClock

ACCOUNT = ("telegram", "home")
NIA = InboundMessage(Address(*ACCOUNT, "777"), "1", Sender("777", "Nia"), ChatKind.DIRECT, "", True, START)


@dataclass
class World:
    """A bot without an owner, on a real store."""

    store: SqliteStore
    clock: ManualClock = field(default_factory=ManualClock)
    owners: list[str] = field(default_factory=list)
    told: list[OutboxRow] = field(default_factory=list)
    is_read_only: bool = False

    def __post_init__(self) -> None:
        self.claims = Claims([ACCOUNT], self.store, self.clock.now, self.own, self.told.extend)

    async def own(self, person: str) -> None:
        if self.is_read_only:
            raise ConfigError("config.toml cannot be written")
        self.owners.append(person)

    async def says(self, text: str, message: InboundMessage = NIA) -> bool:
        return await self.claims.attempt(replace(message, text=text))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await SqliteStore.open(tmp_path / "state.db")
    yield World(store)
    await store.close()


async def test_the_sender_of_the_code_is_the_owner_and_nobody_after_them(world: World) -> None:
    """However it is typed, and from a link; it works once, of many at the same moment for one alone."""
    code = (await world.claims.issue(ACCOUNT)).code
    other = (await world.claims.issue(ACCOUNT)).code
    eve = replace(NIA, sender=Sender("666", "Eve"), address=Address(*ACCOUNT, "666"))
    tried = await asyncio.gather(world.says(f"/start {code.lower()}"), world.says(code, eve), world.says(other, eve))
    assert (tried.count(True), len(world.owners), len(world.told)) == (1, 1, 1)
    assert not await world.says(other)
    assert world.owners == ["telegram:777"]
    assert "my owner now (`telegram:777`)" in world.told[0].outgoing.text


async def test_whatever_is_no_code_gets_no_answer(world: World) -> None:
    """Nor does a code of another length, a late one, one of a bot, or one for another account."""
    code = (await world.claims.issue(ACCOUNT)).code
    bot = replace(NIA, sender=Sender("777", "Nia", is_bot=True))
    for text, message in (("hello", NIA), ("A" * 10, NIA), (f"{code}A", NIA), (code, bot), (f"{code} please", NIA)):
        assert not await world.says(text, message)
    assert not await world.says(code, replace(NIA, address=Address("telegram", "work", "777")))
    assert not await world.says(code, replace(NIA, sender=Sender("", "a channel")))
    world.clock.advance(CODE_FOR.total_seconds() + 1)
    assert not await world.says(code)
    assert (world.owners, world.told) == ([], [])


async def test_codes_cannot_be_guessed_by_many(world: World) -> None:
    """After a few wrong ones a person's right one does not count until later; so it is for all people together."""
    code = (await world.claims.issue(ACCOUNT)).code
    for _ in range(TRIES_A_MINUTE):
        assert not await world.says("B" * 10)
    assert not await world.says(code)
    for number in range(ALL_TRIES_A_MINUTE):
        await world.says("B" * 10, replace(NIA, sender=Sender(str(number), "?")))
    fresh = replace(NIA, sender=Sender("888", "Nia"))
    assert not await world.says(code, fresh)
    world.clock.advance(60)
    assert await world.says(code, fresh)


async def test_only_digests_are_stored_and_few_codes_are_valid(world: World) -> None:
    """The oldest goes; an account with an owner has none."""
    first = (await world.claims.issue(ACCOUNT)).code
    codes = [(await world.claims.issue(ACCOUNT)).code for _ in range(CODES)]
    kept = await world.store.get("claim:telegram.home") or ""
    assert not any(code.replace("-", "") in kept or code in kept for code in codes)
    assert not await world.says(first)
    assert await world.claims.has_code(ACCOUNT)
    with pytest.raises(StrandlineError, match="has an owner"):
        await world.claims.issue(("telegram", "work"))


async def test_an_owner_that_cannot_be_written_down_is_told_what_to_do(world: World) -> None:
    """In their own chat: they have shown that they read the terminal."""
    world.is_read_only = True
    assert await world.says((await world.claims.issue(ACCOUNT)).code)
    assert 'Add "telegram:777" to `owner.people`' in world.told[0].outgoing.text
