"""Composes the operator: each kind of request, and the part that answers it."""

from gateway.app.probes import Probes
from gateway.app.settings_operator import SettingsOperator
from gateway.app.wiring import Parts
from gateway.control.activity import ActivityOperator, IndexSizes, PastFigures
from gateway.control.activity_wire import ActivityOrder
from gateway.control.admission import AdmissionOperator
from gateway.control.admission_wire import ClaimOrder, GroupOrder, PairOrder, RoomsOrder, RouteOrder, SilencesOrder
from gateway.control.approvals import ApprovalOperator
from gateway.control.browsers import BrowserOperator, BrowserOrder
from gateway.control.checkup import CheckupOperator
from gateway.control.checkup_wire import CheckupOrder
from gateway.control.cron import JobOperator
from gateway.control.cron_wire import CronOrder
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder
from gateway.control.history import HistoryOperator
from gateway.control.memory import MemoryOperator
from gateway.control.notes_wire import NotesOrder
from gateway.control.order import Answers, ShortAnswers
from gateway.control.probe_wire import ProbeOrder
from gateway.control.quarantine import QuarantineOperator
from gateway.control.quarantine_wire import QuarantineOrder
from gateway.control.sessions import SessionsOperator
from gateway.control.settings_wire import OwnerSettingsOrder
from gateway.control.status_wire import MemoryOrder, StatusOrder
from gateway.control.stream_wire import CheckOrder, CommandsOrder, IndexOrder
from gateway.control.tools import ToolOperator
from gateway.control.tools_wire import ToolOrder
from gateway.control.wire import (
    ApprovalOrder,
    HistoryOrder,
    OriginOrder,
    SearchOrder,
    SessionsOrder,
    WhyOrder,
)


def answers_of(parts: Parts) -> Answers:
    """Return the functions that answer orders in the gateway that consists of *parts*."""
    resources, home, agents = parts.resources, parts.resources.home, parts.status.agents
    memory = MemoryOperator(agents, resources.sessions, home.zone.zone)
    checkups = CheckupOperator(agents, resources.sessions, home.now)
    admission = AdmissionOperator(
        home.routes,
        home.store,
        parts.admission.pairing,
        home.zone.zone,
        parts.group_requests,
        home.known_names,
        parts.admission.claims,
    )
    activity = ActivityOperator(
        agents,
        parts.lanes,
        resources.hooks,
        resources.tool_servers,
        PastFigures(resources.sessions, resources.agent_budgets, IndexSizes(home.store, home.now)),
    )
    tools = ToolOperator(agents, parts.approvals, home.owner_chats.of, parts.conversation, home.now)
    jobs, delivery, zone = parts.job_runner, parts.delivery, home.zone.zone
    short: ShortAnswers = {
        StatusOrder: parts.status.status,
        ActivityOrder: activity.answer,
        SearchOrder: memory.search,
        WhyOrder: memory.why,
        OriginOrder: memory.origin,
        NotesOrder: memory.notes,
        MemoryOrder: memory.status,
        ExamOrder: memory.exam,
        AcceptIndexOrder: memory.accept_change,
        CheckupOrder: checkups.answer,
        HistoryOrder: HistoryOperator(agents).answer,
        SessionsOrder: SessionsOperator(agents, resources.sessions, zone).answer,
        ApprovalOrder: ApprovalOperator(agents, parts.approvals, zone).answer,
        QuarantineOrder: QuarantineOperator(
            home.store.quarantine, resources.agents, delivery.wake, jobs.hand_on, zone
        ).answer,
        CronOrder: JobOperator(agents, jobs).answer,
        ToolOrder: tools.answer,
        BrowserOrder: BrowserOperator(parts.sign_ins, zone).answer,
        ClaimOrder: admission.claim,
        PairOrder: admission.pair,
        GroupOrder: admission.group,
        RoomsOrder: admission.rooms,
        RouteOrder: admission.explain,
        SilencesOrder: admission.silences,
        ProbeOrder: Probes(home.config, resources.environ, resources.channels.adapters.loaded).probe,
        CommandsOrder: parts.conversation.commands,
        OwnerSettingsOrder: SettingsOperator(home.files).answer,
    }
    return Answers(short, {IndexOrder: memory.index, CheckOrder: checkups.check})
