"""`/status`, `/whoami` and `/agents`: the state of the gateway, a chat's access, and the gateway's agents."""

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.context import kept_lines
from gateway.commands.resources import CommandResources
from workspaces.access import Access, rights


def status_commands(parts: CommandResources) -> list[Command]:
    """Return `/status`: the gateway's state, and the saved notes and summary of this conversation."""

    async def run(call: CommandCall) -> str:
        return "\n".join([await parts.status(), *kept_lines(call.transcript.records, call)])

    return [Command("status", "", "show running parts, queues and problems", Who.MAIN, True, run, passes=True)]


def agent_commands(parts: CommandResources) -> list[Command]:
    """Return `/agents`: the agents, and their running subagents."""

    async def run(call: CommandCall) -> str:
        lines = (
            f"- `{agent.id}`, model `{agent.model.name}`{' (this chat)' if agent.id == call.agent.id else ''}"
            for agent in parts.agents.values()
        )
        at_work = [f"- {each}" for each in parts.helpers()]
        return "\n".join(
            ["The agents of this gateway:", *lines, *(["Running subagents:", *at_work] if at_work else [])]
        )

    told = "list the agents of this gateway and their running subagents"
    return [Command("agents", "", told, Who.MAIN, True, run, passes=True)]


def whoami_commands(_: CommandResources) -> list[Command]:
    told = "show who you are to me, and my access in this chat"
    return [Command("whoami", "", told, Who.ANYONE, True, _whoami, passes=True)]


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
