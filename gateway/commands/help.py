"""`/help` and `/start`: the sender's commands here, from the registry itself, and how a conversation begins."""

from collections.abc import Iterator, Sequence

from gateway.commands.command import Command, CommandCall, Who
from workspaces.access import SessionType

START = "start"
"""Sent by Telegram's clients when somebody opens the chat for the first time."""
_GROUPS = {
    "Conversation": ("new", "stop", "model", "context", "why"),
    "Memory": ("remember", "forget", "memory", "undo", "correct"),
    "What was said": ("history", "promises", "checkup", "purge", "house"),
    "Long conversations": ("compact", "summarize", "reset", "queue"),
    "The agent's work": ("approve", "refuse", "cron", "heartbeat", "subagents"),
    "People": ("pair", "group", "whoami"),
    "The gateway": ("status", "agents", "help"),
    "Sent by buttons": ("fulfil", "replaces"),
}
"""Headings with their commands, five at most each; the first two are what most people need."""
_FIRST = 2
_OTHERS = "More"


def help_command(commands: Sequence[Command]) -> Command:
    """Return the command that lists those of *commands* that the sender may run; by then it is one of them."""

    async def run(call: CommandCall) -> str:
        usable = [command for command in commands if call.asker.may_run(command.who)]
        groups = list(_grouped(usable))
        shown = groups if call.arguments.strip().lower() == "all" else groups[:_FIRST]
        rest = sum(len(each) for _, each in groups) - sum(len(each) for _, each in shown)
        more = f"`/help all` lists {rest} more. " if rest else ""
        return "\n".join([*_lines(shown), f"{more}Everything else that you write goes to the agent."])

    return Command("help", "[all]", "list the commands that you can use here", Who.ANYONE, True, run, passes=True)


def start_command() -> Command:
    """Return the command that begins a conversation where no language model does."""

    async def run(call: CommandCall) -> str:
        if call.access.session_type is SessionType.MAIN and call.asker.is_owner:
            return _TO_OWNER.format(agent=call.agent.id)
        return "Hello! I am an agent: write to me, and I answer. `/help` lists what else you can do here."

    return Command(START, "", "begin: the agent introduces itself", Who.ANYONE, True, run)


def _grouped(usable: Sequence[Command]) -> Iterator[tuple[str, list[Command]]]:
    """Yield each heading with its commands; other packages' commands, and those of no group, come last, by fives."""
    by_name = {command.name: command for command in usable}
    for heading, names in _GROUPS.items():
        if found := [by_name.pop(name) for name in names if name in by_name]:
            yield heading, found
    rest = [command for name, command in by_name.items() if name != START]
    for begin in range(0, len(rest), 5):
        yield _OTHERS, rest[begin : begin + 5]


def _lines(groups: Sequence[tuple[str, Sequence[Command]]]) -> Iterator[str]:
    for heading, commands in groups:
        yield f"**{heading}**\n"
        yield from (f"- `{_usage(command)}`: {command.help}" for command in commands)
        yield ""


def _usage(command: Command) -> str:
    return f"/{command.name} {command.usage}".strip()


_TO_OWNER = (
    "Hello! I am your agent `{agent}`. I keep notes of what you tell me here; you can read and edit them, and nobody "
    "else sees them. I have no language model yet, so I find notes and quote them; `strandline connect model` gives me "
    "one, and then we can talk.\n\nWho are you, and what shall I call you? Write it so: `/remember My name is …`. "
    "`/help` lists what else you can do."
)
