"""Strandline's own commands by family, as the entry points of `strandline.commands` name them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.admission.pairing import Pairing
from gateway.admission.rate_limits import Rates
from gateway.agent.agent import Agent
from gateway.automation.heartbeat_runner import Heartbeats
from gateway.automation.job_runner import JobRunner
from gateway.automation.subagents import RunningSubagent
from gateway.checkup.proposals import forget_texts
from gateway.commands.approvals import approval_commands
from gateway.commands.checkup import checkup_commands
from gateway.commands.command import Command
from gateway.commands.context import context_commands
from gateway.commands.cron import cron_commands
from gateway.commands.forget import forget_commands
from gateway.commands.fulfil import fulfil_commands
from gateway.commands.group import group_commands
from gateway.commands.heartbeat import heartbeat_commands
from gateway.commands.history import history_commands
from gateway.commands.house import house_commands
from gateway.commands.memory import memory_commands
from gateway.commands.pair import pair_commands
from gateway.commands.promises import promise_commands
from gateway.commands.purge import Purges, purge_commands
from gateway.commands.remember import remember_commands
from gateway.commands.replaces import replaces_commands
from gateway.commands.session import model_commands, queue_commands, session_commands, stop_commands
from gateway.commands.status import agent_commands, status_commands, whoami_commands
from gateway.commands.undo import undo_commands
from gateway.commands.why import why_commands
from gateway.delivery.group_requests import GroupRequests
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
    groups: GroupRequests
    silences: Silences
    queueing: Queueing
    choices: Choices
    helpers: Callable[[], Sequence[RunningSubagent]]
    """Returns the running subagents."""
    heartbeats: Heartbeats
    job_runner: JobRunner
    ends: Rates
    """How often people other than the owner may end a conversation."""
    purge_state: Callable[[Redaction], Awaitable[int]]
    """Removes passages from the store's finished rows and returns how many held one."""


def whoami(_: CommandResources) -> list[Command]:
    """Return the commands about who and where the sender is."""
    return whoami_commands()


def session(parts: CommandResources) -> list[Command]:
    """Return the commands about the conversation's beginning and end."""
    return session_commands(parts.lifecycle, parts.ends)


def stop(parts: CommandResources) -> list[Command]:
    """Return the commands about stopping an answer."""
    return stop_commands(parts.queueing)


def queue(parts: CommandResources) -> list[Command]:
    """Return the commands about messages that arrive during an answer."""
    return queue_commands(parts.queueing, parts.choices)


def model(parts: CommandResources) -> list[Command]:
    """Return the commands about the session's model, and about who may know what is said."""
    return [*model_commands(parts.choices), *house_commands(parts.choices)]


def context(parts: CommandResources) -> list[Command]:
    """Return the commands about the context window."""
    return context_commands(parts.planner)


def memory(parts: CommandResources) -> list[Command]:
    """Return the commands about searching and checking memory."""
    return [*memory_commands(), *checkup_commands(parts.sessions)]


def remember(_: CommandResources) -> list[Command]:
    """Return the commands about saving notes."""
    return remember_commands()


def undo(_: CommandResources) -> list[Command]:
    """Return the commands about undoing an answer's changes."""
    return undo_commands()


def forget(_: CommandResources) -> list[Command]:
    """Return the commands about removing notes."""
    return forget_commands()


def fulfil(parts: CommandResources) -> list[Command]:
    """Return the commands about what was asked for and not done."""
    return fulfil_commands(parts.job_runner)


def promises(parts: CommandResources) -> list[Command]:
    """Return the commands about what was promised."""
    return promise_commands(parts.job_runner, parts.planner.approvals)


def replaces(parts: CommandResources) -> list[Command]:
    """Return the commands about notes that a newer one replaces."""
    return replaces_commands(parts.sessions)


def history(_: CommandResources) -> list[Command]:
    """Return the commands about what was said over time."""
    return history_commands()


def purge(parts: CommandResources) -> list[Command]:
    """Return the commands about removing passages everywhere."""

    async def from_conversations(agent: AgentId, redaction: Redaction) -> int:
        count = await parts.sessions.purge(agent, redaction)
        await parts.sessions.run(forget_texts, parts.sessions.folder(agent).parent)
        return count

    return purge_commands(Purges(from_conversations, parts.purge_state))


def why(parts: CommandResources) -> list[Command]:
    """Return the commands about the sources of an answer."""
    return why_commands(parts.silences.latest)


def cron(parts: CommandResources) -> list[Command]:
    """Return the commands about scheduled jobs."""
    return cron_commands(parts.job_runner)


def approval(parts: CommandResources) -> list[Command]:
    """Return the commands about changes that wait."""
    return approval_commands(parts.planner)


def pair(parts: CommandResources) -> list[Command]:
    """Return the commands about people and groups that ask to be let in."""
    return [*pair_commands(parts.pairing), *group_commands(parts.groups)]


def heartbeat(parts: CommandResources) -> list[Command]:
    """Return the commands about heartbeats."""
    return heartbeat_commands(parts.heartbeats)


def status(parts: CommandResources) -> list[Command]:
    """Return the commands about the gateway's state."""
    return status_commands(parts.status)


def agent(parts: CommandResources) -> list[Command]:
    """Return the commands about agents and subagents."""
    return agent_commands(parts.agents, parts.helpers)
