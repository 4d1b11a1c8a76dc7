"""This file composes the gateway from its parts, and starts and stops them in order."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog

from adapters.channel import Adapter, Address, Wakes
from adapters.terminal import CHAT
from gateway.agent.agent import Agent
from gateway.agent.alarm import Alarm, Tell
from gateway.agent.keeper import Keeper
from gateway.agents import (
    Threads,
    assumed_windows,
    lifecycle_settings,
    open_agents,
    turn_settings,
    watch_settings,
    watched_folders,
)
from gateway.channels import TERMINAL, bot_accounts, routes_of, terminal_account, terminals_of
from gateway.commands.families import every_command
from gateway.commands.registry import Commands
from gateway.config import Config, owner_zone
from gateway.control.local import Health, LocalDesk
from gateway.conversation.approvals import Approvals
from gateway.conversation.compaction import Compaction
from gateway.conversation.delivery import Adapters, Delivery
from gateway.conversation.flush import Flush
from gateway.conversation.lane_work import Item, LaneWork
from gateway.conversation.lanes import Lanes
from gateway.conversation.lifecycle import Lifecycle
from gateway.conversation.listening import Account, listen
from gateway.conversation.outcomes import Outcomes
from gateway.conversation.pacing import Pacing
from gateway.conversation.planning import Planner
from gateway.conversation.presence import Presence
from gateway.conversation.reception import Reception
from gateway.conversation.rest_flush import RestFlush
from gateway.conversation.sessions import Sessions
from gateway.conversation.turn import Turns
from gateway.door.routing import SessionKey
from gateway.errors import StoreError
from gateway.home import Home
from gateway.hooks import Hooks, load_hooks
from gateway.measuring import counted, measure, metered_agents, timed
from gateway.metrics import Meter
from gateway.share import Share, open_share
from gateway.stores.ports import InboxRow, OutboxRow, Outgoing, Store
from gateway.timing import Clock, SystemClock, first_of, utc_now
from workspaces.access import AgentId
from workspaces.checkpoint import Checkpoint, unchecked
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.search import MemoryIndex
from workspaces.memory.watch import Watched, WatchSettings, keep_fresh

log = structlog.get_logger()

TIDY_EVERY_S = 86_400.0
TRANSCRIPT_THREADS = 4
"""Transcripts written at the same time; each write waits for the disk."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the gateway runs on, as far as a test may put something else in its place."""

    clock: Clock = field(default_factory=SystemClock)
    checkpoint: Checkpoint = unchecked


THIS_MACHINE = Machine()


@dataclass(frozen=True, slots=True)
class App:
    """One gateway, put together."""

    desk: LocalDesk
    readiness: Health
    reception: Reception
    lanes: Lanes[SessionKey, Item]
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

    @classmethod
    @asynccontextmanager
    async def open(
        cls, home: Home, config: Config, environ: Mapping[str, str], *, channels: bool, machine: Machine = THIS_MACHINE
    ) -> "AsyncIterator[App]":
        """Put the gateway of *home* together; the caller holds its lock. Without *channels* only terminals speak.

        It keeps the time and the disk of this *machine* unless a test's is given.
        Raises ConfigError, StoreError and WorkspaceUnusableError before anything is touched.
        """
        clock, zone, meter = machine.clock, owner_zone(config.owner.time_zone, environ), _meter(config, channels)

        def owner_now() -> datetime:
            return clock.now().astimezone(zone.zone)

        async def count(reason: str) -> None:
            await store.count(reason)

        async with AsyncExitStack() as stack:
            share = await stack.enter_async_context(open_share(home, config, environ, alone=not channels))
            routes, config = routes_of(config), share.mine
            agents = metered_agents(
                await stack.enter_async_context(open_agents(home, config, environ, owner_now, count)), meter
            )
            _lead_through(machine.checkpoint, agents.values())
            store = await share.open_store(routes, clock, machine.checkpoint)
            stack.push_async_callback(store.close)
            threads = stack.enter_context(closing(Threads("transcripts", TRANSCRIPT_THREADS)))
            sessions = Sessions(
                {name: home.agent(name).sessions for name in agents}, threads, machine.checkpoint, clock.now
            )
            lifecycle = Lifecycle(agents, sessions, lifecycle_settings(config.sessions, zone.zone), clock, count)
            terminals, bots = terminals_of(config), _bots(config, environ, store, share) if channels else []
            accounts = [*map(terminal_account, terminals.values()), *bots]
            stack.push_async_callback(_close, adapters := Adapters(account.key for account in accounts))
            presence = await stack.enter_async_context(Presence(adapters.loaded))
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            outcomes, health = Outcomes(), Health(bots)
            default, owner = AgentId(config.default_agent), Address(TERMINAL, config.default_agent, CHAT)

            async def tell_owner(row: OutboxRow, why: str) -> None:
                said = f"A reply to {row.outgoing.address} could not be delivered: {why}"
                await _notify(store, delivery, owner, f"dead:{row.id}", said)

            delivery = Delivery(tasks, store.outbox, adapters, tell_owner, Pacing(clock))
            _set_alarms(agents.values(), partial(_notify, store, delivery, owner), owner_now)

            def committed(row: InboxRow, replies: list[OutboxRow]) -> None:
                outcomes.tell(row, replies)
                delivery.wake(replies)

            settings, patience = turn_settings(config), timedelta(days=config.limits.approval_days)
            approvals = Approvals(agents, store, patience, owner_now, delivery.wake)
            desk = LocalDesk(
                str(home.path),
                zone,
                agents,
                default,
                terminals,
                store,
                sessions,
                outcomes,
                delivery,
                health,
                approvals,
                assumed_windows(config),
            )

            compaction = Compaction(settings.compact, Flush(settings.flush, owner_now), lifecycle, count, owner_now)
            planner = Planner(settings, Hooks(load_hooks(home.hooks), count), approvals, compaction, owner_now)
            lifecycle.listeners.append(RestFlush(compaction.flush, planner.between_turns, zone.zone))
            offered = every_command(agents, sessions, desk.brief, planner, lifecycle)
            turns = Turns(
                agents,
                sessions,
                store,
                routes,
                presence,
                planner,
                outcome=timed(committed, meter, clock),
                shortcut=Commands(offered, routes.policy),
            )
            lanes: Lanes[SessionKey, Item] = Lanes(tasks, LaneWork(turns, lifecycle), clock)
            yield cls(
                desk=desk,
                readiness=health,
                reception=Reception(routes, store, counted(lanes.submit, meter)),
                lanes=lanes,
                lifecycle=lifecycle,
                delivery=delivery,
                adapters=adapters,
                accounts=accounts,
                watched=watched_folders(home, config, agents.values()),
                watching=watch_settings(config.memory),
                has_channels=channels,
                drain_s=config.limits.drain_s,
                meter=meter,
                share=share,
            )

    async def run(self, stop: asyncio.Event) -> None:
        """Answer what comes until *stop* is set or our share is over, then finish what was begun."""
        measure(self.desk.store, self.delivery, self.meter)
        async with asyncio.TaskGroup() as tasks:
            await self._recover()
            running = [tasks.create_task(self._listen(account)) for account in self.accounts]
            keepers = [agent.keeper for agent in self.desk.agents.values()]
            running += [tasks.create_task(keeper.work()) for keeper in keepers]
            if self.has_channels:
                running += [tasks.create_task(_warm(agent.memory)) for agent in self.desk.agents.values()]
                running.append(tasks.create_task(_tidy(self.desk.store, keepers)))
                running.append(tasks.create_task(keep_fresh(self.watched, self.watching)))
                running.append(tasks.create_task(self.lifecycle.watch(self.lanes.submit)))
            running.append(tasks.create_task(self.reception.follow(self._is_ours)))
            running.append(tasks.create_task(self.share.watch()))
            self.readiness.ready = True
            await first_of(stop, self.share.over)
            self.share.is_leaving = stop.is_set()
            for task in running:
                task.cancel()
        await self._drain()
        if self.has_channels:  # one answer at the command line is no end of a day's talk
            await self.lifecycle.finish(self.drain_s)
        for keeper in keepers:
            await keeper.finish()

    async def _recover(self) -> None:
        """Go on with what an earlier run left; without channels, with what belongs to a terminal."""

        replies, messages = await self.delivery.recover(self._is_ours), await self.reception.recover(self._is_ours)
        log.info("took up what an earlier run left", messages=messages, replies=replies)

    def _is_ours(self, address: Address) -> bool:
        return self.has_channels or address.channel == TERMINAL

    async def _listen(self, account: Account) -> None:
        def loaded(adapter: Adapter) -> None:
            self.adapters.loaded[account.key] = adapter
            gc.freeze()  # what a library loads stays: to look through it took 0.2 s at every full collection
            wake = partial(self.delivery.wake_channel, *account.key)
            wake()
            if isinstance(adapter, Wakes):
                adapter.on_reachable(wake)

        await listen(account, self.reception.receive, loaded)

    async def _drain(self) -> None:
        self.readiness.ready = False
        turns = await self.lanes.drain(self.drain_s)
        replies = await self.delivery.drain(self.drain_s)
        if turns or replies:
            log.warning("cut off; the next start goes on with them", turns=len(turns), replies=len(replies))


def _bots(config: Config, environ: Mapping[str, str], store: Store, share: Share) -> list[Account]:
    bots = bot_accounts(config, environ, store.count)
    for bot in bots:
        bot.may_listen = share.may_listen
    return bots


async def _warm(memory: MemoryIndex) -> None:
    """Bring the index up to date at start, so that the first search is quick; the gateway is ready without it."""
    try:
        await memory.sync()
    except MemoryUnavailableError as exc:
        log.warning("memory not ready", detail=str(exc))


async def _tidy(store: Store, keepers: Sequence[Keeper]) -> None:
    """Remove, at start and once a day, what nobody asks for any more, and pack the histories that are due."""
    while True:
        try:
            await store.prune(utc_now())
        except StoreError as exc:
            log.warning("the store was not tidied", detail=str(exc))
        for keeper in keepers:
            await keeper.maintain(utc_now)
        await asyncio.sleep(TIDY_EVERY_S)


def _lead_through(checkpoint: Checkpoint, agents: Iterable[Agent]) -> None:
    for agent in agents:
        agent.workspace.folder.checkpoint = checkpoint


def _meter(config: Config, channels: bool) -> Meter | None:
    return Meter() if channels and config.metrics.enabled else None


def _set_alarms(agents: Iterable[Agent], tell: Tell, clock: Callable[[], datetime]) -> None:
    for agent in agents:
        agent.keeper.alarm = Alarm(agent.id, tell, clock)


async def _notify(store: Store, delivery: Delivery, owner: Address, key: str, said: str) -> None:
    """Tell the owner *said*, once for each *key*."""
    if notice := await store.notify(key, Outgoing(owner, said)):
        delivery.wake([notice])


async def _close(adapters: Adapters) -> None:
    for adapter in adapters.loaded.values():
        await adapter.close()
