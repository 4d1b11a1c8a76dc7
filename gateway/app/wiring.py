"""Composes the parts of a gateway that depend on several others, one per function."""

from functools import partial

from gateway.admission.internal_channels import HELPER
from gateway.admission.policy import Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Routes, SessionKey, route, session_access
from gateway.app.agents import (
    bounds_of,
    punctuality_of,
    rhythms,
    turn_settings,
)
from gateway.app.channels import TERMINAL
from gateway.app.files import enclosures_of, intake_of
from gateway.app.metering import timed
from gateway.app.resources import Ground
from gateway.automation.heartbeat_runner import Heartbeats, Surroundings
from gateway.automation.job_runner import Ticker, Ways
from gateway.automation.subagent_results import ResultChannel
from gateway.automation.subagents import Subagents
from gateway.commands.families import Parts, every_command
from gateway.commands.offers import Offers
from gateway.commands.registry import Commands
from gateway.commands.session import ENDS
from gateway.commands.stop import STOP
from gateway.config import Config
from gateway.control.operator import LocalDesk
from gateway.delivery.direct_notices import DirectNotices
from gateway.delivery.owner_chat import OwnerChats
from gateway.delivery.owner_notices import Notices
from gateway.delivery.rendering import Rendering
from gateway.delivery.retry_policy import Pacing
from gateway.delivery.sender import Delivery
from gateway.hooks import Hooks, hooks_of
from gateway.inbound.backlog import Backlog
from gateway.inbound.outcomes import Outcomes
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.receive import Reception
from gateway.inbound.session_settings import Choices
from gateway.runtime.lanes import Lanes
from gateway.schedule.jobs import Timetable
from gateway.sessions.compaction import Compaction
from gateway.sessions.flush import Flush
from gateway.sessions.lifecycle import Lifecycle
from gateway.sessions.rest_flush import RestFlush
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.turns.planning import Planner
from gateway.turns.turn import Offer, Turns, no_offer, untold
from gateway.turns.worker import Item
from gateway.web.page_mirror import Elsewhere
from workspaces.access import AgentId


def ticker_of(ground: Ground, owner_chats: OwnerChats, notices: Notices) -> Ticker:
    """Compose the job runner."""
    timetable = Timetable(ground.store.jobs, punctuality_of(ground.config), ground.now)
    return Ticker(timetable, ground.store, ground.agents, Ways(owner_chats.of, notices.tell), ground.clock)


def delivery_of(ground: Ground, notices: Notices) -> Delivery:
    """Compose the sender of replies."""
    rendering = Rendering(ground.config.limits.answer_chars, count=ground.count, journal=ground.journal)
    pacing, outbox = Pacing(ground.clock), ground.store.outbox
    delivery = Delivery(ground.tasks, outbox, ground.adapters, notices.dead_letter, pacing, rendering)
    delivery.enclosures = enclosures_of(ground)
    notices.wake = delivery.wake
    return delivery


def direct_notices_of(ground: Ground, owner_chats: OwnerChats) -> DirectNotices:
    """Put together what tells chats, by their bots, that the state cannot be written."""
    bots = frozenset((bot.channel, name) for name, bot in ground.config.channels.bots())
    owner = partial(owner_chats.known, AgentId(ground.config.default_agent))
    return DirectNotices(ground.adapters.of, bots, owner, ground.clock)


def heartbeats_of(ground: Ground, owner_chats: OwnerChats, queueing: Queueing, delivery: Delivery) -> Heartbeats:
    """Compose the heartbeat runner."""
    around = Surroundings(
        ground.agents,
        rhythms(ground.config, ground.zone.zone),
        ground.sessions,
        ground.store,
        ground.clock,
        owner_chats.of,
        queueing.is_running,
    )
    return Heartbeats(around, delivery.wake)


def open_to_helpers(ground: Ground, subagents: Subagents, reception: Reception, lanes: Lanes[SessionKey, Item]) -> None:
    """Connect subagents: tasks to their lanes, and results to the sessions that requested them."""
    subagents.enter = reception.enter
    subagents.wake = lambda key: lanes.wake(lambda other: other == key)
    for agent in ground.agents:
        ground.adapters.loaded[HELPER, agent] = ResultChannel(agent, reception.enter, ground.clock.now)


def follow_on_pages(ground: Ground, outcomes: Outcomes) -> None:
    """Make each agent's page show the owner's conversation on other channels."""
    for agent in ground.agents if ground.config.web.enabled else ():
        elsewhere = Elsewhere(agent, ground.routes, ground.adapters.loaded, ground.clock.now)
        elsewhere.begin(ground.sessions)
        outcomes.listeners.append(elsewhere.committed)


def planner_of(ground: Ground, desk: LocalDesk, lifecycle: Lifecycle, subagents: Subagents) -> Planner:
    """Compose the planner of the agents' turns."""
    settings = turn_settings(ground.config)
    compaction = Compaction(settings.compact, Flush(settings.flush, ground.now), lifecycle, ground.count, ground.now)
    hooks = Hooks(hooks_of(ground.home), ground.count, ground.tasks)
    lifecycle.hooks = desk.delivery.hooks = compaction.hooks = compaction.flush.hooks = hooks
    enclosures, servers = desk.delivery.enclosures, ground.tool_servers
    ground.sessions.is_alone = lambda key: settings.is_alone(session_access(key).session_type)
    planner = Planner(settings, hooks, desk.changes, compaction, ground.now, enclosures, subagents, servers)
    lifecycle.listeners.append(RestFlush(compaction.flush, planner.between_turns, ground.zone.zone))
    return planner


def commands_of(
    ground: Ground, desk: LocalDesk, planner: Planner, lifecycle: Lifecycle, queueing: Queueing, choices: Choices
) -> Commands:
    """Compose the chat commands."""
    pairing, silences = desk.door.pairing, ground.store.silences
    parts = Parts(
        ground.agents,
        ground.sessions,
        desk.brief,
        planner,
        lifecycle,
        pairing,
        silences,
        queueing,
        choices,
        desk.health.helpers,
        desk.heartbeats,
        desk.ticker,
        Rates(ENDS / 60, ENDS, ground.now),
        ground.store.purge,
    )
    return Commands(every_command(parts), ground.routes.policy, planner.hooks)


def backlog_of(ground: Ground, queueing: Queueing, lanes: Lanes[SessionKey, Item], *, has_channels: bool) -> Backlog:
    """Compose the limit of messages in memory."""

    def key_of(row: InboxRow) -> SessionKey | None:
        is_ours = has_channels or row.message.address.channel == TERMINAL
        return route(row.message, ground.routes).key if is_ours else None

    waiting = ground.store.inbox.waiting
    return Backlog(queueing.queues, lanes.submit, waiting, key_of, bounds_of(ground.config))


def is_stop(routes: Routes, commands: Commands, row: InboxRow) -> bool:
    """Return whether the message of *row* cancels the turn that runs before it."""
    return commands.gives(STOP, row.message, route(row.message, routes).access)


def offer_of(config: Config, policy: Policy) -> Offer:
    """Return the source of answers' buttons, if configured."""
    return Offers(policy) if config.memory.undo_buttons else no_offer


def turns_of(
    ground: Ground, desk: LocalDesk, planner: Planner, commands: Commands, queueing: Queueing, choices: Choices
) -> Turns:
    """Compose the answering of messages: by commands first, then by the agents' models."""

    def committed(row: InboxRow, replies: list[OutboxRow]) -> None:
        desk.outcomes.tell(row, replies)
        desk.delivery.wake(replies)
        desk.door.neighbours.committed(row, replies)

    return Turns(
        ground.agents,
        ground.sessions,
        ground.store,
        ground.routes,
        ground.presence,
        planner,
        outcome=timed(committed, ground.meter, ground.clock),
        shortcut=commands,
        take_in=intake_of(ground, desk.delivery.wake),
        queueing=queueing,
        voice=choices.voice,
        offer=offer_of(ground.config, ground.routes.policy),
        unstored=desk.delivery.direct.kept if desk.delivery.direct else untold,
    )
