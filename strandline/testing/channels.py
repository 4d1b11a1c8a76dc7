"""Contract of an adapter: what every channel must do, as test classes to inherit.

Give the fixture `platform`, the far side of your adapter; docs/extend.md shows a whole example.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

import pytest

from adapters.channel import (
    Adapter,
    Address,
    Body,
    ChannelError,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
)
from strandline.testing.listening import Received, listening

ANSWER = "# Today\n\n" + "\n\n".join(f"{n}. **bold {n}** and `code {n}`, <b>, 😀, слово" for n in range(400))


class Platform(Protocol):
    """The far side of an adapter: one person, writing and reading."""

    adapter: Adapter
    address: Address
    person: str
    """Their id, as the transport knows it."""

    def says(self, text: str) -> None:
        """The person writes."""

    def shown(self) -> Sequence[str]:
        """All that the person has been shown."""

    async def vanish(self) -> None:
        """Nobody can be reached any more."""


class StoreFullError(Exception):
    """The inbox could not store a message."""


class AskedChannelContract:
    """The contract of a channel whose adapter is asked, not listened to, such as an HTTP API.

    Its people hand each message over with a request of their own and wait for the answer, so nothing can come again or
    fail in a listener, and nobody else sees an answer.
    """

    async def test_a_message_says_where_it_comes_from(self, platform: Platform) -> None:
        """Address, person, kind and time are the transport's facts, complete and in UTC."""
        received = Received()
        async with listening(platform.adapter, received):
            platform.says("hello")
            (message,) = await received.wait_for(1)
        assert message.address == platform.address
        assert (message.address.channel, message.address.account) == (
            platform.adapter.channel,
            platform.adapter.account,
        )
        assert message.text == "hello"
        assert message.kind is ChatKind.DIRECT
        assert message.is_for_us
        assert message.id
        assert message.sender.id == platform.person
        assert not message.sender.is_bot
        assert message.sent_at.utcoffset() == timedelta(0)

    async def test_messages_come_in_order_and_one_at_a_time(self, platform: Platform) -> None:
        """The next message waits until the one before is durable."""
        received = Received(hold=True)
        async with listening(platform.adapter, received):
            for number in range(5):
                platform.says(f"message {number}")
            await received.begun.wait()
            assert received.texts == []
            received.go_on.set()
            await received.wait_for(5)
        assert received.texts == [f"message {number}" for number in range(5)]
        assert received.most_at_once == 1
        assert len({message.id for message in received.messages}) == 5

    async def test_listening_ends_when_it_is_cancelled(self, platform: Platform) -> None:
        """A cancelled listener ends as cancelled, at once."""
        async with asyncio.timeout(20), listening(platform.adapter, Received()) as listener:
            await asyncio.sleep(0)
        assert listener.cancelled()

    async def test_rendering_is_repeatable_and_leaves_nothing_for_blank_text(self, platform: Platform) -> None:
        """Delivery counts parts, so they must not depend on when they are made."""
        assert platform.adapter.render(ANSWER) == platform.adapter.render(ANSWER)
        assert list(platform.adapter.render(" \n ")) == []

    async def test_a_closed_adapter_sends_nothing(self, platform: Platform) -> None:
        """After `close` no connection is opened again."""
        await platform.adapter.close()
        with pytest.raises(ChannelError):
            await platform.adapter.send(_part(platform, Body("too late"), 0))
        assert list(platform.shown()) == []


class ChannelContract(AskedChannelContract):
    """The contract of a channel that brings messages by listening and shows answers to a person."""

    async def test_what_was_not_yet_durable_comes_again(self, platform: Platform) -> None:
        """A listener that is stopped within `receive` loses nothing: the same message, by id, is handed over anew."""
        stopped, received = Received(hold=True), Received()
        async with listening(platform.adapter, stopped):
            platform.says("hold this")
            await stopped.begun.wait()
        async with listening(platform.adapter, received):
            (message,) = await received.wait_for(1)
        assert stopped.messages == []
        assert message == stopped.offered[0]

    async def test_an_inbox_that_fails_stops_the_listener(self, platform: Platform) -> None:
        """The gateway learns of it; nothing is swallowed, and the adapter can listen again."""

        async def full(_: InboundMessage) -> None:
            raise StoreFullError

        platform.says("hello")
        with pytest.raises(StoreFullError):
            await platform.adapter.listen(full)
        received = Received()
        async with listening(platform.adapter, received):
            platform.says("again")
            await received.hear("again")

    async def test_a_long_answer_arrives_whole_and_in_order(self, platform: Platform) -> None:
        """Every part fits, each is receipted under its own id, and together they hold every word."""
        bodies = platform.adapter.render(ANSWER)
        ids = [(await platform.adapter.send(_part(platform, body, n))).message_id for n, body in enumerate(bodies)]
        assert list(platform.shown()) == [body.text for body in bodies]
        assert len(set(ids)) == len(ids)
        assert all(ids)
        everything = "".join(platform.shown())
        for number in range(400):
            assert f"code {number}" in everything
        assert everything.count("<b>") == 400

    async def test_nobody_there_is_said_to_be_temporary(self, platform: Platform) -> None:
        """The reply stays in the outbox: surely not sent, and worth another try."""
        await platform.vanish()
        with pytest.raises(ChannelUnavailableError):
            await platform.adapter.send(_part(platform, Body("hello"), 0))


def _part(platform: Platform, body: Body, number: int) -> OutboundMessage:
    return OutboundMessage(platform.address, body, key=f"t1.{number}")
