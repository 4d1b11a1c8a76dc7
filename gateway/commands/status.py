"""This file is `/status`: how the gateway is, in short."""

from collections.abc import Awaitable, Callable

from gateway.commands.command import Call, Command, Who
from gateway.commands.context import kept_lines


def status_commands(status: Callable[[], Awaitable[str]]) -> list[Command]:
    """Return `/status`, which says what *status* says, and what of this conversation was saved and summarised."""

    async def run(call: Call) -> str:
        return "\n".join([await status(), *kept_lines(call.transcript.records, call)])

    return [Command("status", "", "says what runs, what waits and what went wrong", Who.MAIN, True, run)]
