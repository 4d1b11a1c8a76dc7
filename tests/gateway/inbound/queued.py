"""A chat with messages that pass through lanes, and a model that answers on the test's signal."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from itertools import count

from msgspec import structs

from adapters.channel import InboundMessage
from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.approvals.approvals import Approvals
from gateway.commands.running import plan_answer
from gateway.inbound.queue_modes import Item, Queueing
from gateway.inbound.settings import QueueMode, QueueSettings
from gateway.runtime.lanes import Lanes
from gateway.runtime.queues import Queues
from gateway.sessions.lifecycle import Lifecycle, LifecycleSettings
from gateway.stores.rows import InboxRow
from gateway.turns.turn import Turns
from gateway.turns.worker import LaneWork
from tests.fakes.approvals import jobs_of
from tests.fakes.model import ScriptedModel, Step
from tests.fakes.patience import PATIENCE_S
from tests.gateway.turns.test_turn import DIRECT, House, session_of

PASSING = "/passes"


class HeldModel(ScriptedModel):
    """A scripted model whose requests wait, those with the numbers that a test holds."""

    def __init__(self, *script: Step) -> None:
        super().__init__(*script)
        self.held: dict[int, asyncio.Event] = {}
        self._asked: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def hold(self, number: int) -> asyncio.Event:
        """Let request *number*, from 1, wait until the returned event is set."""
        return self.held.setdefault(number, asyncio.Event())

    async def asked(self, number: int) -> None:
        """Return once request *number* was made."""
        await self._asked[number].wait()

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        number = len(self.requests) + 1
        self._asked[number].set()
        if number in self.held:
            self.requests.append(request)
            await self.held[number].wait()
            self.requests.pop()
        return await super().reply(request, on_text)

    def saw(self, number: int) -> list[str]:
        """Return what people said, as request *number* shows it."""
        return [entry.text for entry in self.requests[number - 1].entries if isinstance(entry, UserEntry)]


@dataclass
class Chat:
    """People who write to one agent, and its lanes."""

    house: House
    lanes: Lanes[SessionKey, Item]
    turns: Turns
    work: LaneWork
    told: list[str] = field(default_factory=list)
    """The ids of messages that had an outcome."""
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def queueing(self) -> Queueing:
        return self.turns.queueing

    async def says(self, text: str, message: InboundMessage = DIRECT) -> InboxRow:
        """Take in *text*, as *message*'s sender writes it there, and hand it to its lane."""
        row = await self.house.take_in(replace(message, id=str(next(self._ids)), text=text))
        self.queueing.arrived(session_of(row), row)
        self.lanes.submit(session_of(row), row)
        return row

    async def stops(self, message: InboundMessage = DIRECT) -> InboxRow:
        """Give `/stop`, as a gateway takes it."""
        row = await self.house.take_in(replace(message, id=str(next(self._ids)), text="/stop"))
        self.queueing.stop(session_of(row), row.id)
        self.lanes.submit(session_of(row), row)
        self.lanes.wake(lambda key: key == session_of(row))
        return row

    async def has_told(self, count: int) -> None:
        """Return once *count* messages had an outcome."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.told) < count:  # noqa: ASYNC110  # has no event
                await asyncio.sleep(0.001)

    async def answered(self) -> list[str]:
        """Return all answers, once nothing is left to do."""
        async with asyncio.timeout(PATIENCE_S):
            await self.lanes.idle()
        return await self.house.outbox()

    async def reasons(self) -> dict[str, int]:
        return (await self.house.store.report()).reasons


def _passes(row: InboxRow) -> bool:
    """Return whether *row* holds the only command here, which may pass a message that waits for its model."""
    return row.message.text == PASSING


@asynccontextmanager
async def chatting(house: House, model: ScriptedModel, rules: QueueSettings | QueueMode) -> AsyncIterator[Chat]:
    """Give a chat by these rules."""
    if isinstance(rules, QueueMode):
        rules = QueueSettings(rules)
    queues: Queues[SessionKey, Item] = Queues(lambda item: isinstance(item, InboxRow) and _passes(item))
    told: list[str] = []
    plain = house.turns(model)
    jobs = jobs_of(house.store, house.clock.now)
    approvals = Approvals(
        plain.agents, house.store, lambda: house.clock.now() + timedelta(days=7), lambda _: None, jobs
    )
    tools = structs.replace(plain.planner.tools, approvals=approvals)
    turns = structs.replace(
        plain,
        planner=structs.replace(plain.planner, tools=tools),
        queueing=Queueing(rules, queues, now=house.clock.now),
        outcome=lambda row, _: told.append(row.message.id),
        shortcut=lambda asked: plan_answer("Passed.", asked) if _passes(asked.row) else None,
    )
    settings = LifecycleSettings(zone=UTC)
    lifecycle = Lifecycle(turns.agents, turns.sessions, settings, house.clock, house.store.count)
    work = LaneWork(turns, lifecycle)
    async with asyncio.TaskGroup() as tasks:
        lanes: Lanes[SessionKey, Item] = Lanes(tasks, work, house.clock, queues=queues)
        yield Chat(house, lanes, turns, work, told)
        await lanes.drain(0)
