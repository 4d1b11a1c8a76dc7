"""`/status`: the state of the gateway, in short."""

from collections.abc import Awaitable, Callable

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.context import kept_lines


def status_commands(status: Callable[[], Awaitable[str]]) -> list[Command]:
    """Return `/status`: the result of *status*, and the saved notes and summary of this conversation."""

    async def run(call: CommandCall) -> str:
        return "\n".join([await status(), *kept_lines(call.transcript.records, call)])

    return [Command("status", "", "show running parts, queues and problems", Who.MAIN, True, run)]
