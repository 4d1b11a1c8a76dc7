"""A whole gateway with an observer in a group, a guest's chat and a subagent."""

import json
import random
import re
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from adapters.channel import Address, ChatKind, InboundMessage, OutboundMessage, Quote, Sender
from gateway.admission.internal_channels import NOBODY, SUBAGENT, is_inner, result_address, task_address
from gateway.agent.agent import Agent
from gateway.agent.entries import ToolCall
from gateway.agent.recall import RecallSettings
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.config import read_config
from gateway.control.admission_wire import PairOrder
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import HistoryOrder
from gateway.home import Home
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import FakeAdapter
from tests.fakes.clock import ManualClock
from tests.journeys.house import ENVIRON
from tests.privacy.contents import SHARED, Secret, items, sentence
from tests.privacy.scripted import BREAK, Request, Script, Scripted, says
from workspaces.access import AgentId, SessionType
from workspaces.history.line_origins import LineOrigins
from workspaces.memory.client import WorkerClient
from workspaces.workspace import Workspace

OWNER, SAM, GUEST = Sender("7", "Owner"), Sender("8", "Sam"), Sender("99", "Gus")
GWEN, STRANGER = Sender("98", "Gwen"), Sender("97", "Eve")
GROUP_CHAT, GUEST_CHAT = Address("telegram", "home", "-100"), Address("telegram", "home", "99")
OTHERS = {
    Address("telegram", "home", "-200"): SAM,
    Address("telegram", "home", "-300"): SAM,
    Address("telegram", "home", "98"): GWEN,
    Address("telegram", "home", "97"): STRANGER,
}
"""Another group, a group of another agent, another guest, a stranger: nobody there listens for us."""
OWNER_CHAT = Address("telegram", "home", "7")
ORDERS = ("/remember a heron", "/status", "/forget heron", "/refuse", "/new", "/promises")
"""What nobody notices who listens; `/approve` is left out: what it does is to be noticed."""
MAIN = AgentId("main")
CONFIG = """
[owner]
time_zone = "Europe/Berlin"
people = ["telegram:7"]
[agents.main]
[agents.other]
[[bindings]]
agent = "other"
channel = "telegram"
chat = "-300"
[channels.telegram.home]
token_env = "BOT_TOKEN"
direct = "pairing"
people = ["telegram:98"]
groups = { "-100" = {}, "-200" = {}, "-300" = {} }
[limits]
shared_files = 8
[signs]
receipts = "full"
[memory]
transcripts = true
watch = "off"
[house]
folders = ["vault", "memory/vault"]
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """Everything that left the gateway because of one message."""

    requests: tuple[Request, ...]
    sent: tuple[OutboundMessage, ...]
    """To whichever of the chats that listen."""
    results: tuple[str, ...] = ()
    """What a subagent's parent is told."""


@dataclass
class World:
    """A gateway, and the owner who lives with it."""

    app: App
    model: Scripted
    adapter: FakeAdapter
    clock: ManualClock
    secret: Secret
    rng: random.Random = field(init=False)
    lived: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.secret.seed)

    async def hear(self, message: InboundMessage, script: Script) -> Heard:
        """Let *message* be answered by *script* and return what went out."""
        requests, sent = len(self.model.requests), len(self.adapter.taken)
        results, asked = await self._answered(message, script)
        listening = {GROUP_CHAT, GUEST_CHAT}
        # No adapter of a platform sends a turn's number: it is for the owner's page.
        heard = (structs.replace(each, turn="") for each in self.adapter.taken[sent:] if each.address in listening)
        return Heard(tuple(self.model.requests[requests:asked]), tuple(heard), results)

    async def live(self) -> None:
        """Let the owner and others do what only this world knows of: more in one world than in the other.

        Then look for what changed, as the watcher does: how soon something is found is not promised.
        """
        for _ in range(self.rng.randint(0, 2)):
            await self.rng.choice((self._edit, self._remove, self._talk, self._talk))()
        await self.app.operator.follow(IndexOrder())

    async def orders(self) -> list[str]:
        """Return the names of all commands, as the owner is told them in their own chat."""
        asked = InboundMessage(OWNER_CHAT, "which?", OWNER, ChatKind.DIRECT, "/help", True, self.clock.now())
        await self._answered(asked, lambda _: says("…"))
        told = "\n".join(each.body.text for each in self.adapter.taken if each.address == OWNER_CHAT)
        return re.findall(r"^- `/(\w+)", told, re.MULTILINE)

    async def ids(self) -> list[str]:
        """Return git's own ids of all changes so far."""
        answer = await self.app.operator.ask(HistoryOrder("log", limit=50))
        return [commit.revision for commit in answer.commits]

    async def let_in(self) -> None:
        """Let the guest ask, and the owner approve the code."""
        asked = InboundMessage(GUEST_CHAT, "let me in", GUEST, ChatKind.DIRECT, "hello?", True, self.clock.now())
        assert await self.app.parts.reception.receive(asked) == "unpaired"
        (applicant,) = (await self.app.operator.ask(PairOrder("list"))).waiting
        await self.app.operator.ask(PairOrder("approve", applicant.code))
        await self.adapter.took(1)

    async def _answered(self, message: InboundMessage, script: Script) -> tuple[tuple[str, ...], int]:
        """Let *message* be answered; return what a parent is told, and how many requests there had been before that."""
        self.model.script = script
        if is_inner(message):
            assert await self.app.parts.resources.home.entrance.enter(message)
        elif await self.app.parts.reception.receive(message) is not None:
            return (), len(self.model.requests)  # refused at the door: a stranger, or words that were not for us
        rows = await self.app.parts.outcomes.of(message.id)
        asked = len(self.model.requests)
        self.model.script = lambda _: says("NO_REPLY")
        for row in rows:
            await self.app.parts.delivery.finished(row.id)
        results = [row for row in rows if row.outgoing.address.channel == SUBAGENT]
        for row in results:  # the owner's own turn, which sees all that is private, begins with it
            await self.app.parts.outcomes.of(row.turn_id)
        for agent in self.app.operator.agents:
            await agent.history_writer.finish()
        return tuple(row.outgoing.text for row in results), asked

    def origins(self) -> LineOrigins:
        """Return whose words the lines of the notes are."""
        return self.app.operator.agents.named(MAIN).history_writer.origins

    @property
    def notes(self) -> Path:
        return self.app.operator.agents.named(AgentId("main")).workspace.folder.root

    async def _edit(self) -> None:
        path = self.rng.choice([*self.secret.files(), f"memory/2026-01-{self.rng.randint(1, 28):02}.md"])
        put(self.notes, {path: items(self.rng, self.rng.randint(1, 12))})

    async def _remove(self) -> None:
        found = [path for path in self.secret.files() if "/" in path and (self.notes / path).exists()]
        if found:
            (self.notes / self.rng.choice(found)).unlink()

    async def _talk(self) -> None:
        self.lived += 1
        address = self.rng.choice((*[OWNER_CHAT] * 4, *OTHERS))
        sender = OTHERS.get(address, OWNER)
        kind = ChatKind.GROUP if address.chat.startswith("-") else ChatKind.DIRECT
        asked = f"Please {self.rng.choice(('remember', 'forget'))} {sentence(self.rng)}."  # done or not: a receipt
        text = self.rng.choice((sentence(self.rng), sentence(self.rng), asked, asked, BREAK, *self._buttons(), *ORDERS))
        is_for_us = kind is ChatKind.DIRECT or self.rng.random() < 0.6
        said = InboundMessage(address, f"private-{self.lived}", sender, kind, text, is_for_us, self.clock.now())
        await self._answered(replace(said, quote=self._quote()), self._busy())

    def _quote(self) -> Quote | None:
        """Return what a forward or a reply quotes: words of somebody else, earlier ones from here; mostly nothing."""
        is_ours = self.rng.random() < 0.3
        return Quote("Kim", sentence(self.rng), is_ours) if self.rng.random() < 0.4 else None

    def _buttons(self) -> list[str]:
        """Return the commands below the latest message to the owner that do what its turn did not."""
        buttons = [each.buttons for each in self.adapter.taken if each.address == OWNER_CHAT and each.buttons][-1:]
        return [each.command for some in buttons for each in some if each.command.startswith("/fulfil")]

    def _busy(self) -> Script:
        """Return a model that writes, also what has to wait for approval, and searches; then it says something."""
        calls = [
            _call("add_note", text=sentence(self.rng)),
            _call("save_memory", text=sentence(self.rng), category="notes"),
            _call("write_file", path=f"plans/{sentence(self.rng)}.md", content=items(self.rng, 5)),
            _call("write_file", path=f"skills/{self.lived}/SKILL.md", content=sentence(self.rng)),
            _call("memory_search", query=sentence(self.rng)),
            _call("git_log"),
        ]
        count = self.rng.choice((0, 2, 2, 2))
        chosen = [
            replace(call, id=f"{self.lived}-{number}") for number, call in enumerate(self.rng.sample(calls, count))
        ]
        replies = iter([*([says("", *chosen)] if chosen else []), says(sentence(self.rng))])
        return lambda _: next(replies, says("…"))


def _call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def put(folder: Path, files: dict[str, str]) -> None:
    """Write *files* as an editor does."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def stand_ins(patch: pytest.MonkeyPatch, worker: WorkerClient, clock: ManualClock) -> None:
    """Share one memory worker and one clock.

    What takes long is given up, or answered from what there is: here nothing is to depend on how busy the machine is.
    """
    for patience in ("PATIENCE_S", "FIRST_PATIENCE_S", "JUST_BEGUN_S", "ALIVE_WITHIN_S"):
        patch.setattr(f"workspaces.memory.source_index.{patience}", 300.0)
    patch.setattr("gateway.transcripts.memory_source.QUIET_S", inf)  # pauses and lengths alone say what is indexed
    patch.setattr("gateway.app.agents.WorkerClient", lambda _: nullcontext(worker))
    patch.setattr("gateway.app.agents.RecallSettings", partial(RecallSettings, deadline_s=60.0))
    patch.setattr("gateway.app.agents.time", SimpleNamespace(monotonic=lambda: clock.now().timestamp()))


@asynccontextmanager
async def world(
    folder: Path,
    secret: Secret,
    clock: ManualClock,
    more: Mapping[str, str] = MappingProxyType({}),
    house: str = "",
) -> AsyncIterator[World]:
    """Give a gateway whose owner knows *secret*, and has *more* files, with everything else as in any other.

    *house* adds settings of the mark.
    """
    home = Home(folder)
    home.create()
    home.write(home.config_file, CONFIG + house)
    for name, files in (("main", SHARED | secret.files() | dict(more)), ("other", secret.files())):
        Workspace.create(home.agent(name).workspace, AgentId(name)).folder.close()
        put(home.agent(name).workspace, files)
    model, adapter = Scripted(), FakeAdapter("telegram", "home", 4_096)
    with home.lock("a test"):
        config = read_config(home.config_file)
        async with App.open(home, config, ENVIRON, channels=False, machine=Machine(clock)) as app:
            agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
            for name, agent in list(agents.items()):
                agents[name] = structs.replace(agent, model=model)
                await agent.history_writer.begin()
            app.parts.resources.channels.adapters.loaded["telegram", "home"] = adapter
            store = app.parts.resources.home.store
            assert isinstance(store, SqliteStore)
            store.commits.longest_ride_s = (
                0.0  # one message after the other: nothing comes whose commit could be shared
            )
            await app.parts.delivery.recover(lambda _: True)
            opened = World(app, model, adapter, clock, secret)
            await opened.let_in()
            yield opened
            await app.parts.lanes.drain(10)
            await app.parts.delivery.drain(10)


def message(number: int, chat: str, sender: Sender, text: str, at: ManualClock) -> InboundMessage:
    """Return a message of a chat that listens; `task` is a subagent's, `aside` is said in the group to nobody."""
    is_guest, is_task = chat == "guest", chat == "task"
    chats = {"guest": GUEST_CHAT, "task": task_address(MAIN, str(number))}
    return InboundMessage(
        chats.get(chat, GROUP_CHAT),
        f"task-{number}" if is_task else str(number),
        NOBODY if is_task else GUEST if is_guest else sender,
        ChatKind.DIRECT if is_guest or is_task else ChatKind.GROUP,
        text,
        is_for_us=chat != "aside",
        sent_at=at.now(),
        quote=Quote("Kim", "what do you know?") if number % 7 == 0 and not is_task else None,
        answers_to=result_address(MAIN, str(SessionType.MAIN), OWNER_CHAT) if is_task else None,
    )
