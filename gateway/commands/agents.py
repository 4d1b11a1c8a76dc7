"""This file is `/agents`: who answers in this gateway."""

from collections.abc import Mapping

from gateway.agent.agent import Agent
from gateway.commands.command import Call, Command, Who
from workspaces.access import AgentId


def agent_commands(agents: Mapping[AgentId, Agent]) -> list[Command]:
    """Return `/agents` over *agents*."""

    async def run(call: Call) -> str:
        lines = (
            f"- `{agent.id}`, model `{agent.model.name}`{' (this chat)' if agent.id == call.agent.id else ''}"
            for agent in agents.values()
        )
        return "\n".join(["The agents of this gateway:", *lines])

    return [Command("agents", "", "lists the agents of this gateway", Who.MAIN, True, run)]
