"""`/status`, `/whoami` and `/agents`: the state of the gateway, a chat's access, and the gateway's agents."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from gateway.agent.agent import Agent
from gateway.automation.subagents import RunningSubagent
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.context import kept_lines
from workspaces.access import Access, AgentId, rights


def status_commands(status: Callable[[], Awaitable[str]]) -> list[Command]:
    """Return `/status`: the result of *status*, and the saved notes and summary of this conversation."""

    async def run(call: CommandCall) -> str:
        return "\n".join([await status(), *kept_lines(call.transcript.records, call)])

    return [Command("status", "", "show running parts, queues and problems", Who.MAIN, True, run)]


def agent_commands(agents: Mapping[AgentId, Agent], helpers: Callable[[], Sequence[RunningSubagent]]) -> list[Command]:
    """Return `/agents` over *agents* and their current *helpers*."""

    async def run(call: CommandCall) -> str:
        lines = (
            f"- `{agent.id}`, model `{agent.model.name}`{' (this chat)' if agent.id == call.agent.id else ''}"
            for agent in agents.values()
        )
        at_work = [f"- {each}" for each in helpers()]
        return "\n".join(
            ["The agents of this gateway:", *lines, *(["Running subagents:", *at_work] if at_work else [])]
        )

    return [Command("agents", "", "list the agents of this gateway and their running subagents", Who.MAIN, True, run)]


def whoami_commands() -> list[Command]:
    return [Command("whoami", "", "show who you are to me, and my access in this chat", Who.ANYONE, True, _whoami)]


async def _whoami(call: CommandCall) -> str:
    access = call.access
    owner = ", my owner" if call.asker.is_owner else ""
    return (
        f"You are `{access.principal}`{owner}. I am the agent `{access.agent}`, and to me this is a "
        f"`{access.session_type}` chat. {_describe_access(access)}"
    )


def _describe_access(access: Access) -> str:
    """Describe the access of a turn with *access*."""
    row = rights(access)
    if row.private:
        return (
            "Here I see everything that I keep: every file, all notes, all conversations. Nobody else reads this chat."
        )
    files = ", ".join(f"`{name}`" for name in sorted(row.files))
    return f"Here I see {files}, my skills and the notes of this chat: nothing private of my owner's."
