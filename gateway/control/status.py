"""Operator requests about the state of the gateway and of its agents."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, structs

from gateway.admission.policy import Policy
from gateway.agent.agent import Agent
from gateway.agent.budget import OTHERS_TOKENS_A_DAY, Budget, CostCause, total_spend
from gateway.agent.cut_files import MEND, describe_cut_files
from gateway.agent.models.paid import AgentBudget
from gateway.automation.heartbeat_runner import Heartbeats
from gateway.automation.job_runner import JobRunner
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.cron import jobs_status
from gateway.control.health import Health
from gateway.control.status_text import brief
from gateway.control.status_wire import (
    AgentStatus,
    ChannelStatus,
    MemoryStatus,
    SpendingStatus,
    Status,
    StatusOrder,
    UnsureStatus,
    disabled_line,
)
from gateway.control.unmet_owners import unmet_owners
from gateway.delivery.sender import Delivery
from gateway.errors import StoreError
from gateway.inbound.overflow import Depth
from gateway.runtime.clock import utc_now
from gateway.settings.zone import OwnerZone
from gateway.stores.losses import latest_loss
from gateway.stores.ports import Distant, Store
from gateway.stores.rows import StoreOutage
from gateway.stores.spending import NANOS, Spend
from gateway.transcripts.archive import latest_receipt
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId
from workspaces.folder_entries import describe_left_out, mend
from workspaces.memory.client import MemoryUnavailableError
from workspaces.skills import read_skills

STORE_ANSWERS_S = 2.0
"""Seconds that a report waits for a store on another machine; our choice."""
MEMORY_ANSWERS_S = 2.0
"""The same for the indexes: less than their own deadline, as a person waits. Our choice."""


class AgentReports(Struct, frozen=True):
    """Describes the state of one agent."""

    transcripts: Sessions
    zone: OwnerZone
    depths: Callable[[], Mapping[AgentId, Depth]]
    heartbeats: Heartbeats
    job_runner: JobRunner
    budgets: Mapping[AgentId, AgentBudget]
    memory_answers_s: float = MEMORY_ANSWERS_S

    async def of(self, agent: Agent) -> AgentStatus:
        """Return the part of its state that this process knows without the store."""
        depth = self.depths().get(agent.id, Depth())
        since_s = (utc_now() - depth.oldest).total_seconds() if depth.oldest else 0
        folder, kept = agent.workspace.folder, self.transcripts.folder(agent.id)
        receipt = await self.transcripts.run(latest_receipt, kept, terminal_access(agent.id), self.zone.zone)
        trouble = agent.history_writer.trouble
        bare = AgentStatus(agent.id, agent.model.name, None, trouble, depth.messages, max(since_s, 0), recall=receipt)
        if left_out := await agent.run(folder.left_out):
            bare = structs.replace(
                bare, left_out=describe_left_out(left_out), left_out_mend=mend(folder.root, left_out)
            )
        if agent.history_writer.cut_files is not None:
            bare = structs.replace(
                bare, cut_files=describe_cut_files(await agent.history_writer.cut_files.look()), cut_files_mend=MEND
            )
        if not agent.memory.is_open:
            return bare
        try:
            async with asyncio.timeout(self.memory_answers_s):
                memory = await memory_status(agent)
        except (MemoryUnavailableError, TimeoutError) as exc:
            memory = MemoryStatus(0, "keyword", away=str(exc) or f"no answer within {self.memory_answers_s:g} s")
        return structs.replace(bare, memory=memory)

    async def with_store(self, known: AgentStatus) -> AgentStatus:
        """Add the store's part. Raises StoreError."""
        name = AgentId(known.agent)
        beat = await self.heartbeats.standing(name)
        ran, soon = (at and at.astimezone(self.zone.zone) for at in (beat.last_run, beat.next_look))
        beat = structs.replace(beat, last_run=ran, next_look=soon)
        jobs = jobs_status(await self.job_runner.job_schedule.all(name), self.zone.zone)
        return structs.replace(known, heartbeat=beat, jobs=jobs, spending=await spending_of(self.budgets.get(name)))


class StatusOperator(Struct, frozen=True):
    """Describes the state of the gateway."""

    agents: AgentDirectory
    health: Health
    reports: AgentReports
    store: Store
    delivery: Delivery
    policy: Policy
    store_answers_s: float = STORE_ANSWERS_S

    async def status(self, _: StatusOrder) -> Status:
        """Return the state of the gateway; while the store cannot be read, only the part known without it."""
        known = await self._process_status()
        distant = self.store if isinstance(self.store, Distant) else None
        try:
            async with asyncio.timeout(self.store_answers_s if distant else None):
                return await self._with_store(known)
        except (StoreError, TimeoutError) as exc:
            outage = (distant.outage() if distant else None) or StoreOutage(str(exc) or "it does not answer", 0)
            return structs.replace(known, store_trouble=outage.why, store_away_s=outage.seconds)

    async def brief(self) -> str:
        """Return the state of the gateway as a few lines of Markdown."""
        return brief(await self.status(StatusOrder()))

    async def _process_status(self) -> Status:
        """Return the part of the state that this process knows by itself."""
        health, zone = self.health, self.reports.zone
        agents = await asyncio.gather(*map(self.reports.of, self.agents))
        return Status(
            version=health.version,
            home=health.home,
            ready=health.ready,
            standby=health.standby,
            uptime_s=time.monotonic() - health.started,
            time_zone=zone.name,
            time_zone_source=zone.source,
            agents=tuple(agents),
            channels=tuple(ChannelStatus(a.channel, a.account, a.state, a.detail, a.notes) for a in health.accounts),
            loading=tuple(health.loading),
            inbox_waiting=sum(agent.waiting for agent in agents),
            outbox_queued=self.delivery.waiting,
            repairs=(*self.reports.transcripts.repairs(), *self._history_repairs()),
            assumed=health.assumed,
            troubles=(*self._unusable(), *await self._broken_skills()),
            helpers=tuple(map(str, health.helpers())),
            waits_for=health.waits_for(),
        )

    async def _with_store(self, known: Status) -> Status:
        """Add the store's part. Raises StoreError."""
        report = await self.store.report()
        return structs.replace(
            known,
            agents=tuple([await self.reports.with_store(agent) for agent in known.agents]),
            inbox_waiting=report.inbox_waiting,
            outbox_queued=report.outbox_queued,
            outbox_dead=report.outbox_dead,
            unsure=tuple(
                UnsureStatus(str(u.address), u.part, u.at.astimezone(self.reports.zone.zone), u.why)
                for u in report.unsure
            ),
            reasons=report.reasons,
            approvals_waiting=report.approvals_waiting,
            quarantined=report.quarantined,
            repairs=(*await self._state_losses(), *known.repairs),
            troubles=(*known.troubles, *await unmet_owners(self.store, self.policy)),
        )

    def _unusable(self) -> Iterator[str]:
        health = self.health
        yield from (*health.model_troubles, *disabled_line(health.disabled), *health.plugin_faults)
        yield from (*health.tool_troubles(), *health.backup_troubles)

    async def _broken_skills(self) -> list[str]:
        found = [
            (agent.id, (await agent.run(read_skills, agent.workspace, terminal_access(agent.id))).broken)
            for agent in self.agents
        ]
        return [f"agent {agent}: {each}" for agent, broken in found for each in broken]

    async def _state_losses(self) -> list[str]:
        loss = await latest_loss(self.store, utc_now())
        return [] if loss is None else [f"{loss.at.astimezone(self.reports.zone.zone):%Y-%m-%d %H:%M}: {loss.said}"]

    def _history_repairs(self) -> Iterator[str]:
        for agent in self.agents:
            for repair in agent.history_writer.repairs():
                yield f"agent {agent.id}: {repair}"


async def spending_of(agent_budget: AgentBudget | None) -> tuple[SpendingStatus, ...]:
    """Return today's spending from *agent_budget*. Raises StoreError."""
    if agent_budget is None:
        return ()
    spent = await agent_budget.spent()
    rows = [_row("all", total_spend(spent), agent_budget.budgets)]
    rows += [_row(cause, spent.get(cause, Spend()), agent_budget.budgets.of(cause)) for cause in CostCause]
    unspent = (SpendingStatus(row.cause, 0, 0.0, 0, limit) for row in rows for limit in (None, OTHERS_TOKENS_A_DAY))
    return tuple(row for row in rows if row not in {*unspent})


def _row(cause: str, spend: Spend, budget: Budget) -> SpendingStatus:
    money = spend.nanos / NANOS
    return SpendingStatus(cause, spend.tokens, money, spend.unpriced_tokens, budget.tokens_a_day, budget.money_a_day)


async def memory_status(agent: Agent) -> MemoryStatus:
    """Return the state of the index of *agent*. Raises MemoryUnavailableError."""
    state = await agent.memory.status()
    known = (state.entries, state.mode, state.reason, state.skipped, state.owing, state.rebuilding)
    embedder = f"{state.embedder} for {state.languages}" if state.embedder else ""
    return MemoryStatus(*known, embedder, state.indexing, held=state.held)
