"""`/agents`: the gateway's agents and running subagents."""

from collections.abc import Callable, Mapping, Sequence

from gateway.agent.agent import Agent
from gateway.automation.subagents import Helper
from gateway.commands.command import Command, CommandCall, Who
from workspaces.access import AgentId


def agent_commands(agents: Mapping[AgentId, Agent], helpers: Callable[[], Sequence[Helper]]) -> list[Command]:
    """Return `/agents` over *agents* and their current *helpers*."""

    async def run(call: CommandCall) -> str:
        lines = (
            f"- `{agent.id}`, model `{agent.model.name}`{' (this chat)' if agent.id == call.agent.id else ''}"
            for agent in agents.values()
        )
        at_work = [f"- {each}" for each in helpers()]
        return "\n".join(["The agents of this gateway:", *lines, *(["Helpers at work:", *at_work] if at_work else [])])

    return [Command("agents", "", "list the agents of this gateway and their running subagents", Who.MAIN, True, run)]
