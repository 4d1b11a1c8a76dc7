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
from gateway.admission.gate import AdmissionGate
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import SessionKey
from gateway.admission.sign_in import SignIns
from gateway.agent.cut_files import CutFiles
from gateway.agent.file_trouble import Alarm
from gateway.agent.history_writer import HistoryWriter
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
from gateway.app.resources import THIS_MACHINE, Machine, Resources, open_resources
from gateway.app.tool_servers import tell_of_tool_server
from gateway.app.tracing import traced
from gateway.app.wiring import (
    backlog_of,
    commands_of,
    delivery_of,
    direct_notices_of,
    follow_on_pages,
    heartbeats_of,
    job_runner_of,
    open_to_helpers,
    planner_of,
    plugin_faults,
    turns_of,
)
from gateway.approvals.approvals import Approvals
from gateway.automation.subagents import Subagents
from gateway.cluster.membership import Share
from gateway.commands.menu import Menus, menu_entries
from gateway.config import Config
from gateway.control.admission import AdmissionOperator
from gateway.control.operator import Health, LocalOperator
from gateway.delivery.outgoing_files import Enclosures
from gateway.delivery.owner_chat import OwnerChats
from gateway.delivery.owner_notices import Notices
from gateway.delivery.pairing_notices import PairingNotices
from gateway.delivery.sender import Adapters, Delivery
from gateway.errors import StoreError
from gateway.home import Home
from gateway.hooks import GATEWAY_START, GATEWAY_STOP, GatewayState, Hooks
from gateway.inbound.agent_crosstalk import Neighbours
from gateway.inbound.backlog import Backlog
from gateway.inbound.listener import BotAccount, listen
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
from gateway.stores.ports import SpooledStore, Store
from gateway.turns.presence import Presence
from gateway.turns.worker import Item, LaneWork
from workspaces.access import AgentId
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.search import MemoryIndex
from workspaces.memory.watch import Watched, WatchSettings, keep_fresh

if TYPE_CHECKING:
    from gateway.web.server import WebServer

__all__ = ["App", "Machine"]

log = structlog.get_logger()

TIDY_EVERY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class App:
    """One composed gateway."""

    operator: LocalOperator
    readiness: Health
    reception: Reception
    lanes: Lanes[SessionKey, Item]
    backlog: Backlog
    choices: Choices
    lifecycle: Lifecycle
    delivery: Delivery
    adapters: Adapters
    accounts: list[BotAccount]
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
        async with open_resources(home, config, environ, channels=channels, machine=machine) as resources:
            yield _composed(resources, has_channels=channels)

    def web(self, environ: Mapping[str, str]) -> "WebServer | None":
        """Return the HTTP application, `None` if disabled. Raises ConfigError for a missing token."""
        config = self.share.config
        if not (self.has_channels and config.web.enabled):
            return None
        from gateway.web.server import WebResources, open_web

        resources = WebResources(
            routes=self.reception.routes,
            receive=self.reception.receive,
            adapters=self.adapters.loaded,
            outcomes=self.operator.outcomes,
            presence=self.presence,
            sessions=self.operator.transcripts,
            agents=tuple(self.operator.agents),
            sign_ins=self.operator.sign_ins,
        )
        return open_web(config, environ, resources)

    async def run(self, stop: asyncio.Event) -> None:
        """Answer messages until *stop* is set or our membership ends, then finish the work begun."""
        measure(self.operator.store, self.delivery, self.meter)
        async with asyncio.TaskGroup() as tasks:
            await self._recover()
            running = [tasks.create_task(self._listen(account)) for account in self.accounts]
            history_writers = [agent.history_writer for agent in self.operator.agents.values()]
            running += [tasks.create_task(history_writer.work()) for history_writer in history_writers]
            if self.has_channels:
                running += [tasks.create_task(_warm(agent.memory)) for agent in self.operator.agents.values()]
                tidy = _tidy(self.operator.store, history_writers, self.delivery.enclosures, self.lifecycle)
                running.append(tasks.create_task(tidy))
                running.append(tasks.create_task(keep_small()))
                running.append(tasks.create_task(keep_fresh(self.watched, self.watching)))
                running.append(tasks.create_task(self.lifecycle.watch(self.lanes.submit)))
                running.append(tasks.create_task(self.operator.heartbeats.work()))
                running.append(tasks.create_task(self.operator.job_runner.work()))
            running.append(tasks.create_task(self.reception.follow(self._is_ours)))
            running.append(tasks.create_task(self.backlog.refill(self.lanes.clock)))
            running.append(tasks.create_task(self.operator.admission.neighbours.work(self.reception.receive)))
            running.append(tasks.create_task(self.share.watch()))
            if isinstance(self.operator.store, SpooledStore):
                running.append(tasks.create_task(self.operator.store.trim_spool()))
            self.readiness.ready = not self.readiness.standby
            if self.has_channels:
                self.hooks.note(GATEWAY_START, GatewayState(tuple(self.operator.agents)))
            await first_of(stop, self.share.over)
            self.share.is_leaving = stop.is_set()
            for task in running:
                task.cancel()
        await self._drain()
        if self.has_channels:  # one answer at the command line does not end a day's conversation
            await self.lifecycle.finish(self.drain_s)
            self.hooks.note(GATEWAY_STOP, GatewayState(tuple(self.operator.agents)))
        await self.hooks.finish(self.drain_s)
        for history_writer in history_writers:
            await history_writer.finish()

    async def _recover(self) -> None:
        """Continue the work of an earlier run; without channels, only that of a terminal."""

        await quarantine_suspects(self.journal, self.operator.store, self.notices)
        await tell_of_state(self.notices, self.operator.store, self.lanes.clock.now())
        await self.choices.load(self.operator.agents)
        replies, messages = await self.delivery.recover(self._is_ours), await self.reception.recover(self._is_ours)
        log.info("took up what an earlier run left", messages=messages, replies=replies)

    def _is_ours(self, address: Address) -> bool:
        return self.has_channels or address.channel == TERMINAL

    async def _listen(self, account: BotAccount) -> None:
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


def _composed(resources: Resources, *, has_channels: bool) -> App:
    config, agents, store = resources.config, resources.agents, resources.store
    owner_chats = OwnerChats(store, resources.routes, reach_of(config, resources.routes), terminal_chat)
    lifecycle = Lifecycle(
        agents, resources.sessions, lifecycle_settings(config, resources.zone.zone), resources.clock, resources.count
    )
    outcomes, health = (
        Outcomes(),
        Health(
            resources.bots,
            resources.share.is_standby,
            disabled=resources.home.disabled(),
            plugin_faults=plugin_faults(config),
        ),
    )
    notices = Notices(store, resources.owner, partial(owner_chats.of, AgentId(config.default_agent)))
    delivery = delivery_of(resources, notices)
    direct = delivery.direct = direct_notices_of(resources, owner_chats)
    _follow_troubles(resources, notices)
    patience = timedelta(days=config.limits.approval_days)
    approvals = Approvals(agents, store, patience, resources.now, delivery.wake)
    limits = config.limits
    rates = Rates(limits.person_a_minute, limits.person_burst, resources.clock.now)
    admission = AdmissionGate(resources.routes.policy, store, rates, resources.clock.now, delivery.wake)
    admission.pairing.on_asked = PairingNotices(store, notices, resources.routes, owner_chats.of)
    choices = Choices(store)
    queueing = Queueing(queue_rules(config), None, choices.mode, resources.clock.now)
    heartbeats = heartbeats_of(resources, owner_chats, queueing, delivery)
    job_runner = job_runner_of(resources, owner_chats, notices)
    outcomes.listeners += [heartbeats.committed, job_runner.settled]
    follow_on_pages(resources, outcomes)
    approvals.job_schedule = job_runner.job_schedule
    operator = LocalOperator(
        str(resources.home.path),
        resources.zone,
        agents,
        AgentId(config.default_agent),
        resources.terminals,
        store,
        resources.sessions,
        outcomes,
        delivery,
        health,
        approvals,
        AdmissionOperator(
            resources.routes, store, admission.pairing, Neighbours(resources.routes, store, resources.clock.now)
        ),
        SignIns(store, resources.clock.now),
        heartbeats,
        job_runner,
        (*assumed_windows(config), *unpriced_models(config)),
        resources.agent_budgets,
        owner_chats.of,
        resources.tool_servers,
    )
    subagents = Subagents(
        subagent_rules(config), turn_settings(config).limits, queueing, resources.count, resources.clock.now
    )
    health.helpers, health.waits_for = subagents.running, resources.share.told
    lifecycle.busy = lambda: {helper.key for helper in subagents.running()}
    planner = planner_of(resources, operator, lifecycle, subagents)
    lifecycle.listeners += [choices.ended, subagents.session_over, end_first_run]
    commands = commands_of(resources, operator, planner, lifecycle, queueing, choices)
    turns = turns_of(resources, operator, planner, commands, queueing, choices)
    lanes: Lanes[SessionKey, Item] = Lanes(
        resources.tasks, traced(LaneWork(turns, lifecycle, resources.journal)), resources.clock, queues=queueing.queues
    )
    backlog = backlog_of(resources, commands, queueing, subagents, lanes, has_channels=has_channels)
    health.depths = backlog.depths
    arrived = counted(backlog.take, resources.meter)
    trouble = StoreTrouble(direct.not_taken, direct.worked)
    reception = Reception(
        resources.routes, store, arrived, admission, owner_chats.learn, planner.hooks, notices.exposed, trouble
    )
    open_to_helpers(resources, subagents, reception, lanes)
    heartbeats.enter = reception.enter
    if has_channels:
        job_runner.hand_on = reception.took_in
    return App(
        operator=operator,
        readiness=health,
        reception=reception,
        lanes=lanes,
        backlog=backlog,
        choices=choices,
        lifecycle=lifecycle,
        delivery=delivery,
        adapters=resources.adapters,
        accounts=resources.accounts,
        watched=watched_folders(resources.home, config, agents.values()),
        watching=watch_settings(config.memory),
        has_channels=has_channels,
        drain_s=config.limits.drain_s,
        meter=resources.meter,
        share=resources.share,
        notices=notices,
        presence=resources.presence,
        hooks=planner.hooks,
        journal=resources.journal,
        menus=Menus(menu_entries(commands.all), config.owner.people, store),
    )


def _follow_troubles(resources: Resources, notices: Notices) -> None:
    """Have the owner told of what is wrong with agents' files and conversations, and with tool servers."""
    for agent in resources.agents.values():
        agent.history_writer.alarm = Alarm(agent.id, agent.workspace.folder, notices.tell, resources.now)
        look = partial(prompt_extents, agent, resources.now, turn_settings(resources.config).bootstrap)
        agent.history_writer.cut_files = CutFiles(agent.id, look, resources.store, notices.tell, resources.now)
        agent.memory.crashed_on = partial(tell_of_file, notices, agent.id)
    resources.sessions.on_lost = partial(tell_of_transcript, notices, resources.store)
    for server in resources.tool_servers.servers:
        server.on_standing = partial(tell_of_tool_server, notices, resources.store, resources.now)


async def _warm(memory: MemoryIndex) -> None:
    """Update the index at start, so that the first search is quick; the gateway is ready without it."""
    try:
        await memory.sync()
    except MemoryUnavailableError as exc:
        log.warning("memory not ready", detail=str(exc))


async def _tidy(
    store: Store, history_writers: Sequence[HistoryWriter], enclosures: Enclosures | None, lifecycle: Lifecycle
) -> None:
    """Remove expired data, at start and once a day, and pack the histories that are due."""
    while True:
        try:
            await store.prune(utc_now())
            if enclosures is not None:
                await enclosures.sweep(await store.outbox.unfinished())
            await lifecycle.forget_helpers()
        except (StoreError, WorkspaceError) as exc:
            log.warning("the store was not tidied", detail=str(exc))
        for history_writer in history_writers:
            await history_writer.maintain(utc_now)
        await asyncio.sleep(TIDY_EVERY_S)
