"""Every command of a gateway, by family, in the order of `/help`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.admission.pairing import Pairing
from gateway.admission.rate_limits import Rates
from gateway.agent.agent import Agent
from gateway.automation.heartbeat_runner import Heartbeats
from gateway.automation.job_runner import JobRunner
from gateway.automation.subagents import Helper
from gateway.commands.agents import agent_commands
from gateway.commands.approvals import approval_commands
from gateway.commands.command import Command
from gateway.commands.context import context_commands
from gateway.commands.cron import cron_commands
from gateway.commands.forget import forget_commands
from gateway.commands.heartbeat import heartbeat_commands
from gateway.commands.memory import memory_commands
from gateway.commands.model import model_commands
from gateway.commands.pair import pair_commands
from gateway.commands.purge import Purges, purge_commands
from gateway.commands.queue import queue_commands
from gateway.commands.remember import remember_commands
from gateway.commands.session import session_commands
from gateway.commands.status import status_commands
from gateway.commands.stop import stop_commands
from gateway.commands.undo import undo_commands
from gateway.commands.whoami import whoami_commands
from gateway.commands.why import why_commands
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.session_settings import Choices
from gateway.sessions.lifecycle import Lifecycle
from gateway.stores.admission import Silences
from gateway.transcripts.store import Sessions
from gateway.turns.planning import Planner
from workspaces.access import AgentId
from workspaces.redact import Redaction


@dataclass(frozen=True, slots=True)
class CommandResources:
    """The parts of a gateway that its commands use."""

    agents: Mapping[AgentId, Agent]
    sessions: Sessions
    status: Callable[[], Awaitable[str]]
    """Returns the state of the gateway as Markdown."""
    planner: Planner
    lifecycle: Lifecycle
    pairing: Pairing
    silences: Silences
    queueing: Queueing
    choices: Choices
    helpers: Callable[[], Sequence[Helper]]
    """Returns the running subagents."""
    heartbeats: Heartbeats
    job_runner: JobRunner
    ends: Rates
    """How often people other than the owner may end a conversation."""
    purge_state: Callable[[Redaction], Awaitable[int]]
    """Removes passages from the store's finished rows and returns how many held one."""


def every_command(parts: CommandResources) -> list[Command]:
    """Return all commands but `/help`."""
    return [
        *whoami_commands(),
        *session_commands(parts.lifecycle, parts.ends),
        *stop_commands(parts.queueing),
        *queue_commands(parts.queueing, parts.choices),
        *model_commands(parts.choices),
        *context_commands(parts.planner),
        *memory_commands(),
        *remember_commands(),
        *undo_commands(),
        *forget_commands(),
        *purge_commands(Purges(parts.sessions.purge, parts.purge_state)),
        *why_commands(parts.silences.latest),
        *cron_commands(parts.job_runner),
        *approval_commands(parts.planner.approvals),
        *pair_commands(parts.pairing),
        *heartbeat_commands(parts.heartbeats),
        *status_commands(parts.status),
        *agent_commands(parts.agents, parts.helpers),
    ]
