"""Composes the gateway from its parts, and starts and stops them in order."""

import asyncio
import gc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from adapters.abilities import HoldsBack, Misses, Moves, Wakes
from adapters.channel import Adapter, Address
from gateway.admission.gate import Doorkeeper
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import SessionKey
from gateway.admission.sign_in import SignIns
from gateway.agent.cut_files import CutFiles
from gateway.agent.file_trouble import Alarm
from gateway.agent.history_writer import Keeper
from gateway.agent.prompt_files import prompt_extents
from gateway.app.agents import (
    assumed_windows,
    lifecycle_settings,
    queue_rules,
    subagent_rules,
    turn_settings,
    watch_settings,
    watched_folders,
)
from gateway.app.budgets import unpriced_models
from gateway.app.channels import TERMINAL, reach_of, terminal_chat
from gateway.app.crash_recovery import quarantine_suspects, tell_of_file
from gateway.app.lost_records import tell_of_state, tell_of_transcript
from gateway.app.metering import counted, measure
from gateway.app.resources import THIS_MACHINE, Ground, Machine, open_ground
from gateway.app.tool_servers import tell_of_tool_server
from gateway.app.tracing import traced
from gateway.app.wiring import (
    backlog_of,
    commands_of,
    delivery_of,
    direct_notices_of,
    follow_on_pages,
    heartbeats_of,
    is_stop,
    open_to_helpers,
    planner_of,
    ticker_of,
    turns_of,
)
from gateway.approvals.approvals import Approvals
from gateway.automation.subagents import Subagents
from gateway.cluster.membership import Share
from gateway.commands.menu import Menus, menu_entries
from gateway.config import Config
from gateway.control.door import DoorDesk
from gateway.control.operator import Health, LocalDesk
from gateway.delivery.outgoing_files import Enclosures
from gateway.delivery.owner_chat import OwnerChats
from gateway.delivery.owner_notices import Notices
from gateway.delivery.pairing_notices import Doorbell
from gateway.delivery.sender import Adapters, Delivery
from gateway.errors import StoreError
from gateway.home import Home
from gateway.hooks import GATEWAY_START, GATEWAY_STOP, GatewayState, Hooks
from gateway.inbound.agent_crosstalk import Neighbours
from gateway.inbound.backlog import Arrival, Backlog
from gateway.inbound.listener import Account, listen
from gateway.inbound.outcomes import Outcomes
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.receive import Reception, StoreTrouble
from gateway.inbound.session_settings import Choices
from gateway.observability.metrics import Meter
from gateway.runtime.clock import first_of, utc_now
from gateway.runtime.lanes import Lanes
from gateway.runtime.memory_trim import keep_small
from gateway.runtime.work_journal import WorkJournal
from gateway.sessions.lifecycle import Lifecycle
from gateway.sessions.onboarding import end_first_run
from gateway.stores.ports import Store
from gateway.turns.presence import Presence
from gateway.turns.worker import Item, LaneWork
from workspaces.access import AgentId
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.search import MemoryIndex
from workspaces.memory.watch import Watched, WatchSettings, keep_fresh

if TYPE_CHECKING:
    from gateway.web.server import WebDoor

__all__ = ["App", "Machine"]

log = structlog.get_logger()

TIDY_EVERY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class App:
    """One composed gateway."""

    desk: LocalDesk
    readiness: Health
    reception: Reception
    lanes: Lanes[SessionKey, Item]
    backlog: Backlog
    choices: Choices
    lifecycle: Lifecycle
    delivery: Delivery
    adapters: Adapters
    accounts: list[Account]
    watched: list[Watched]
    watching: WatchSettings
    has_channels: bool
    drain_s: float
    meter: Meter | None
    share: Share
    notices: Notices
    presence: Presence
    menus: Menus
    hooks: Hooks
    journal: WorkJournal

    @classmethod
    @asynccontextmanager
    async def open(
        cls, home: Home, config: Config, environ: Mapping[str, str], *, channels: bool, machine: Machine = THIS_MACHINE
    ) -> "AsyncIterator[App]":
        """Compose the gateway of *home*; the caller holds its lock. Without *channels* only terminals are served.

        It uses the clock and disk of this *machine* unless a test passes its own.
        Raises ConfigError, StoreError and WorkspaceUnusableError before any change.
        """
        async with open_ground(home, config, environ, channels=channels, machine=machine) as ground:
            yield _composed(ground, has_channels=channels)

    def web(self, environ: Mapping[str, str]) -> "WebDoor | None":
        """Return the HTTP application, `None` if disabled. Raises ConfigError for a missing token."""
        config = self.share.config
        if not (self.has_channels and config.web.enabled):
            return None
        from gateway.web.server import Footing, open_door

        footing = Footing(
            routes=self.reception.routes,
            receive=self.reception.receive,
            adapters=self.adapters.loaded,
            outcomes=self.desk.outcomes,
            presence=self.presence,
            sessions=self.desk.transcripts,
            agents=tuple(self.desk.agents),
            sign_ins=self.desk.sign_ins,
        )
        return open_door(config, environ, footing)

    async def run(self, stop: asyncio.Event) -> None:
        """Answer messages until *stop* is set or our membership ends, then finish the work begun."""
        measure(self.desk.store, self.delivery, self.meter)
        async with asyncio.TaskGroup() as tasks:
            await self._recover()
            running = [tasks.create_task(self._listen(account)) for account in self.accounts]
            keepers = [agent.keeper for agent in self.desk.agents.values()]
            running += [tasks.create_task(keeper.work()) for keeper in keepers]
            if self.has_channels:
                running += [tasks.create_task(_warm(agent.memory)) for agent in self.desk.agents.values()]
                tidy = _tidy(self.desk.store, keepers, self.delivery.enclosures, self.lifecycle)
                running.append(tasks.create_task(tidy))
                running.append(tasks.create_task(keep_small()))
                running.append(tasks.create_task(keep_fresh(self.watched, self.watching)))
                running.append(tasks.create_task(self.lifecycle.watch(self.lanes.submit)))
                running.append(tasks.create_task(self.desk.heartbeats.work()))
                running.append(tasks.create_task(self.desk.ticker.work()))
            running.append(tasks.create_task(self.reception.follow(self._is_ours)))
            running.append(tasks.create_task(self.backlog.refill(self.lanes.clock)))
            running.append(tasks.create_task(self.desk.door.neighbours.work(self.reception.receive)))
            running.append(tasks.create_task(self.share.watch()))
            self.readiness.ready = not self.readiness.standby
            if self.has_channels:
                self.hooks.note(GATEWAY_START, GatewayState(tuple(self.desk.agents)))
            await first_of(stop, self.share.over)
            self.share.is_leaving = stop.is_set()
            for task in running:
                task.cancel()
        await self._drain()
        if self.has_channels:  # one answer at the command line does not end a day's conversation
            await self.lifecycle.finish(self.drain_s)
            self.hooks.note(GATEWAY_STOP, GatewayState(tuple(self.desk.agents)))
        await self.hooks.finish(self.drain_s)
        for keeper in keepers:
            await keeper.finish()

    async def _recover(self) -> None:
        """Continue the work of an earlier run; without channels, only that of a terminal."""

        await quarantine_suspects(self.journal, self.desk.store, self.notices)
        await tell_of_state(self.notices, self.desk.store, self.lanes.clock.now())
        await self.choices.load(self.desk.agents)
        replies, messages = await self.delivery.recover(self._is_ours), await self.reception.recover(self._is_ours)
        log.info("took up what an earlier run left", messages=messages, replies=replies)

    def _is_ours(self, address: Address) -> bool:
        return self.has_channels or address.channel == TERMINAL

    async def _listen(self, account: Account) -> None:
        def loaded(adapter: Adapter) -> None:
            self.adapters.loaded[account.key] = adapter
            gc.freeze()  # loaded libraries stay: scanning them took 0.2 s at every full collection
            wake = partial(self.delivery.wake_channel, *account.key)
            wake()
            if isinstance(adapter, Wakes):
                adapter.on_reachable(wake)
            if isinstance(adapter, Moves):
                adapter.on_moved(self.notices.moved)
            if isinstance(adapter, HoldsBack):
                adapter.on_held_back(self.reception.held_back)
            if isinstance(adapter, Misses):
                adapter.on_missed(self.notices.missed)

            beside.create_task(self.menus.show(adapter))

        async with asyncio.TaskGroup() as beside:
            await listen(account, self.reception.receive, loaded)

    async def _drain(self) -> None:
        self.readiness.ready = False
        turns = await self.lanes.drain(self.drain_s)
        replies = await self.delivery.drain(self.drain_s)
        if turns or replies:
            log.warning("cut off; the next start goes on with them", turns=len(turns), replies=len(replies))


def _composed(ground: Ground, *, has_channels: bool) -> App:
    config, agents, store = ground.config, ground.agents, ground.store
    owner_chats = OwnerChats(store, ground.routes, reach_of(config, ground.routes), terminal_chat)
    lifecycle = Lifecycle(
        agents, ground.sessions, lifecycle_settings(config, ground.zone.zone), ground.clock, ground.count
    )
    outcomes, health = Outcomes(), Health(ground.bots, ground.share.is_standby, disabled=ground.home.disabled())
    notices = Notices(store, ground.owner, partial(owner_chats.of, AgentId(config.default_agent)))
    delivery = delivery_of(ground, notices)
    direct = delivery.direct = direct_notices_of(ground, owner_chats)
    _follow_troubles(ground, notices)
    patience = timedelta(days=config.limits.approval_days)
    approvals = Approvals(agents, store, patience, ground.now, delivery.wake)
    limits = config.limits
    rates = Rates(limits.person_a_minute, limits.person_burst, ground.clock.now)
    door = Doorkeeper(ground.routes.policy, store, rates, ground.clock.now, delivery.wake)
    door.pairing.on_asked = Doorbell(store, notices, ground.routes, owner_chats.of)
    choices = Choices(store)
    queueing = Queueing(queue_rules(config), None, choices.mode, ground.clock.now)
    heartbeats = heartbeats_of(ground, owner_chats, queueing, delivery)
    ticker = ticker_of(ground, owner_chats, notices)
    outcomes.listeners += [heartbeats.committed, ticker.settled]
    follow_on_pages(ground, outcomes)
    approvals.timetable = ticker.timetable
    desk = LocalDesk(
        str(ground.home.path),
        ground.zone,
        agents,
        AgentId(config.default_agent),
        ground.terminals,
        store,
        ground.sessions,
        outcomes,
        delivery,
        health,
        approvals,
        DoorDesk(ground.routes, store, door.pairing, Neighbours(ground.routes, store, ground.clock.now)),
        SignIns(store, ground.clock.now),
        heartbeats,
        ticker,
        (*assumed_windows(config), *unpriced_models(config)),
        ground.purses,
        owner_chats.of,
        ground.tool_servers,
    )
    subagents = Subagents(
        subagent_rules(config), turn_settings(config).limits, queueing, ground.count, ground.clock.now
    )
    health.helpers, health.waits_for = subagents.running, ground.share.told
    lifecycle.busy = lambda: {helper.key for helper in subagents.running()}
    planner = planner_of(ground, desk, lifecycle, subagents)
    lifecycle.listeners += [choices.ended, subagents.session_over, end_first_run]
    commands = commands_of(ground, desk, planner, lifecycle, queueing, choices)
    turns = turns_of(ground, desk, planner, commands, queueing, choices)
    lanes: Lanes[SessionKey, Item] = Lanes(
        ground.tasks, traced(LaneWork(turns, lifecycle, ground.journal)), ground.clock, queues=queueing.queues
    )
    backlog = backlog_of(ground, queueing, lanes, has_channels=has_channels)
    health.depths = backlog.depths
    arrival = Arrival(queueing, backlog, lanes, partial(is_stop, ground.routes, commands), subagents.cancel_all)
    arrived = counted(arrival, ground.meter)
    trouble = StoreTrouble(direct.not_taken, direct.worked)
    reception = Reception(
        ground.routes, store, arrived, door, owner_chats.learn, planner.hooks, notices.exposed, trouble
    )
    open_to_helpers(ground, subagents, reception, lanes)
    heartbeats.enter = reception.enter
    if has_channels:
        ticker.hand_on = reception.took_in
    return App(
        desk=desk,
        readiness=health,
        reception=reception,
        lanes=lanes,
        backlog=backlog,
        choices=choices,
        lifecycle=lifecycle,
        delivery=delivery,
        adapters=ground.adapters,
        accounts=ground.accounts,
        watched=watched_folders(ground.home, config, agents.values()),
        watching=watch_settings(config.memory),
        has_channels=has_channels,
        drain_s=config.limits.drain_s,
        meter=ground.meter,
        share=ground.share,
        notices=notices,
        presence=ground.presence,
        hooks=planner.hooks,
        journal=ground.journal,
        menus=Menus(menu_entries(commands.all), config.owner.people, store),
    )


def _follow_troubles(ground: Ground, notices: Notices) -> None:
    """Have the owner told of what is wrong with agents' files and conversations, and with tool servers."""
    for agent in ground.agents.values():
        agent.keeper.alarm = Alarm(agent.id, agent.workspace.folder, notices.tell, ground.now)
        look = partial(prompt_extents, agent, ground.now, turn_settings(ground.config).bootstrap)
        agent.keeper.cut_files = CutFiles(agent.id, look, ground.store, notices.tell, ground.now)
        agent.memory.crashed_on = partial(tell_of_file, notices, agent.id)
    ground.sessions.on_lost = partial(tell_of_transcript, notices, ground.store)
    for server in ground.tool_servers.servers:
        server.on_standing = partial(tell_of_tool_server, notices, ground.store, ground.now)


async def _warm(memory: MemoryIndex) -> None:
    """Update the index at start, so that the first search is quick; the gateway is ready without it."""
    try:
        await memory.sync()
    except MemoryUnavailableError as exc:
        log.warning("memory not ready", detail=str(exc))


async def _tidy(store: Store, keepers: Sequence[Keeper], enclosures: Enclosures | None, lifecycle: Lifecycle) -> None:
    """Remove expired data, at start and once a day, and pack the histories that are due."""
    while True:
        try:
            await store.prune(utc_now())
            if enclosures is not None:
                await enclosures.sweep(await store.outbox.unfinished())
            await lifecycle.forget_helpers()
        except (StoreError, WorkspaceError) as exc:
            log.warning("the store was not tidied", detail=str(exc))
        for keeper in keepers:
            await keeper.maintain(utc_now)
        await asyncio.sleep(TIDY_EVERY_S)
