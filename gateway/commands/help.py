"""`/help`: the sender's commands here, from the registry itself."""

from collections.abc import Sequence

from gateway.commands.command import Command, CommandCall, Who


def help_command(commands: Sequence[Command]) -> Command:
    """Return the command that lists those of *commands* that the sender may run; by then it is one of them."""

    async def run(call: CommandCall) -> str:
        usable = [command for command in commands if call.asker.may_run(command.who)]
        lines = [f"- `{_usage(command)}`: {command.help}" for command in usable]
        return "\n".join(["Commands here:", *lines, "", "Everything else that you write goes to the agent."])

    return Command("help", "", "list the commands that you can use here", Who.ANYONE, True, run)


def _usage(command: Command) -> str:
    return f"/{command.name} {command.usage}".strip()
