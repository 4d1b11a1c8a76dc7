"""Every command, by every way in, from everybody: made from the registry, so that a new command is asked too."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec import structs

from adapters.channel import Address, ChatKind, InboundMessage, Sender, Via
from gateway.admission.gate import AdmissionGate
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Routes
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.loading import LoadedCommands, load_commands
from gateway.commands.resources import CommandResources
from gateway.stores.admission import PairingRequest, Visitor
from gateway.stores.rows import InboxRow, Outgoing
from tests.fakes.model import ScriptedModel
from tests.fakes.reception import reception_of
from tests.gateway.commands.house import MAIN, MEMBER, OWNER, OWNER_IN_GROUP, House, open_house

IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Nothing here is about power failures."""
BOTS = AccountPolicy(DirectPolicy.PAIRING, {"-100": GroupPolicy()})
POLICY = Policy(frozenset({"telegram:7"}), {("telegram", "home"): BOTS})


def writes(sender: Sender) -> InboundMessage:
    """Return what *sender* says in a direct chat."""
    return replace(OWNER, address=Address("telegram", "home", sender.id or "5"), sender=sender)


GUEST, REVOKED = writes(Sender("9", "Gus")), writes(Sender("10", "Rey"))
PRINCIPALS: dict[str, tuple[InboundMessage, set[Who]]] = {
    "owner": (OWNER, set(Who)),
    "owner in a group": (OWNER_IN_GROUP, {Who.ANYONE, Who.CHAT, Who.ENDER, Who.OWNER}),
    "guest": (GUEST, {Who.ANYONE, Who.CHAT, Who.ENDER}),
    "guest in a group": (replace(MEMBER, sender=GUEST.sender), {Who.ANYONE}),
    "group member": (MEMBER, {Who.ANYONE}),
    "anonymous in a group": (replace(MEMBER, sender=Sender("", "Owner")), {Who.ANYONE}),
    "revoked guest": (REVOKED, set()),
    "stranger": (writes(Sender("11", "Owner")), set()),
    "stranger's group": (replace(MEMBER, address=Address("telegram", "home", "-200")), set()),
    "owner in a stranger's group": (replace(OWNER_IN_GROUP, address=Address("telegram", "home", "-200")), set()),
    "bot": (writes(Sender("12", "Bot", is_bot=True)), set()),
    "bot with the owner's id": (writes(Sender("7", "Owner", is_bot=True)), set()),
    "bot in a group": (replace(MEMBER, sender=Sender("12", "Bot", is_bot=True)), set()),
    "channel": (writes(Sender("", "A channel")), set()),
    "another account": (replace(OWNER, address=Address("telegram", "other", "7")), set()),
}
"""Everybody, with what they may run; the empty set ends at the door."""


@dataclass
class Gate:
    """A house behind its door; the commands only note that they ran."""

    house: House
    ran: Counter[tuple[str, Who]] = field(default_factory=Counter)
    taken: list[InboxRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        rates = Rates(100_000, 100_000, self.house.clock.now)
        door = AdmissionGate(POLICY, self.house.store, rates, self.house.clock.now, lambda _: None)
        self.pairing = door.pairing
        routes = Routes([], MAIN, POLICY)
        self.reception = reception_of(routes, self.house.store, lambda _, row: self.taken.append(row), door)

    def spied(self, parts: CommandResources) -> LoadedCommands:
        """Return every command of the registry, each with nothing to do but to be counted."""
        commands = load_commands(parts).commands
        return LoadedCommands([structs.replace(command, run=self._noting(command)) for command in commands], [])

    async def hear(self, message: InboundMessage) -> None:
        """Let *message* in, or not, and answer it."""
        await self.reception.receive(message)
        while self.taken:
            await self.house.answer(self.taken.pop())

    async def let_in(self, message: InboundMessage) -> None:
        visitor, now = Visitor("telegram", "home", message.sender.id, message.sender.name), self.house.clock.now()
        request = PairingRequest(visitor, f"CODE{visitor.id}", now, now + timedelta(hours=1))
        assert await self.house.store.pairings.ask(request, 5, Outgoing(message.address, "code"), now)
        await self.pairing.approve(request.code)

    def _noting(self, command: Command) -> Callable[[CommandCall], Awaitable[str]]:
        async def run(_: CommandCall) -> str:
            self.ran[command.name, command.who] += 1
            return "done"

        return run


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        async with open_house(Path(folder)) as house:
            house.policy = POLICY
            gate = Gate(house)
            monkeypatch.setattr("tests.gateway.commands.house.load_commands", gate.spied)
            for each in (GUEST, REVOKED):
                await gate.let_in(each)
            await gate.pairing.revoke("telegram:10")
            yield gate


@pytest.mark.parametrize("principal", PRINCIPALS)
async def test_everybody_runs_what_is_theirs_by_every_way_in_and_no_model_is_asked(gate: Gate, principal: str) -> None:
    """The owner everything in their own chat; nobody else anything that is the owner's; strangers nothing at all."""
    said, allowed = PRINCIPALS[principal]
    commands = load_commands(gate.house.parts).commands
    for number, command in enumerate(commands):
        for via in Via:
            at = replace(said, text=f"/{command.name}", via=via, target="1", id=f"{number}.{via}")
            await gate.hear(at)
    ways = len(set(Via) - {Via.AGENT})  # only where a group says so, and then as a bot
    expected = {(command.name, command.who): ways for command in commands if command.who in allowed}
    assert gate.ran == expected
    assert isinstance(gate.house.model, ScriptedModel)
    assert gate.house.model.requests == []


ASKING = {"stranger", "revoked guest"}
"""They are told a code, once."""


@pytest.mark.parametrize("principal", [name for name, (_, allowed) in PRINCIPALS.items() if not allowed])
async def test_whoever_is_not_let_in_gets_no_turn_whatever_they_say(gate: Gate, principal: str) -> None:
    """No row of the inbox, no transcript, no model call, and at most the one message with a code."""
    said, _ = PRINCIPALS[principal]
    for via in Via:
        for text in ("hello", "/approve 1", "/pair approve CODE9", "@strand_bot /new", "NO_REPLY", "stop"):
            await gate.hear(replace(said, text=text, via=via, id=f"{via}{text}"))
    report = await gate.house.store.report()
    assert report.inbox_waiting == 0
    assert report.outbox_queued == 2 + (principal in ASKING)
    assert isinstance(gate.house.model, ScriptedModel)
    assert gate.house.model.requests == []
    assert not (gate.house.folder / "sessions").exists()


async def test_the_kinds_of_chat_are_all_there() -> None:
    """Direct chats and groups, people and bots, named and nameless: a kind that is missing would not be asked."""
    messages = [message for message, _ in PRINCIPALS.values()]
    assert {message.kind for message in messages} == set(ChatKind)
    assert {message.sender.is_bot for message in messages} == {True, False}
    assert {bool(message.sender.id) for message in messages} == {True, False}
