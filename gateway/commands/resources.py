"""The parts of a gateway that slash commands use."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from gateway.admission.pairing import Pairing
from gateway.admission.rate_limits import Rates
from gateway.agent.agent import Agent
from gateway.automation.heartbeat_runner import Heartbeats
from gateway.automation.job_runner import JobRunner
from gateway.automation.subagents import RunningSubagent
from gateway.delivery.group_requests import GroupRequests
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.session_settings import Choices
from gateway.sessions.lifecycle import Lifecycle
from gateway.stores.admission import Overheard, Silences
from gateway.transcripts.store import Sessions
from gateway.turns.planning import Planner
from workspaces.access import AgentId
from workspaces.redact import Redaction


class CommandResources(Struct, frozen=True):
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
    overheard: Overheard
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
