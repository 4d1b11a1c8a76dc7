"""Composes the gateway from its parts, and starts and stops them in order."""

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from adapters.abilities import Deletes, HoldsBack, Joins, Misses, Moves, Wakes
from adapters.channel import Adapter, Address
from adapters.terminal import CHANNEL as TERMINAL
from gateway.agent.history_writer import HistoryWriter
from gateway.agent.models.choose import load_clients
from gateway.app.admission import pairing_notices_of
from gateway.app.agents import INDEXED_AT_ONCE, watched_folders
from gateway.app.automatic_backups import AutomaticBackups
from gateway.app.crash_recovery import quarantine_suspects
from gateway.app.disk_room import warn_of_short_disk
from gateway.app.lost_records import tell_of_choices, tell_of_state
from gateway.app.note_checks import note_checks
from gateway.app.resources import THIS_MACHINE, Machine, open_resources
from gateway.app.wiring import Parts
from gateway.commands.menu import Menus, menu_entries
from gateway.config import Config
from gateway.control.operator import LocalOperator
from gateway.control.order import Answers
from gateway.errors import StoreError
from gateway.home import Home
from gateway.hooks import GATEWAY_START, GATEWAY_STOP, GatewayState
from gateway.inbound.listener import BotAccount, keep_examined, listen
from gateway.observability.logs import rotate
from gateway.runtime.clock import first_of, pause
from gateway.runtime.memory_trim import keep_small
from gateway.schedule.jobs import load_reader
from gateway.settings.secrets import secret_gaps
from gateway.stores.ports import SpooledStore
from gateway.turns.rehearsal import rehearse
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.watch import Watched, catch_up, keep_fresh

if TYPE_CHECKING:
    from gateway.web.server import WebServer


log = structlog.get_logger()

TIDY_EVERY_S = 86_400.0
MEASURE_EVERY_S = 3_600.0


class App(Struct, frozen=True):
    """One composed gateway."""

    parts: Parts
    operator: LocalOperator
    accounts: list[BotAccount]
    watched: list[Watched]

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
            parts = Parts(resources, has_channels=channels)
            parts.connect()
            watched = watched_folders(home, resources.home.config, resources.agents.values())
            if home.last_version != parts.health.version:
                home.write(home.version_file, f"{parts.health.version}\n")
            yield cls(parts, _operator(parts), resources.channels.accounts, watched)

    def web(self, environ: Mapping[str, str]) -> "WebServer | None":
        """Return the HTTP application, `None` if disabled or a token is missing. Raises ConfigError for a short one."""
        resources = self.parts.resources
        config = resources.home.share.config
        if not (self.parts.has_channels and config.web.enabled):
            return None
        from gateway.web.server import WebResources, open_web

        if gaps := secret_gaps(config.web.secret_sources(), environ):
            log.error("the page and the HTTP API are not served", detail="; ".join(gaps))
            return None
        parts = WebResources(
            routes=resources.home.routes,
            receive=self.parts.reception.receive,
            adapters=resources.channels.adapters.loaded,
            outcomes=self.parts.outcomes,
            presence=resources.channels.presence,
            sessions=resources.sessions,
            agents=resources.agents,
            sign_ins=self.parts.sign_ins,
            inbox=resources.home.store.inbox,
            menu=self.parts.conversation.menu,
            operator=self.operator,
            job_runner=self.parts.job_runner,
            approvals=self.parts.approvals,
            offers=self.parts.offers,
            zone=resources.home.zone.zone,
            now=resources.home.now,
        )
        return open_web(config, environ, parts)

    async def run(self, stop: asyncio.Event) -> None:
        """Answer messages until *stop* is set or our membership ends, then finish the work begun."""
        parts, hooks, share = self.parts, self.parts.resources.hooks, self.parts.resources.home.share
        agents, drain_s = parts.resources.agents, parts.resources.home.config.limits.drain_s
        async with asyncio.TaskGroup() as tasks:
            await self._recover()
            running = [tasks.create_task(work) for work in self._work()]
            parts.health.begin()
            if parts.has_channels:
                hooks.note(GATEWAY_START, GatewayState(tuple(agents)))
            await first_of(stop, share.over)
            share.end(for_good=stop.is_set())
            for task in running:
                task.cancel()
        await self._drain(drain_s)
        if parts.has_channels:  # one answer at the command line does not end a day's conversation
            if stop.is_set() or share.leases is not None:  # changed settings end no conversation either
                await parts.lifecycle.finish(drain_s)
            hooks.note(GATEWAY_STOP, GatewayState(tuple(agents)))
        await hooks.finish(drain_s)
        for agent in agents.values():
            await agent.history_writer.finish()

    def _work(self) -> Iterator[Coroutine[None, None, None]]:
        """Yield the work that runs until the end."""
        parts, home = self.parts, self.parts.resources.home
        agents = parts.resources.agents.values()
        yield from (self._listen(account) for account in self.accounts)
        yield from (agent.history_writer.work() for agent in agents)
        if parts.has_channels:
            yield load_clients(_providers(home.config))
            yield rehearse()
            yield load_reader(home.clock)
            yield catch_up([agent.memory for agent in agents], INDEXED_AT_ONCE)
            yield self._tidy([agent.history_writer for agent in agents])
            yield keep_small()
            yield self._measure()
            yield warn_of_short_disk(home)
            yield parts.dead_letters.watch(home.clock)
            yield from note_checks(parts.resources, home.config.memory.checkup_days).work()
            yield keep_fresh(self.watched, home.config.memory.watch, home.config.memory.sync_every_s)
            yield parts.lifecycle.watch(parts.lanes.submit)
            yield parts.heartbeats.work()
            yield parts.job_runner.work()
            yield AutomaticBackups(home, parts.resources.environ, parts.health.note_backups).work()
        yield parts.reception.follow(self._is_ours)
        yield parts.backlog.refill(home.clock)
        yield parts.crosstalk.work(parts.reception.receive)
        yield home.share.watch()
        if isinstance(home.store, SpooledStore):
            yield home.store.trim_spool()

    async def _recover(self) -> None:
        """Continue the work of an earlier run; without channels, only that of a terminal."""
        parts, home = self.parts, self.parts.resources.home
        await quarantine_suspects(parts.resources.journal, home.store, home.notices)
        await tell_of_state(home.notices, home.store, home.clock.now())
        await pairing_notices_of(parts.resources).recover()
        tell = partial(tell_of_choices, home.notices, now=home.clock.now())
        await parts.choices.load(parts.resources.agents, tell)
        replies, messages = await parts.delivery.recover(self._is_ours), await parts.reception.recover(self._is_ours)
        if messages or replies:
            log.info("resumed work of an earlier run", messages=messages, replies=replies)

    def _is_ours(self, address: Address) -> bool:
        return self.parts.has_channels or address.channel == TERMINAL

    async def _listen(self, account: BotAccount) -> None:
        parts, home = self.parts, self.parts.resources.home
        menus = Menus(menu_entries(parts.commands.all), home.config.owner.people, home.store, home.clock)

        def loaded(adapter: Adapter) -> None:
            parts.resources.channels.adapters.loaded[account.key] = adapter
            gc.freeze()  # loaded libraries stay: scanning them took 0.2 s at every full collection
            wake = partial(parts.delivery.wake_channel, *account.key)
            wake()
            if isinstance(adapter, Wakes):
                adapter.on_reachable(wake)
            if isinstance(adapter, Moves):
                adapter.on_moved(home.notices.moved)
            if isinstance(adapter, Joins):
                adapter.on_joined(parts.group_requests.joined)
            if isinstance(adapter, HoldsBack):
                adapter.on_held_back(parts.reception.held_back)
            if isinstance(adapter, Deletes):
                adapter.on_deleted(home.store.overheard.drop)
            if isinstance(adapter, Misses):
                adapter.on_missed(home.notices.missed)

            beside.create_task(menus.show(adapter))
            beside.create_task(keep_examined(account, adapter, home.clock))

        async with asyncio.TaskGroup() as beside:
            await listen(account, parts.reception.receive, loaded, home.clock)

    async def _drain(self, grace_s: float) -> None:
        self.parts.health.end()
        turns = await self.parts.lanes.drain(grace_s)
        replies = await self.parts.delivery.drain(grace_s)
        self.operator.conversation.ending.set()
        if turns or replies:
            log.warning("interrupted; the next start resumes them", turns=len(turns), replies=len(replies))

    async def _tidy(self, history_writers: Sequence[HistoryWriter]) -> None:
        """Remove expired data, at start and once a day, and pack the histories that are due."""
        parts, home, store = self.parts, self.parts.resources.home, self.parts.resources.home.store
        while True:
            try:
                await store.prune(home.clock.now())
                await parts.enclosures.sweep(await store.outbox.unfinished())
                await parts.lifecycle.forget_helpers({helper.key for helper in parts.subagents.running()})
            except (StoreError, WorkspaceError) as exc:
                log.warning("the store was not cleaned up", detail=str(exc))
            for history_writer in history_writers:
                await history_writer.maintain(home.clock.now)
            await asyncio.to_thread(rotate, home.files.service_log)
            await pause(home.clock, TIDY_EVERY_S)

    async def _measure(self) -> None:
        """Note the size of each index that is in use, every hour; none is opened for it."""
        home = self.parts.resources.home
        while True:
            await pause(home.clock, MEASURE_EVERY_S)
            from gateway.control.activity import IndexSizes  # as the operator's orders

            sizes = IndexSizes(home.store, home.now)
            for agent in self.parts.resources.agents.values():
                if agent.memory.is_open:
                    with suppress(StoreError, MemoryUnavailableError):  # the figure of another hour will do
                        await sizes.record(agent, home.files.agent(agent.id).index)


def _operator(parts: Parts) -> LocalOperator:
    def build() -> Answers:
        from gateway.app.operator import answers_of  # a tenth of what is loaded, for those who ask

        return answers_of(parts)

    return LocalOperator(parts.status.agents, parts.conversation, build)


def _providers(config: Config) -> set[str]:
    """Return the providers of the models that agents ask first."""
    return {config.models[each.model].provider for each in config.agents.values() if each.model in config.models}
