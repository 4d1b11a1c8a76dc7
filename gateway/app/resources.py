"""Opens the resources that every part of a gateway shares: its membership, agents, store and bot accounts."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from adapters.channel import Address, ChannelError
from adapters.terminal import CHAT, TerminalAdapter
from gateway.admission.routing import Routes
from gateway.agent.agent import Agent
from gateway.agent.mcp.servers import ToolServers, open_servers
from gateway.agent.models.paid import AgentBudget
from gateway.app.agents import open_agents
from gateway.app.budgets import agent_budgets_of, paid_agents
from gateway.app.channels import TERMINAL, bot_accounts, routes_of, terminal_account, terminals_of, web_accounts
from gateway.app.metering import metered_agents
from gateway.app.tool_servers import server_settings
from gateway.app.tracing import traced_agents
from gateway.cluster.membership import Share, open_share
from gateway.config import Config, OwnerZone, owner_zone
from gateway.config.secrets import known_secrets
from gateway.delivery.sender import Adapters
from gateway.home import Home
from gateway.inbound.listener import BotAccount
from gateway.observability.metrics import Meter
from gateway.runtime.clock import Clock, SystemClock
from gateway.runtime.threads import Threads
from gateway.runtime.work_journal import WorkJournal
from gateway.stores.disk import disk_trouble
from gateway.stores.ports import Store
from gateway.transcripts.session_marks import SessionMarks
from gateway.transcripts.store import Sessions
from gateway.turns.presence import Presence
from workspaces.access import AgentId
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.secrets import guarding

TRANSCRIPT_THREADS = 4
"""Transcripts written at the same time; each write waits for the disk."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The platform of the gateway, as far as a test may replace it."""

    clock: Clock = field(default_factory=SystemClock)
    checkpoint: Checkpoint = unchecked


THIS_MACHINE = Machine()


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources shared by the parts of one gateway."""

    home: Home
    config: Config
    """With only our agents."""
    routes: Routes
    """Routes of all agents, ours or not."""
    zone: OwnerZone
    clock: Clock
    share: Share
    agents: Mapping[AgentId, Agent]
    agent_budgets: Mapping[AgentId, AgentBudget]
    """The agents' budgets, charged by their models."""
    store: Store
    sessions: Sessions
    terminals: Mapping[AgentId, TerminalAdapter]
    bots: list[BotAccount]
    adapters: Adapters
    presence: Presence
    tool_servers: ToolServers
    tasks: asyncio.TaskGroup
    meter: Meter | None
    journal: WorkJournal

    @property
    def accounts(self) -> list[BotAccount]:
        """Every listening account, terminals first."""
        return [*map(terminal_account, self.terminals.values()), *self.bots]

    @property
    def owner(self) -> Address:
        """The owner's address for notices that no conversation of theirs caused."""
        return Address(TERMINAL, self.config.default_agent, CHAT)

    def now(self) -> datetime:
        """Return the time, in the owner's zone."""
        return self.clock.now().astimezone(self.zone.zone)

    async def count(self, reason: str) -> None:
        """Count *reason* once in the store."""
        await self.store.count(reason)


@asynccontextmanager
async def open_resources(
    home: Home, config: Config, environ: Mapping[str, str], *, channels: bool, machine: Machine
) -> AsyncIterator[Resources]:
    """Open the resources of the gateway of *home*, and close them afterwards; the caller holds the home's lock.

    Raises ConfigError, StoreError and WorkspaceUnusableError before any change.
    """
    clock, zone = machine.clock, owner_zone(config.owner.time_zone, environ)
    meter = Meter() if channels and config.metrics.enabled else None

    async def count(reason: str) -> None:
        await store.count(reason)

    def owner_now() -> datetime:
        return clock.now().astimezone(zone.zone)

    async with AsyncExitStack() as stack:
        stack.enter_context(guarding(known_secrets(config, environ)))
        share = await stack.enter_async_context(open_share(home, config, environ, alone=not channels))
        routes, config = routes_of(config), share.mine
        servers = server_settings(config, environ, home)
        opened = await stack.enter_async_context(open_agents(home, config, environ, owner_now, count))
        _lead_through(machine.checkpoint, opened.values())
        store = await share.open_store(routes, clock, machine.checkpoint)
        stack.push_async_callback(store.close)
        agent_budgets = agent_budgets_of(config, store, owner_now, count)
        agents = paid_agents(traced_agents(metered_agents(opened, meter), config.traces), agent_budgets)
        threads = stack.enter_context(closing(Threads("transcripts", TRANSCRIPT_THREADS)))
        folders = {name: home.agent(name).sessions for name in agents}
        sessions = Sessions(folders, threads, machine.checkpoint, clock.now)
        sessions.marks = SessionMarks(store, home.removed)
        terminals, bots = terminals_of(config), _bots(config, environ, store, share) if channels else []
        keys = [(TERMINAL, terminal.account) for terminal in terminals.values()]
        adapters = Adapters([*keys, *(bot.key for bot in bots)])
        stack.push_async_callback(_close, adapters)
        presence = await stack.enter_async_context(Presence(adapters.loaded, _reaction(config)))
        tool_servers = await stack.enter_async_context(open_servers(servers, clock.now, store.count))
        journal = stack.enter_context(_journal(home))
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        yield Resources(
            home,
            config,
            routes,
            zone,
            clock,
            share,
            agents,
            agent_budgets,
            store,
            sessions,
            terminals,
            bots,
            adapters,
            presence,
            tool_servers,
            tasks,
            meter,
            journal,
        )


@contextmanager
def _journal(home: Home) -> Iterator[WorkJournal]:
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(WorkJournal.open(home.work_journal))
        except OSError as exc:
            raise disk_trouble(home.work_journal, exc) from exc
        yield journal


def _reaction(config: Config) -> str:
    return "" if config.signs.reaction == "off" else config.signs.reaction


def _bots(config: Config, environ: Mapping[str, str], store: Store, share: Share) -> list[BotAccount]:
    bots = [] if share.is_standby else bot_accounts(config, environ, store.count, store)
    for bot in bots:
        bot.may_listen = share.may_listen
    return [*bots, *web_accounts(config)]


def _lead_through(checkpoint: Checkpoint, agents: Iterable[Agent]) -> None:
    for agent in agents:
        agent.workspace.folder.checkpoint = checkpoint


async def _close(adapters: Adapters) -> None:
    for adapter in adapters.loaded.values():
        with suppress(ChannelError):  # of a package, and logged there
            await adapter.close()
