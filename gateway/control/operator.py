"""The operator of the gateway in this process."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial

from adapters.channel import Address
from adapters.terminal import OWNER
from gateway.admission.routing import SessionKey
from gateway.admission.sign_in import SignIns
from gateway.agent.agent import Agent
from gateway.agent.cut_files import MEND, describe_cut_files
from gateway.agent.mcp.servers import ToolServers
from gateway.agent.models.paid import AgentBudget
from gateway.approvals.approvals import Approvals
from gateway.automation.heartbeat_runner import Heartbeats
from gateway.automation.heartbeat_state import HeartbeatReport
from gateway.automation.job_runner import JobRunner
from gateway.control.admission import AdmissionOperator
from gateway.control.admission_wire import ClaimOrder, PairOrder, RouteOrder, SilencesOrder
from gateway.control.approvals import answer_approvals
from gateway.control.browsers import BrowserAnswer, BrowserOrder, answer_browsers
from gateway.control.chat import ChatOperator
from gateway.control.cron import answer_cron, jobs_status
from gateway.control.cron_wire import CronAnswer, CronOrder
from gateway.control.exam import answer_exam
from gateway.control.exam_wire import ExamOrder, ExamReport
from gateway.control.health import Health
from gateway.control.history import answer_history
from gateway.control.operator_api import OnReply, OnSign, Progress, ignore_sign
from gateway.control.order import Answer, Answers, Order
from gateway.control.origin import memory_source
from gateway.control.probe_wire import ProbeAnswer, ProbeOrder
from gateway.control.quarantine import QuarantineOperator
from gateway.control.sessions import ConversationList, answer_sessions
from gateway.control.spending import spending_of
from gateway.control.status_text import brief
from gateway.control.status_wire import (
    AgentStatus,
    ChannelStatus,
    HeartbeatStatus,
    MemoryOrder,
    MemoryStatus,
    Status,
    StatusOrder,
    UnsureStatus,
    disabled_line,
)
from gateway.control.tools import MemoryTools
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.control.wire import (
    ApprovalAnswer,
    ApprovalOrder,
    ChatOrder,
    CommandsOrder,
    HistoryAnswer,
    HistoryOrder,
    IndexOrder,
    MemorySearchAnswer,
    MemorySource,
    OriginOrder,
    QuarantineAnswer,
    QuarantineOrder,
    SearchHit,
    SearchOrder,
    SessionsAnswer,
    SessionsOrder,
    UsedHit,
    Why,
    WhyOrder,
)
from gateway.errors import StoreError, StrandlineError
from gateway.inbound.overflow import Depth
from gateway.runtime.clock import utc_now
from gateway.settings.zone import OwnerZone
from gateway.stores.losses import latest_loss
from gateway.stores.ports import Distant, Store
from gateway.stores.rows import StoreOutage
from gateway.transcripts.archive import latest_receipt
from gateway.transcripts.provenance import origin_of
from gateway.transcripts.store import Sessions
from workspaces.access import Access, AgentId, SessionType, owner_access
from workspaces.folder_entries import describe_left_out, mend
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.hits import Hit
from workspaces.memory.search import Query
from workspaces.skills import read_skills


@dataclass(frozen=True, slots=True)
class LocalOperator:
    """Executes the operator's requests with the gateway's own parts."""

    home: str
    zone: OwnerZone
    agents: Mapping[AgentId, Agent]
    default_agent: AgentId
    conversation: ChatOperator
    store: Store
    transcripts: Sessions
    health: Health
    changes: Approvals
    admission: AdmissionOperator
    sign_ins: SignIns
    heartbeats: Heartbeats
    job_runner: JobRunner
    assumed: tuple[str, ...] = ()
    """Descriptions of unset settings and the values assumed for them."""
    agent_budgets: Mapping[AgentId, AgentBudget] = field(default_factory=dict)
    """The agents' budgets: the costs of their models."""
    owner_chat: Callable[[AgentId], Awaitable[Address | None]] | None = None
    """Returns an agent's chat with its owner; if unset or unknown, the owner is at the terminal."""
    tool_servers: ToolServers = field(default_factory=ToolServers)
    probe: Callable[[ProbeOrder], Awaitable[ProbeAnswer]] | None = None
    """Asks each model and platform whether it works."""

    async def ask(self, order: Order[Answer]) -> Answer:
        """Execute *order*."""
        answer: Answer = await self.answers()[type(order)](order)
        return answer

    def answers(self) -> Answers:
        """Return the function for each kind of order."""
        return {
            StatusOrder: self._status,
            SearchOrder: self._search,
            WhyOrder: self._why,
            OriginOrder: self._origin,
            MemoryOrder: self._memory,
            HistoryOrder: self._history,
            SessionsOrder: self._sessions,
            ApprovalOrder: self._approvals,
            QuarantineOrder: self._quarantine,
            CronOrder: self._cron,
            ToolOrder: self._tools,
            ExamOrder: self._exam,
            BrowserOrder: self._browsers,
            ClaimOrder: self.admission.claim,
            PairOrder: self.admission.pair,
            ProbeOrder: self._probe,
            RouteOrder: self.admission.explain,
            SilencesOrder: self.admission.silences,
            CommandsOrder: self.conversation.commands,
        }

    async def brief(self) -> str:
        """Return the state of the gateway as a few lines of Markdown."""
        return brief(await self.ask(StatusOrder()))

    async def _status(self, _: StatusOrder) -> Status:
        """Return the state of the gateway; while the store cannot be read, only the part known without it."""
        known = await self._process_status()
        try:
            return await self._with_store(known)
        except StoreError as exc:
            outage = self.store.outage() if isinstance(self.store, Distant) else None
            outage = outage or StoreOutage(str(exc), 0)
            return replace(known, store_trouble=outage.why, store_away_s=outage.seconds)

    async def _process_status(self) -> Status:
        """Return the part of the state that this process knows by itself."""
        agents = [await self._agent_status(agent) for agent in self.agents.values()]
        return Status(
            version=self.health.version,
            home=self.home,
            ready=self.health.ready,
            standby=self.health.standby,
            uptime_s=time.monotonic() - self.health.started,
            time_zone=self.zone.name,
            time_zone_source=self.zone.source,
            agents=tuple(agents),
            channels=tuple(
                ChannelStatus(a.channel, a.account, a.state, a.detail, a.notes) for a in self.health.accounts
            ),
            loading=tuple(self.health.loading),
            inbox_waiting=sum(agent.waiting for agent in agents),
            outbox_queued=self.conversation.delivery.waiting,
            repairs=(*self.transcripts.repairs(), *self._history_repairs()),
            assumed=self.assumed,
            troubles=(*self._unusable(), *await self._broken_skills()),
            helpers=tuple(map(str, self.health.helpers())),
            waits_for=self.health.waits_for(),
        )

    async def _with_store(self, known: Status) -> Status:
        """Add the store's part. Raises StoreError."""
        report = await self.store.report()
        return replace(
            known,
            agents=tuple([await self._stored_of(agent) for agent in known.agents]),
            inbox_waiting=report.inbox_waiting,
            outbox_queued=report.outbox_queued,
            outbox_dead=report.outbox_dead,
            unsure=tuple(UnsureStatus(str(u.address), u.part, u.at, u.why) for u in report.unsure),
            reasons=report.reasons,
            approvals_waiting=report.approvals_waiting,
            quarantined=report.quarantined,
            repairs=(*await self._state_losses(), *known.repairs),
        )

    async def _stored_of(self, agent: AgentStatus) -> AgentStatus:
        name = AgentId(agent.agent)
        beat = _heartbeat(await self.heartbeats.standing(name))
        jobs = jobs_status(await self.job_runner.job_schedule.all(name))
        return replace(agent, heartbeat=beat, jobs=jobs, spending=await spending_of(self.agent_budgets.get(name)))

    def _unusable(self) -> tuple[str, ...]:
        return (
            *self.health.model_troubles,
            *disabled_line(self.health.disabled),
            *self.health.plugin_faults,
            *self.tool_servers.troubles(),
        )

    async def chat(self, order: ChatOrder, on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        """Send a message to an agent as the owner; return its name once the answer, or a notice, was delivered."""
        agent = self._agent_named(order.agent)
        await self.conversation.chat(agent.id, order.text, on_reply, on_sign)
        return agent.id

    async def _search(self, order: SearchOrder) -> MemorySearchAnswer:
        agent = self._agent_named(order.agent)
        asked = Query(order.query, as_of=order.as_of)
        query = asked if order.max_results is None else replace(asked, max_results=order.max_results)
        result = await agent.memory.search(query, _owner_access(agent.id))
        return MemorySearchAnswer(tuple(map(_search_hit, result.hits)), result.mode, result.notice, result.is_clear)

    async def _why(self, order: WhyOrder) -> Why:
        transcript = await self.transcripts.open(SessionKey(self._agent_named(order.agent).id, SessionType.MAIN))
        if question := transcript.question():
            turn_id, asked = question
            return Why(asked.text, tuple(UsedHit(**asdict(each)) for each in transcript.used_by(turn_id)))
        return Why("")

    async def _origin(self, order: OriginOrder) -> MemorySource:
        agent = self._agent_named(order.agent)
        return memory_source(await origin_of(agent, self.transcripts, order.citation, _owner_access(agent.id)))

    async def index(self, order: IndexOrder, progress: Progress) -> str:
        """Bring an agent's index up to date."""
        report = await self._agent_named(order.agent).memory.sync(progress, retry=True)
        return (
            f"{report.changed:,} files read, {report.removed:,} gone; {report.stored:,} entries stored, "
            f"{report.embedded:,} texts embedded, {report.reused:,} known before"
        )

    async def _memory(self, order: MemoryOrder) -> MemoryStatus:
        state = await self._agent_named(order.agent).memory.status()
        known = (state.entries, state.mode, state.reason, state.skipped, state.owing, state.rebuilding)
        return MemoryStatus(*known, f"{state.embedder} for {state.languages}" if state.embedder else "")

    async def _history(self, order: HistoryOrder) -> HistoryAnswer:
        agent = self._agent_named(order.agent)
        return await answer_history(agent, order, _owner_access(agent.id))

    async def _sessions(self, order: SessionsOrder) -> SessionsAnswer:
        is_of_all = order.act == "list" and order.agent is None
        asked = [*self.agents] if is_of_all else [self._agent_named(order.agent).id]
        lists = [
            ConversationList(_owner_access(agent), self.transcripts.folder(agent), self.zone.zone) for agent in asked
        ]
        return await answer_sessions(order, lists, self.transcripts.run)

    async def _approvals(self, order: ApprovalOrder) -> ApprovalAnswer:
        if order.agent is not None:
            self._agent_named(order.agent)
        return await answer_approvals(self.changes, order)

    async def _quarantine(self, order: QuarantineOrder) -> QuarantineAnswer:
        return await QuarantineOperator(
            self.store.quarantine, self.agents, self.conversation.delivery.wake, self.job_runner.hand_on
        ).answer(order)

    async def _cron(self, order: CronOrder) -> CronAnswer:
        if order.agent is not None:
            self._agent_named(order.agent)
        return await answer_cron(self.job_runner, order, self.default_agent)

    async def _tools(self, order: ToolOrder) -> ToolAnswer:
        agent = self._agent_named(order.agent)
        known = await self.owner_chat(agent.id) if self.owner_chat else None
        owner = known or self.conversation.address(agent.id)
        clock = partial(datetime.now, self.zone.zone)
        return await MemoryTools(agent, _owner_access(agent.id), self.changes, owner, clock).answer(order)

    async def _browsers(self, order: BrowserOrder) -> BrowserAnswer:
        return await answer_browsers(self.sign_ins, order)

    async def _agent_status(self, agent: Agent) -> AgentStatus:
        depth = self.health.depths().get(agent.id, Depth())
        since_s = (utc_now() - depth.oldest).total_seconds() if depth.oldest else 0
        folder, kept = agent.workspace.folder, self.transcripts.folder(agent.id)
        receipt = await self.transcripts.run(latest_receipt, kept, _owner_access(agent.id), self.zone.zone)
        trouble = agent.history_writer.trouble
        bare = AgentStatus(agent.id, agent.model.name, None, trouble, depth.messages, max(since_s, 0), recall=receipt)
        if left_out := await agent.run(folder.left_out):
            bare = replace(bare, left_out=describe_left_out(left_out), left_out_mend=mend(folder.root, left_out))
        if agent.history_writer.cut_files is not None:
            bare = replace(
                bare, cut_files=describe_cut_files(await agent.history_writer.cut_files.look()), cut_files_mend=MEND
            )
        if not agent.memory.is_open:
            return bare
        try:
            memory = await self._memory(MemoryOrder(agent.id))
        except MemoryUnavailableError as exc:
            memory = MemoryStatus(0, "keyword", str(exc))
        return replace(bare, memory=memory)

    async def _probe(self, order: ProbeOrder) -> ProbeAnswer:
        return ProbeAnswer() if self.probe is None else await self.probe(order)

    async def _broken_skills(self) -> list[str]:
        found = [
            (agent.id, (await agent.run(read_skills, agent.workspace, _owner_access(agent.id))).broken)
            for agent in self.agents.values()
        ]
        return [f"agent {agent}: {each}" for agent, broken in found for each in broken]

    async def _state_losses(self) -> list[str]:
        loss = await latest_loss(self.store, utc_now())
        return [] if loss is None else [f"{loss.at:%Y-%m-%d %H:%MZ}: {loss.said}"]

    def _history_repairs(self) -> Iterator[str]:
        for agent in self.agents.values():
            for repair in agent.history_writer.repairs():
                yield f"agent {agent.id}: {repair}"

    async def _exam(self, order: ExamOrder) -> ExamReport:
        return await answer_exam(self._agent_named, self.transcripts.folder, order)

    def _agent_named(self, name: str | None) -> Agent:
        found = self.agents.get(AgentId(name) if name is not None else self.default_agent)
        if found is None and self.health.standby:
            raise StrandlineError("this gateway is on standby; ask the gateway that has the agent")
        if found is None:
            raise StrandlineError(f"there is no agent {name!r}; the agents are: {', '.join(self.agents)}")
        return found


def _owner_access(agent: AgentId) -> Access:
    """Return the access of the owner, who works at this machine's command line."""
    return owner_access(agent, f"terminal:{OWNER.id}")


def _heartbeat(stands: HeartbeatReport) -> HeartbeatStatus:
    return HeartbeatStatus(
        stands.state,
        stands.items,
        stands.ran,
        stands.outcome,
        stands.next_look,
        stands.failures,
        stands.faults,
    )


def _search_hit(hit: Hit) -> SearchHit:
    return SearchHit(hit.path, hit.start_line, hit.end_line, round(hit.score, 4), hit.snippet, hit.citation, hit.mark)
