"""Chat platform of a world, and the adapter that a gateway has of it: slow, forgetful and unreliable by the seed."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from adapters.channel import (
    Address,
    Body,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sender,
    Sent,
    UnsureSendError,
)
from tests.simulation.invariants import check_shown
from tests.simulation.script import GROUP, OWNER, Saying, numbers_in
from tests.simulation.virtual_time import EPOCH
from tests.simulation.world import Doom, Shown, World

PART = 400
"""Characters of a message."""


def message_of(update: int, said: Saying) -> InboundMessage:
    """Return what the platform tells of a message."""
    return InboundMessage(
        address=Address("telegram", "home", str(said.chat)),
        id=str(update),
        sender=Sender(str(said.person), "Alice" if said.person == OWNER else "Bob"),
        kind=ChatKind.GROUP if said.chat == GROUP else ChatKind.DIRECT,
        text=said.text,
        is_for_us=said.chat != GROUP,
        sent_at=EPOCH + timedelta(seconds=said.at),
    )


class SimAdapter:
    """Implements `Adapter`."""

    channel = "telegram"
    account = "home"

    def __init__(self, world: World, die: Callable[[], None]) -> None:
        self._world = world
        self._die = die
        self.arrived = asyncio.Event()
        self._accepted = 0
        self.on_received: Callable[[], None] = lambda: None

    def render(self, markdown: str) -> Sequence[Body]:
        text = markdown.strip()
        return [Body(text[start : start + PART]) for start in range(0, len(text), PART)]

    async def listen(self, receive: Receive) -> None:
        """Hand over what is pending; a batch is confirmed by the next poll, which may not get through."""
        world = self._world
        while True:
            await self.arrived.wait()
            await asyncio.sleep(world.faults.uniform(0, 0.3))
            batch = world.pending[: world.faults.randint(1, 5)]
            for update, said in batch:
                if said.number in world.accepted:
                    world.mark("an update comes again")
                refused = await receive(message_of(update, said))
                world.note(f"received {update} {refused}")
                self.on_received()
                if said.number:
                    world.accepted.setdefault(said.number, world.now)
                if refused:
                    world.excused.add(said.number)
            await asyncio.sleep(world.faults.uniform(0, 0.3))
            if self._fails(world.listen_fails):
                world.mark("the listener loses its connection")
                raise ChannelUnavailableError("polling failed", world.faults.choice([None, 5.0]))
            del world.pending[: len(batch)]
            if not world.pending:
                self.arrived.clear()

    async def send(self, message: OutboundMessage) -> Sent:
        world, choices = self._world, self._world.faults
        await asyncio.sleep(choices.uniform(0, 0.2))
        if self._fails(world.send_fails):
            world.note(f"not sent to {message.address.chat} {message.turn}")
            if choices.random() < 0.2:
                world.mark("the outcome of a send that was not accepted is unknown")
                raise UnsureSendError("no answer")
            raise ChannelUnavailableError("no connection", choices.choice([None, 3.0, 30.0]))
        self._show(message)
        self._accepted += 1
        if world.fate.doom is Doom.ACCEPTED and self._accepted == world.fate.at:
            world.mark("a death after a send was accepted")
            self._die()
        if self._fails(world.send_fails / 2):
            world.mark("the outcome of a send that was accepted is unknown")
            if choices.random() < 0.3:
                await asyncio.sleep(100)
            raise UnsureSendError("no answer")
        await asyncio.sleep(choices.uniform(0, 5 if choices.random() < 0.1 else 0.2))
        return Sent(f"m{len(world.shown)}")

    def _show(self, message: OutboundMessage) -> None:
        world = self._world
        shown = Shown(int(message.address.chat), message.key, message.turn, message.body.text, world.now)
        world.shown.append(shown)
        first = [each.key for each in world.shown].index(
            shown.key
        )  # a key depends on the text, which may name a folder
        world.note(f"shown {shown.chat} #{first} {shown.turn} {shown.text[:40]!r}")
        check_shown(world, shown)

    def _fails(self, chance: float) -> bool:
        return not self._world.is_calm and self._world.faults.random() < chance

    async def close(self) -> None:
        """No connection stays open."""


async def people(world: World, adapter: SimAdapter) -> None:
    """Write each message of the script at its time."""
    if world.pending:
        adapter.arrived.set()
    while world.said < len(world.script):
        said = world.script[world.said]
        await asyncio.sleep(max(0.0, said.at - world.now))
        world.said += 1
        world.pending.append((world.said, said))
        world.note(f"said {said.chat} {said.text}")
        adapter.arrived.set()
        if said.command in {"/stop"} or world.mode == "interrupt":
            world.excused |= _unanswered(world, said.chat)


def _unanswered(world: World, chat: int) -> set[int]:
    done = {number for each in world.shown if each.chat == chat for number in numbers_in(each.text)}
    return {each.number for each in world.script[: world.said] if each.chat == chat and each.number} - done
