"""Specifics of the terminal channel; the contract suite checks the rest."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime

import pytest

from adapters.abilities import Wakes
from adapters.channel import (
    Address,
    Body,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Sender,
    Sent,
)
from adapters.spoken import CHAT
from adapters.terminal import CHANNEL, Sink, TerminalAdapter
from strandline.testing.listening import Received, listening

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def reply(text: str) -> OutboundMessage:
    return OutboundMessage(Address(CHANNEL, "main", CHAT), Body(text), key="t1.0")


async def nobody(message: InboundMessage) -> None:
    raise OSError("no space left on device")


async def test_what_is_said_is_the_owners_direct_message() -> None:
    """The message says who spoke, where, when, and carries the id that `say` returns."""
    adapter, received = TerminalAdapter("main", now=lambda: NOON), Received()
    async with listening(adapter, received):
        said = await adapter.say("hello")
    assert received.messages == [
        InboundMessage(
            address=Address("terminal", "main", "owner"),
            id=said.id,
            sender=Sender("0", "owner"),
            kind=ChatKind.DIRECT,
            text="hello",
            is_for_us=True,
            sent_at=NOON,
        )
    ]


async def test_say_returns_only_when_the_message_is_durable() -> None:
    """Until `receive` has returned, whoever spoke still waits."""
    adapter, received = TerminalAdapter("main"), Received(hold=True)
    async with listening(adapter, received), asyncio.TaskGroup() as people:
        saying = people.create_task(adapter.say("hello"))
        await received.begun.wait()
        assert not saying.done()
        received.go_on.set()
        assert await saying == received.messages[0]


async def test_who_speaks_hears_that_it_was_not_stored() -> None:
    """A full disk is no silence: `say` raises what `receive` raised, and the message does not come back."""
    adapter, received = TerminalAdapter("main"), Received()
    async with asyncio.TaskGroup() as people:
        saying = people.create_task(_outcome(adapter.say("lost")))
        with pytest.raises(OSError, match="no space left"):
            await adapter.listen(nobody)
    assert isinstance(saying.result(), OSError)
    async with listening(adapter, received):
        await adapter.say("next")
    assert received.texts == ["next"]


async def test_who_hung_up_before_being_heard_said_nothing() -> None:
    """A terminal that was closed while it waited leaves no message behind that is answered later."""
    adapter, received = TerminalAdapter("main"), Received()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await adapter.say("never mind")
    async with listening(adapter, received):
        await adapter.say("hello")
    assert received.texts == ["hello"]


async def test_who_hangs_up_while_being_heard_has_spoken() -> None:
    """The message is kept, and the listener goes on to the next."""
    adapter, received = TerminalAdapter("main"), Received(hold=True)
    async with listening(adapter, received), asyncio.TaskGroup() as people:
        saying = people.create_task(adapter.say("remember this"))
        await received.begun.wait()
        saying.cancel()
        await asyncio.wait([saying])
        received.go_on.set()
        await adapter.say("and this")
    assert received.texts == ["remember this", "and this"]


async def test_everybody_attached_sees_a_reply() -> None:
    """Two terminals show the same chat; one that was closed shows nothing more."""
    adapter, first, second = TerminalAdapter("main"), list[str](), list[str]()

    with adapter.attach(_into(first)):
        with adapter.attach(_into(second)):
            await adapter.send(reply("to both"))
        await adapter.send(reply("to one"))
    assert first == ["to both", "to one"]
    assert second == ["to both"]


@pytest.mark.parametrize("is_stuck", [False, True], ids=["gone", "stuck"])
async def test_a_broken_reader_is_dropped_and_the_others_read_on(is_stuck: bool) -> None:
    """One dead window neither fails nor delays a reply for the next one."""
    adapter, alive, tries = TerminalAdapter("main", patience_s=0.01), list[str](), list[str]()

    async def broken(message: OutboundMessage) -> None:
        tries.append(message.body.text)
        if is_stuck:
            await asyncio.Event().wait()
        raise BrokenPipeError

    with adapter.attach(broken), adapter.attach(_into(alive)):
        await adapter.send(reply("one"))
        await adapter.send(reply("two"))
    assert tries == ["one"]
    assert alive == ["one", "two"]


async def test_a_reply_that_nobody_took_is_not_sent() -> None:
    """With only a broken reader the reply stays in the outbox."""
    adapter = TerminalAdapter("main")

    async def broken(_: OutboundMessage) -> None:
        raise BrokenPipeError

    with adapter.attach(broken), pytest.raises(ChannelUnavailableError, match="no terminal is open"):
        await adapter.send(reply("hello"))


async def test_a_reader_who_comes_wakes_delivery() -> None:
    """What waited for a reader is sent as soon as there is one, and the reader is there by then."""
    adapter, seen = TerminalAdapter("main"), list[str]()
    assert isinstance(adapter, Wakes)
    async with asyncio.TaskGroup() as delivery:
        woken: asyncio.Queue[asyncio.Task[Sent]] = asyncio.Queue()
        adapter.on_reachable(lambda: woken.put_nowait(delivery.create_task(adapter.send(reply("waited")))))
        with adapter.attach(_into(seen)):
            await woken.get_nowait()
    assert seen == ["waited"]


async def test_closing_answers_those_who_wait() -> None:
    """Nobody waits for a gateway that has gone."""
    adapter = TerminalAdapter("main")
    async with asyncio.TaskGroup() as people:
        saying = people.create_task(_outcome(adapter.say("hello")))
        await asyncio.sleep(0)
        await adapter.close()
    assert isinstance(saying.result(), ChannelUnavailableError)
    with pytest.raises(ChannelUnavailableError):
        await adapter.say("hello?")


def _into(texts: list[str]) -> Sink:
    async def sink(message: OutboundMessage) -> None:
        texts.append(message.body.text)

    return sink


async def _outcome(saying: Awaitable[InboundMessage]) -> InboundMessage | Exception:
    try:
        return await saying
    except (OSError, ChannelUnavailableError) as exc:
        return exc
