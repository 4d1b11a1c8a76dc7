"""Opens the resources that every part of a gateway shares: its membership, agents, store and bot accounts."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct
from msgspec import field as struct_field

from adapters.channel import Adapter, ChannelError
from adapters.terminal import TerminalAdapter
from gateway.admission.internal_channels import SUBAGENT
from gateway.admission.routing import SessionKey, session_access
from gateway.agent.agent import Agent
from gateway.agent.mcp.servers import ToolServers, open_servers
from gateway.agent.mcp.settings import ServerSettings
from gateway.agent.models.failures import ModelTroubles
from gateway.agent.models.paid import AgentBudget, PaidModel
from gateway.app.agents import open_agents, open_models, open_workspaces, turn_settings
from gateway.app.budgets import agent_budgets_of
from gateway.app.channels import (
    bot_accounts,
    open_account,
    reaction_of,
    routes_of,
    terminals_of,
    web_accounts,
)
from gateway.app.lost_records import tell_of_transcript
from gateway.app.memory_worker import memory_worker
from gateway.app.metering import measure, metered_agent
from gateway.app.open_home import OpenHome
from gateway.app.tool_changes import as_known
from gateway.app.tool_servers import server_settings, tell_of_tool_server
from gateway.app.tracing import traced_agent
from gateway.automation.subagent_results import ResultChannel
from gateway.cluster.membership import open_share
from gateway.config import Config, TraceSettings, owner_zone
from gateway.delivery.sender import AccountKey, Adapters
from gateway.home import Home
from gateway.hooks import Hooks, hooks_of
from gateway.inbound.listener import BotAccount
from gateway.observability.metrics import Meter
from gateway.runtime.clock import Clock, SystemClock
from gateway.runtime.crash_report import has_crashed
from gateway.runtime.threads import Threads
from gateway.runtime.work_journal import WorkJournal
from gateway.settings.secrets import known_secrets, secret_gaps
from gateway.stores.disk import disk_trouble
from gateway.transcripts.session_marks import SessionMarks
from gateway.transcripts.store import Sessions
from gateway.turns.presence import Presence
from workspaces.access import AgentId
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.secrets import guarding

TRANSCRIPT_THREADS = 4
"""Transcripts written at the same time; each write waits for the disk."""


class Machine(Struct, frozen=True):
    """The platform of the gateway, as far as a test may replace it."""

    clock: Clock = struct_field(default_factory=SystemClock)
    checkpoint: Checkpoint = unchecked


THIS_MACHINE = Machine()


class Channels(Struct, frozen=True):
    """The accounts of one gateway."""

    terminals: Mapping[AgentId, TerminalAdapter]
    bots: list[BotAccount]
    """Those of platforms and of the HTTP server."""
    adapters: Adapters
    presence: Presence

    @property
    def accounts(self) -> list[BotAccount]:
        """Every listening account, terminals first."""
        return [*map(open_account, self.terminals.values()), *self.bots]


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources shared by the parts of one gateway."""

    home: OpenHome
    agents: Mapping[AgentId, Agent]
    agent_budgets: Mapping[AgentId, AgentBudget]
    """The agents' budgets, charged by their models."""
    sessions: Sessions
    channels: Channels
    tool_servers: ToolServers
    tasks: asyncio.TaskGroup
    hooks: Hooks
    meter: Meter | None
    journal: WorkJournal
    troubles: ModelTroubles = field(default_factory=ModelTroubles)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where secrets are read."""
    gaps: tuple[str, ...] = ()
    """Missing secrets, each in one sentence: the gateway works without what needs them."""


@asynccontextmanager
async def open_resources(
    home: Home, config: Config, environ: Mapping[str, str], *, channels: bool, machine: Machine
) -> AsyncIterator[Resources]:
    """Open the resources of the gateway of *home*, and close them afterwards; the caller holds the home's lock.

    Raises ConfigError, StoreError and WorkspaceUnusableError before any change.
    """
    meter = Meter() if channels and config.metrics.enabled else None
    async with AsyncExitStack() as stack:
        stack.enter_context(guarding(known_secrets(config, environ)))
        share = await stack.enter_async_context(open_share(home, config, environ, alone=not channels))
        routes, config = routes_of(config), share.mine
        servers, worker = server_settings(config, environ, home), memory_worker(config, environ)
        models = await stack.enter_async_context(open_models(config, environ, troubles := ModelTroubles()))
        workspaces = stack.enter_context(open_workspaces(home, config, machine.checkpoint))
        stack.push_async_callback((store := await share.open_store(routes, machine.clock, machine.checkpoint)).close)
        measure(store, meter)
        opened = OpenHome(home, share, routes, store, machine.clock, owner_zone(config.owner.time_zone, environ))
        bare = await stack.enter_async_context(open_agents(opened, workspaces, models, worker))
        agent_budgets = agent_budgets_of(config, store, opened.now, store.count)
        sessions = stack.enter_context(_open_sessions(opened, machine.checkpoint))
        accounts = await stack.enter_async_context(_open_channels(opened, environ, has_bots=channels))
        tool_servers = await stack.enter_async_context(_open_tool_servers(opened, servers))
        journal, tasks = stack.enter_context(_journal(home)), await stack.enter_async_context(asyncio.TaskGroup())
        yield Resources(
            home=opened,
            agents=_paid_agents(bare, agent_budgets, meter, config.traces),
            agent_budgets=agent_budgets,
            sessions=sessions,
            channels=accounts,
            tool_servers=tool_servers,
            tasks=tasks,
            hooks=Hooks(hooks_of(home), store.count, tasks),
            meter=meter,
            journal=journal,
            troubles=troubles,
            environ=environ,
            gaps=secret_gaps(config.secret_sources(), environ),
        )


def _paid_agents(
    agents: Mapping[AgentId, Agent],
    budgets: Mapping[AgentId, AgentBudget],
    meter: Meter | None,
    traces: TraceSettings,
) -> Mapping[AgentId, Agent]:
    """Return *agents* with measured and traced models that charge their budgets."""
    return {
        name: traced_agent(metered_agent(agent, meter), traces).with_models(
            partial(PaidModel, agent_budget=budgets[name])
        )
        for name, agent in agents.items()
    }


def _open_tool_servers(home: OpenHome, servers: Sequence[ServerSettings]) -> AbstractAsyncContextManager[ToolServers]:
    """Yield the tool servers; the owner is told of one that stays away, and of tools that change."""
    stands = partial(tell_of_tool_server, home.notices, home.store, home.now)
    remember = partial(as_known, home.notices, home.store, home.now)
    return open_servers(servers, home.clock.now, home.store.count, stands, remember)


@asynccontextmanager
async def _open_channels(home: OpenHome, environ: Mapping[str, str], *, has_bots: bool) -> AsyncIterator[Channels]:
    """Yield the accounts, only terminals unless it *has_bots*; loaded adapters are closed afterwards."""
    config, store, share = home.config, home.store, home.share
    terminals = terminals_of(config)
    bots = web_accounts(config) if has_bots else []
    if has_bots and not share.is_standby:
        bots = [*bot_accounts(config, environ, store.count, store, share.may_listen), *bots]
    keys = [*((terminal.channel, terminal.account) for terminal in terminals.values()), *(bot.key for bot in bots)]
    inner: dict[AccountKey, Adapter] = {
        (SUBAGENT, agent): ResultChannel(agent, home.entrance.enter, home.clock.now) for agent in terminals
    }
    adapters = Adapters(keys, inner)
    try:
        async with Presence(adapters.loaded, reaction_of(config)) as presence:
            yield Channels(terminals, bots, adapters, presence)
    finally:
        for adapter in adapters.loaded.values():
            with suppress(ChannelError):  # of a package, and logged there
                await adapter.close()


@contextmanager
def _open_sessions(home: OpenHome, checkpoint: Checkpoint) -> Iterator[Sessions]:
    """Yield the transcripts, which are written on threads of their own."""
    settings = turn_settings(home.config)
    folders = {AgentId(name): home.files.agent(name).sessions for name in home.config.agents}
    marks = SessionMarks(home.store, home.files.removed, partial(tell_of_transcript, home.notices, home.store))

    def is_alone(key: SessionKey) -> bool:
        return settings.is_alone(session_access(key).session_type)

    with closing(Threads("transcripts", TRANSCRIPT_THREADS)) as threads:
        yield Sessions(folders, threads, checkpoint, home.clock.now, marks, is_alone)


@contextmanager
def _journal(home: Home) -> Iterator[WorkJournal]:
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(
                WorkJournal.open(home.work_journal, has_crashed=has_crashed(home.crash_report))
            )
        except OSError as exc:
            raise disk_trouble(home.work_journal, exc) from exc
        yield journal
