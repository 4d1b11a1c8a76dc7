"""Fixtures: one agent whose heartbeats a test drives, on a manual clock, in a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import structs

from adapters.channel import Address, InboundMessage
from gateway.admission.policy import AccountPolicy, DirectPolicy
from gateway.admission.routing import SessionKey, route
from gateway.agent.models.port import Model
from gateway.automation.heartbeat_runner import HeartbeatResources, Heartbeats
from gateway.automation.heartbeat_status import HeartbeatStatus
from gateway.errors import StoreError
from gateway.schedule.checklist import Rhythm
from gateway.schedule.settings import HeartbeatSettings
from gateway.stores.ports import Store
from gateway.turns.turn import Turns
from tests.fakes.clock import ManualClock
from tests.fakes.model import ScriptedModel
from tests.gateway.commands.house import MAIN, POLICY, ROUTES, House, open_house

BERLIN = ZoneInfo("Europe/Berlin")
CHAT = Address("telegram", "home", "7")
INNER = structs.replace(POLICY, accounts={**POLICY.accounts, ("clock", "main"): AccountPolicy(DirectPolicy.INNER)})
ALL_DAY = Rhythm(HeartbeatSettings("30m", "00:00-24:00"), BERLIN)


@dataclass
class Beating:
    """One agent and its heartbeats; `restart` begins anew with what the disk kept."""

    house: House
    rhythm: Rhythm = ALL_DAY
    chat: Address | None = CHAT
    busy: set[SessionKey] = field(default_factory=set)
    store: Store = field(init=False)
    entered: list[InboundMessage] = field(default_factory=list)
    """Every message that was new, in order."""
    heartbeats: Heartbeats = field(init=False)
    refuses: bool = False
    """The store takes nothing now."""

    def __post_init__(self) -> None:
        self.store = self.house.store
        self.restart()

    @property
    def clock(self) -> ManualClock:
        return self.house.clock

    def restart(self) -> None:
        around = HeartbeatResources(
            {MAIN: self.house.agent},
            {MAIN: self.rhythm},
            self.house.sessions,
            self.store,
            self.clock,
            self.owner_chat,
            self.busy.__contains__,
            self.enter,
        )
        self.heartbeats = Heartbeats(around, lambda _: None)

    async def owner_chat(self, _: str) -> Address | None:
        return self.chat

    async def enter(self, message: InboundMessage) -> bool:
        if self.refuses:
            raise StoreError("the disk is full")
        row = await self.store.inbox.append(message)
        if row is not None:
            self.entered.append(message)
        return row is not None

    async def answer(self) -> None:
        """Answer what waits, as the lanes would."""
        for row in await self.house.store.inbox.waiting():
            turns = self.turns()
            await turns.answer(row, route(row.message, turns.routes))

    def turns(self) -> Turns:
        house = self.house
        return Turns(
            {MAIN: house.agent},
            house.sessions,
            house.store,
            replace(ROUTES, policy=INNER),
            house.planner,
            self.heartbeats.committed,
            shortcut=house.commands,
            queueing=house.queueing,
        )

    async def pass_time(self, span: timedelta, step: timedelta = timedelta(minutes=10)) -> None:
        """Let time pass in steps; at each one there is a look, and what it asks is answered."""
        end = self.clock.now() + span
        while self.clock.now() < end:
            self.clock.advance(step.total_seconds())
            await self.heartbeats.look()
            if await self.house.store.inbox.waiting():
                await self.answer()
                await self.heartbeats.look()

    async def told(self) -> list[tuple[Address, str]]:
        """What is on its way to somebody: where, and what."""
        return [(row.outgoing.address, row.outgoing.text) for row in await self.house.store.outbox.unfinished()]

    async def standing(self) -> HeartbeatStatus:
        return await self.heartbeats.standing(MAIN)

    def lists(self, *lines: str) -> None:
        """Write `HEARTBEAT.md`."""
        self.house.put("HEARTBEAT.md", "\n".join([*lines, ""]))


@asynccontextmanager
async def open_beating(
    folder: Path, model: Model | None = None, begin: datetime | None = None
) -> AsyncIterator[Beating]:
    """Set it up in *folder*, at the moment *begin* if that is given."""
    async with open_house(folder) as house:
        house.model = model or ScriptedModel()
        house.policy = INNER
        if begin is not None:
            house.clock.advance((begin - house.clock.now()).total_seconds())
        yield Beating(house)
