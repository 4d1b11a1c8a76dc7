"""Composes the parts of a gateway: each is built when it is first asked for, from those that it needs."""

from datetime import timedelta
from functools import cached_property, partial

import structlog

from adapters.channel import InboundMessage
from adapters.terminal import CHANNEL as TERMINAL
from gateway.admission.gate import AdmissionGate
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import SessionKey, route
from gateway.admission.sign_in import SignIns
from gateway.agent.models.port import ModelRequest
from gateway.agent.receipts import ReceiptLevel
from gateway.agent.whole_memory import WholeMemory
from gateway.app.admission import gate_of, group_requests_of
from gateway.app.agents import lifecycle_settings, queue_modes, rhythms, turn_settings
from gateway.app.files import enclosures_of, intake_of
from gateway.app.health import health_of
from gateway.app.house import chat_reader, may_carry
from gateway.app.metering import count_accepted, sent_counter, time_turns
from gateway.app.resources import Resources
from gateway.app.tracing import traced
from gateway.approvals.approvals import Approvals
from gateway.automation.heartbeat_runner import HeartbeatResources, Heartbeats
from gateway.automation.job_runner import JobRunner, OwnerContact
from gateway.automation.subagents import Subagents
from gateway.commands.loading import load_commands
from gateway.commands.menu import menu_entries
from gateway.commands.offers import Offers
from gateway.commands.registry import Commands
from gateway.commands.resources import CommandResources
from gateway.commands.session import ENDS, STOP
from gateway.control.agents import AgentDirectory
from gateway.control.chat import ChatOperator
from gateway.control.health import Health
from gateway.control.status import AgentReports, StatusOperator
from gateway.delivery.dead_letters import DeadLetters
from gateway.delivery.direct_notices import DirectNotices
from gateway.delivery.group_requests import GroupRequests
from gateway.delivery.outgoing_files import Enclosures
from gateway.delivery.rendering import Rendering
from gateway.delivery.retry_policy import RetryPolicy
from gateway.delivery.sender import Delivery, DeliveryObservers
from gateway.inbound.agent_crosstalk import AgentCrosstalk, holds_marked
from gateway.inbound.backlog import Backlog
from gateway.inbound.outcomes import Outcomes
from gateway.inbound.overflow import Overflow
from gateway.inbound.queue_modes import Item, Queueing
from gateway.inbound.receive import Reception, StoreTrouble
from gateway.inbound.session_settings import Choices
from gateway.runtime.lanes import Lanes
from gateway.runtime.queues import Queues
from gateway.schedule.jobs import JobSchedule
from gateway.sessions.compaction import Compaction
from gateway.sessions.flush import Flush
from gateway.sessions.lifecycle import Lifecycle, Listener, SessionObservers
from gateway.sessions.onboarding import end_first_run
from gateway.sessions.recall_check import RecallCheck
from gateway.sessions.rest_flush import RestFlush
from gateway.sessions.session import Session
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.turns.planning import Planner
from gateway.turns.tools import TurnTools
from gateway.turns.turn import Turns
from gateway.turns.worker import LaneWork
from gateway.web.page_mirror import PageMirror
from workspaces.access import AgentId

log = structlog.get_logger()


class Parts:
    """The parts of one gateway; two of its resources lead to them: the waker of the outbox, and the entrance."""

    def __init__(self, resources: Resources, *, has_channels: bool) -> None:
        """Without channels only terminals are served."""
        self.resources = resources
        self.has_channels = has_channels
        self._home = resources.home
        self._config = resources.home.config
        self._settings = turn_settings(self._config)

    # --- queues

    @cached_property
    def choices(self) -> Choices:
        return Choices(self._home.store)

    @cached_property
    def queueing(self) -> Queueing:
        def may_pass(item: Item) -> bool:
            return isinstance(item, InboxRow) and self.commands.passes(item.message)

        of_agents = queue_modes(self._config)
        return Queueing(self._config.queue, Queues(may_pass), self.choices.mode, self._home.clock.now, of_agents)

    @cached_property
    def overflow(self) -> Overflow:
        return Overflow(self.queueing.queues, self._home.store.inbox.waiting, self._config.queue)

    @cached_property
    def subagents(self) -> Subagents:
        home, settings = self._home, self._config.subagents
        return Subagents(
            settings, self._settings.limits, self.queueing, home.store.count, home.now, home.entrance.enter
        )

    # --- delivery

    @cached_property
    def enclosures(self) -> Enclosures:
        return enclosures_of(self.resources)

    @cached_property
    def dead_letters(self) -> DeadLetters:
        return DeadLetters(self._home.store, self._home.notices, self._home.now)

    @cached_property
    def delivery(self) -> Delivery:
        resources, home = self.resources, self._home
        observers = DeliveryObservers(self.dead_letters.add, sent_counter(resources.meter), resources.hooks)
        rendering = Rendering(
            self._config.limits.answer_chars,
            count=home.store.count,
            journal=resources.journal,
            enclosures=self.enclosures,
        )
        adapters, retry_policy = resources.channels.adapters, RetryPolicy(home.clock, home.zone.zone)
        return Delivery(resources.tasks, home.store.outbox, adapters, observers, retry_policy, rendering)

    @cached_property
    def direct_notices(self) -> DirectNotices:
        """Tells chats, by their bots, that the state cannot be written."""
        bots = frozenset((bot.channel, name) for name, bot in self._config.channels.bots())
        owner = partial(self._home.owner_chats.known, AgentId(self._config.default_agent))
        return DirectNotices(self.resources.channels.adapters.of, bots, owner, self._home.clock)

    # --- unprompted work and approvals

    @cached_property
    def heartbeats(self) -> Heartbeats:
        home = self._home
        around = HeartbeatResources(
            self.resources.agents,
            rhythms(self._config, home.zone.zone),
            self.resources.sessions,
            home.store,
            home.clock,
            home.owner_chats.of,
            self.queueing.is_running,
            home.entrance.enter,
        )
        return Heartbeats(around, home.waker.wake)

    @cached_property
    def job_runner(self) -> JobRunner:
        home = self._home
        job_schedule = JobSchedule(home.store.jobs, self._config.schedule, home.now, home.store.count)
        contact = OwnerContact(home.owner_chats.of, home.notices.tell)
        took_in = home.entrance.took_in if self.has_channels else None
        return JobRunner(job_schedule, home.store, self.resources.agents, contact, home.clock, took_in)

    @cached_property
    def approvals(self) -> Approvals:
        home, patience = self._home, timedelta(days=self._config.limits.approval_days)
        return Approvals(
            self.resources.agents,
            home.store,
            lambda: home.now() + patience,
            home.waker.wake,
            self.job_runner.job_schedule,
            partial(may_carry, self._config.house),
        )

    @cached_property
    def admission(self) -> AdmissionGate:
        return gate_of(self.resources, self.group_requests)

    @cached_property
    def group_requests(self) -> GroupRequests:
        return group_requests_of(self.resources)

    @cached_property
    def crosstalk(self) -> AgentCrosstalk:
        return AgentCrosstalk(
            self._home.routes,
            self._home.store,
            self._home.clock.now,
            partial(holds_marked, self.resources.sessions),
        )

    @cached_property
    def flush(self) -> Flush:
        return Flush(self._settings.context, self._home.now, self.resources.hooks)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        home, hooks = self._home, self.resources.hooks
        zone = home.zone.zone
        listeners: list[Listener] = [
            RestFlush(self.flush, self._at_rest, zone),
            RecallCheck(zone),
            self.choices.ended,
            self.subagents.session_over,
            end_first_run,
        ]
        return Lifecycle(
            self.resources.agents,
            self.resources.sessions,
            lifecycle_settings(self._config, zone),
            home.clock,
            home.store.count,
            SessionObservers(listeners, hooks),
        )

    async def _at_rest(self, session: Session) -> ModelRequest:
        """Ask the planner, which needs the life cycle itself."""
        return await self.planner.at_rest(session)

    # --- the operator

    @cached_property
    def outcomes(self) -> Outcomes:
        """The outcomes of turns; each agent's page shows the owner's conversation on other channels."""
        mirrors = [self._mirror(agent) for agent in self.resources.agents] if self._config.web.enabled else []
        pages = [mirror.committed for mirror in mirrors]
        return Outcomes([self.heartbeats.committed, self.job_runner.settled, *pages])

    def _mirror(self, agent: AgentId) -> PageMirror:
        adapters, home = self.resources.channels.adapters.loaded, self._home
        mirror = PageMirror(agent, home.routes, adapters, home.clock.now)
        mirror.begin(self.resources.sessions)
        return mirror

    @cached_property
    def health(self) -> Health:
        return health_of(self.resources, self.overflow, self.subagents)

    @cached_property
    def status(self) -> StatusOperator:
        resources, home = self.resources, self._home
        agents = AgentDirectory(
            resources.agents, AgentId(self._config.default_agent), home.share.is_standby, self._config.agents
        )
        reports = AgentReports(
            resources.sessions,
            home.zone,
            self.overflow.depths,
            self.heartbeats,
            self.job_runner,
            resources.agent_budgets,
        )
        return StatusOperator(agents, self.health, reports, home.store, self.delivery, home.routes.policy)

    @cached_property
    def conversation(self) -> ChatOperator:
        channels = self.resources.channels
        return ChatOperator(
            channels.terminals,
            self.outcomes,
            self.delivery,
            channels.presence,
            lambda: menu_entries(self.commands.all),
            self.commands.passes_text,
        )

    @cached_property
    def sign_ins(self) -> SignIns:
        return SignIns(self._home.store, self._home.clock.now)

    # --- turns

    @cached_property
    def planner(self) -> Planner:
        home, hooks = self._home, self.resources.hooks
        compaction = Compaction(self._settings.context, self.flush, self.lifecycle, home.store.count, home.now, hooks)
        servers = self.resources.tool_servers
        tools = TurnTools(self.approvals, hooks, home.now, self.enclosures, self.subagents, servers)
        whole_memory = WholeMemory(self._config.memory.whole_tokens)
        return Planner(self._settings, hooks, tools, compaction, home.now, whole_memory)

    @cached_property
    def commands(self) -> Commands:
        store = self._home.store
        loaded = load_commands(
            CommandResources(
                self.resources.agents,
                self.resources.sessions,
                self.status.brief,
                self.planner,
                self.lifecycle,
                self.admission.pairing,
                self.group_requests,
                store.silences,
                store.overheard,
                self.queueing,
                self.choices,
                self.subagents.running,
                self.heartbeats,
                self.job_runner,
                Rates(ENDS / 60, ENDS, self._home.now),
                store.purge,
            )
        )
        self.health.report(loaded.faults)
        for fault in loaded.faults:
            log.error("a plug-in cannot be used", detail=fault)
        reader = partial(chat_reader, self._config.house)
        return Commands(loaded.commands, self._home.routes.policy, self.resources.hooks, reader)

    @cached_property
    def turns(self) -> Turns:
        """The answering of messages: by commands first, then by the agents' models."""
        resources, home = self.resources, self._home
        return Turns(
            resources.agents,
            resources.sessions,
            home.store,
            home.routes,
            self.planner,
            presence=resources.channels.presence,
            outcome=time_turns(self._committed, resources.meter, home.clock),
            postponed=self.outcomes.postpone,
            unstored=self.direct_notices.kept,
            shortcut=self.commands,
            take_in=intake_of(resources),
            queueing=self.queueing,
            voice=self.choices.voice,
            is_house=self.choices.is_house,
            chat_reader=partial(chat_reader, self._config.house),
            offer=self.offers,
            receipts=self._config.signs.receipts,
        )

    @cached_property
    def offers(self) -> Offers | None:
        tells_undone = self._config.signs.receipts is not ReceiptLevel.OFF
        return Offers(self._home.routes.policy, tells_undone) if self._config.memory.undo_buttons else None

    def _committed(self, row: InboxRow, replies: list[OutboxRow]) -> None:
        self.outcomes.tell(row, replies)
        self.delivery.wake(replies)
        self.crosstalk.committed(row, replies)

    # --- lanes

    @cached_property
    def lanes(self) -> Lanes[SessionKey, Item]:
        work = traced(LaneWork(self.turns, self.lifecycle, self.resources.journal))
        queues, on_done = self.queueing.queues, self.overflow.heed
        return Lanes(self.resources.tasks, work, self._home.clock, queues=queues, on_done=on_done)

    @cached_property
    def backlog(self) -> Backlog:
        """The limit of messages in memory; `/stop` cancels the turn that runs before it, and its subagents."""

        def key_of(row: InboxRow) -> SessionKey | None:
            is_ours = self.has_channels or row.message.address.channel == TERMINAL
            return route(row.message, self._home.routes).key if is_ours else None

        is_stop = partial(self.commands.gives, STOP)
        return Backlog(self.queueing, self.overflow, self.lanes, key_of, is_stop, self.subagents.cancel_all)

    @cached_property
    def reception(self) -> Reception:
        home, direct = self._home, self.direct_notices

        async def learn(message: InboundMessage, agent: AgentId) -> None:
            await home.owner_chats.learn(message, agent)
            await home.known_names.learn(message)

        return Reception(
            home.entrance,
            home.store,
            self.admission,
            learn,
            home.notices.exposed,
            StoreTrouble(direct.not_taken, direct.worked),
            self.resources.hooks,
        )

    def connect(self) -> None:
        """Build every part, and lead the waker and the entrance to theirs."""
        self._home.waker.lead_to(self.delivery.wake)
        self._home.entrance.lead_to(count_accepted(self.backlog.take, self.resources.meter))
