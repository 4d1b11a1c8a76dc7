"""Composes the parts of a gateway that depend on several others, one per function."""

from functools import partial

import structlog

from gateway.admission.internal_channels import HELPER
from gateway.admission.policy import Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import SessionKey, route, session_access
from gateway.agent.models.choose import provider_faults
from gateway.agent.tools.loading import tool_faults
from gateway.app.agents import (
    bounds_of,
    punctuality_of,
    rhythms,
    turn_settings,
)
from gateway.app.channels import TERMINAL
from gateway.app.files import enclosures_of, intake_of
from gateway.app.metering import timed
from gateway.app.resources import Resources
from gateway.automation.heartbeat_runner import HeartbeatResources, Heartbeats
from gateway.automation.job_runner import JobRunner, OwnerContact
from gateway.automation.subagent_results import ResultChannel
from gateway.automation.subagents import Subagents
from gateway.commands.families import CommandResources
from gateway.commands.loading import load_commands
from gateway.commands.offers import Offers
from gateway.commands.registry import Commands
from gateway.commands.session import ENDS, STOP
from gateway.config import Config
from gateway.control.operator import LocalOperator
from gateway.delivery.direct_notices import DirectNotices
from gateway.delivery.owner_chat import OwnerChats
from gateway.delivery.owner_notices import Notices
from gateway.delivery.rendering import Rendering
from gateway.delivery.retry_policy import Pacing
from gateway.delivery.sender import Delivery
from gateway.hooks import Hooks, hook_faults, hooks_of
from gateway.inbound.backlog import Backlog
from gateway.inbound.outcomes import Outcomes
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.receive import Reception
from gateway.inbound.session_settings import Choices
from gateway.plugins import CHANNELS, clashes
from gateway.runtime.lanes import Lanes
from gateway.schedule.jobs import JobSchedule
from gateway.sessions.compaction import Compaction
from gateway.sessions.flush import Flush
from gateway.sessions.lifecycle import Lifecycle
from gateway.sessions.rest_flush import RestFlush
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.turns.planning import Planner
from gateway.turns.turn import Offer, Turns, no_offer, untold
from gateway.turns.worker import Item
from gateway.web.page_mirror import PageMirror
from workspaces.access import AgentId

log = structlog.get_logger()


def plugin_faults(config: Config) -> tuple[str, ...]:
    """Return a sentence for each plug-in that cannot be used; commands and configured accounts tell of their own."""
    providers = {model.provider for model in config.models.values()}
    return (*clashes(CHANNELS), *provider_faults(providers), *tool_faults(), *hook_faults())


def job_runner_of(resources: Resources, owner_chats: OwnerChats, notices: Notices) -> JobRunner:
    """Compose the job runner."""
    job_schedule = JobSchedule(resources.store.jobs, punctuality_of(resources.config), resources.now)
    return JobRunner(
        job_schedule, resources.store, resources.agents, OwnerContact(owner_chats.of, notices.tell), resources.clock
    )


def delivery_of(resources: Resources, notices: Notices) -> Delivery:
    """Compose the sender of replies."""
    rendering = Rendering(resources.config.limits.answer_chars, count=resources.count, journal=resources.journal)
    pacing, outbox = Pacing(resources.clock), resources.store.outbox
    delivery = Delivery(resources.tasks, outbox, resources.adapters, notices.dead_letter, pacing, rendering)
    delivery.enclosures = enclosures_of(resources)
    notices.wake = delivery.wake
    return delivery


def direct_notices_of(resources: Resources, owner_chats: OwnerChats) -> DirectNotices:
    """Put together what tells chats, by their bots, that the state cannot be written."""
    bots = frozenset((bot.channel, name) for name, bot in resources.config.channels.bots())
    owner = partial(owner_chats.known, AgentId(resources.config.default_agent))
    return DirectNotices(resources.adapters.of, bots, owner, resources.clock)


def heartbeats_of(resources: Resources, owner_chats: OwnerChats, queueing: Queueing, delivery: Delivery) -> Heartbeats:
    """Compose the heartbeat runner."""
    around = HeartbeatResources(
        resources.agents,
        rhythms(resources.config, resources.zone.zone),
        resources.sessions,
        resources.store,
        resources.clock,
        owner_chats.of,
        queueing.is_running,
    )
    return Heartbeats(around, delivery.wake)


def open_to_helpers(
    resources: Resources, subagents: Subagents, reception: Reception, lanes: Lanes[SessionKey, Item]
) -> None:
    """Connect subagents: tasks to their lanes, and results to the sessions that requested them."""
    subagents.enter = reception.enter
    subagents.wake = lambda key: lanes.wake(lambda other: other == key)
    for agent in resources.agents:
        resources.adapters.loaded[HELPER, agent] = ResultChannel(agent, reception.enter, resources.clock.now)


def follow_on_pages(resources: Resources, outcomes: Outcomes) -> None:
    """Make each agent's page show the owner's conversation on other channels."""
    for agent in resources.agents if resources.config.web.enabled else ():
        elsewhere = PageMirror(agent, resources.routes, resources.adapters.loaded, resources.clock.now)
        elsewhere.begin(resources.sessions)
        outcomes.listeners.append(elsewhere.committed)


def planner_of(resources: Resources, operator: LocalOperator, lifecycle: Lifecycle, subagents: Subagents) -> Planner:
    """Compose the planner of the agents' turns."""
    settings = turn_settings(resources.config)
    compaction = Compaction(
        settings.compact, Flush(settings.flush, resources.now), lifecycle, resources.count, resources.now
    )
    hooks = Hooks(hooks_of(resources.home), resources.count, resources.tasks)
    lifecycle.hooks = operator.delivery.hooks = compaction.hooks = compaction.flush.hooks = hooks
    enclosures, servers = operator.delivery.enclosures, resources.tool_servers
    resources.sessions.is_alone = lambda key: settings.is_alone(session_access(key).session_type)
    planner = Planner(settings, hooks, operator.changes, compaction, resources.now, enclosures, subagents, servers)
    lifecycle.listeners.append(RestFlush(compaction.flush, planner.between_turns, resources.zone.zone))
    return planner


def commands_of(
    resources: Resources,
    operator: LocalOperator,
    planner: Planner,
    lifecycle: Lifecycle,
    queueing: Queueing,
    choices: Choices,
) -> Commands:
    """Compose the chat commands."""
    pairing, silences = operator.admission.pairing, resources.store.silences
    parts = CommandResources(
        resources.agents,
        resources.sessions,
        operator.brief,
        planner,
        lifecycle,
        pairing,
        silences,
        queueing,
        choices,
        operator.health.helpers,
        operator.heartbeats,
        operator.job_runner,
        Rates(ENDS / 60, ENDS, resources.now),
        resources.store.purge,
    )
    loaded = load_commands(parts)
    operator.health.plugin_faults += tuple(loaded.faults)
    for fault in loaded.faults:
        log.error("a plug-in cannot be used", detail=fault)
    return Commands(loaded.commands, resources.routes.policy, planner.hooks)


def backlog_of(
    resources: Resources,
    commands: Commands,
    queueing: Queueing,
    subagents: Subagents,
    lanes: Lanes[SessionKey, Item],
    *,
    has_channels: bool,
) -> Backlog:
    """Compose the limit of messages in memory; `/stop` cancels the turn that runs before it, and its subagents."""

    def key_of(row: InboxRow) -> SessionKey | None:
        is_ours = has_channels or row.message.address.channel == TERMINAL
        return route(row.message, resources.routes).key if is_ours else None

    waiting = resources.store.inbox.waiting
    is_stop, bounds = partial(commands.gives, STOP), bounds_of(resources.config)
    return Backlog(queueing, lanes, waiting, key_of, is_stop, bounds, subagents.cancel_all)


def offer_of(config: Config, policy: Policy) -> Offer:
    """Return the source of answers' buttons, if configured."""
    return Offers(policy) if config.memory.undo_buttons else no_offer


def turns_of(
    resources: Resources,
    operator: LocalOperator,
    planner: Planner,
    commands: Commands,
    queueing: Queueing,
    choices: Choices,
) -> Turns:
    """Compose the answering of messages: by commands first, then by the agents' models."""

    def committed(row: InboxRow, replies: list[OutboxRow]) -> None:
        operator.outcomes.tell(row, replies)
        operator.delivery.wake(replies)
        operator.admission.neighbours.committed(row, replies)

    return Turns(
        resources.agents,
        resources.sessions,
        resources.store,
        resources.routes,
        resources.presence,
        planner,
        outcome=timed(committed, resources.meter, resources.clock),
        shortcut=commands,
        take_in=intake_of(resources, operator.delivery.wake),
        queueing=queueing,
        voice=choices.voice,
        offer=offer_of(resources.config, resources.routes.policy),
        unstored=operator.delivery.direct.kept if operator.delivery.direct else untold,
    )
