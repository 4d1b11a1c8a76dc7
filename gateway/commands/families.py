"""This file lists the families of commands that a gateway offers, in the order in which help shows them."""

from collections.abc import Awaitable, Callable, Mapping

from gateway.agent.agent import Agent
from gateway.commands.agents import agent_commands
from gateway.commands.approvals import approval_commands
from gateway.commands.command import Command
from gateway.commands.context import context_commands
from gateway.commands.forget import forget_commands
from gateway.commands.memory import memory_commands
from gateway.commands.purge import purge_commands
from gateway.commands.remember import remember_commands
from gateway.commands.session import session_commands
from gateway.commands.status import status_commands
from gateway.commands.whoami import whoami_commands
from gateway.commands.why import why_commands
from gateway.conversation.lifecycle import Lifecycle
from gateway.conversation.planning import Planner
from gateway.conversation.sessions import Sessions
from workspaces.access import AgentId


def every_command(
    agents: Mapping[AgentId, Agent],
    sessions: Sessions,
    status: Callable[[], Awaitable[str]],
    planner: Planner,
    lifecycle: Lifecycle,
) -> list[Command]:
    """Return all commands but `/help`; *status* says, as Markdown, how the gateway is."""
    return [
        *whoami_commands(),
        *session_commands(lifecycle),
        *context_commands(planner),
        *memory_commands(),
        *remember_commands(),
        *forget_commands(),
        *purge_commands(sessions.purge),
        *why_commands(),
        *approval_commands(planner.approvals),
        *status_commands(status),
        *agent_commands(agents),
    ]
