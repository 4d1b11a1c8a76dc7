"""Specifics of the HTTP channel; the contract suite checks the rest."""

import asyncio
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, Body, ChannelUnavailableError, ChatKind, InboundMessage, OutboundMessage, Sender
from adapters.http import CHANNEL, HttpAdapter
from strandline.testing.listening import Received, listening

ADDRESS = Address(CHANNEL, "laptop", "main", "main")


def asked(text: str) -> InboundMessage:
    by = Sender("laptop", "laptop")
    return InboundMessage(ADDRESS, text, by, ChatKind.DIRECT, text, is_for_us=True, sent_at=datetime.now(UTC))


async def test_programs_ask_side_by_side() -> None:
    """A message that is long in storing holds up no other one; each waits for its own."""
    adapter, received = HttpAdapter("laptop"), Received(hold=True)
    async with listening(adapter, received), asyncio.TaskGroup() as programs:
        await asyncio.sleep(0)
        asking = [programs.create_task(adapter.take(asked(str(number)))) for number in range(3)]
        await received.begun.wait()
        await asyncio.sleep(0)
        assert len(received.offered) == 3
        assert not any(each.done() for each in asking)
        received.go_on.set()
    assert sorted(received.texts) == ["0", "1", "2"]


async def test_a_stop_leaves_what_is_under_way_to_who_asked() -> None:
    """It is stored all the same, and they learn it; whoever asks later is told at once that nobody listens."""
    adapter, received = HttpAdapter("laptop"), Received(hold=True)
    async with asyncio.TaskGroup() as programs:
        async with listening(adapter, received):
            await asyncio.sleep(0)
            asking = programs.create_task(adapter.take(asked("hello")))
            await received.begun.wait()
        with pytest.raises(ChannelUnavailableError, match="accepts no messages right now"):
            await adapter.take(asked("too late"))
        received.go_on.set()
        assert await asking is None
    assert received.texts == ["hello"]


async def test_who_asks_hears_that_it_was_not_stored() -> None:
    """The listener goes on: another program's message may well be stored."""
    adapter, is_full = HttpAdapter("laptop"), True
    received = Received()

    async def receive(message: InboundMessage) -> None:
        if is_full:
            raise OSError("no space left on device")
        await received(message)

    async with listening(adapter, receive) as listener:
        await asyncio.sleep(0)
        with pytest.raises(OSError, match="no space left"):
            await adapter.take(asked("lost"))
        is_full = False
        await adapter.take(asked("kept"))
        assert not listener.done()
    assert received.texts == ["kept"]


async def test_who_asks_hears_that_it_was_refused() -> None:
    """By the reason, as the gateway gives it."""
    adapter = HttpAdapter("laptop")

    async def refuse(_: InboundMessage) -> str:
        return "refused.rate"

    async with listening(adapter, refuse):
        await asyncio.sleep(0)
        assert await adapter.take(asked("hello")) == "refused.rate"


async def test_an_answer_is_confirmed_whoever_waits() -> None:
    """It went with the request, or stands in the conversation: the outbox need not keep it."""
    adapter = HttpAdapter("laptop")
    ids = [(await adapter.send(OutboundMessage(ADDRESS, Body("hello"), f"t{n}.0"))).message_id for n in range(2)]
    assert ids[0] != ids[1]
