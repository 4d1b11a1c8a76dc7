"""This file is `/status`: how the gateway is, in short."""

from collections.abc import Awaitable, Callable

from gateway.commands.command import Call, Command, Who


def status_commands(status: Callable[[], Awaitable[str]]) -> list[Command]:
    """Return `/status`, which says what *status* says."""

    async def run(_: Call) -> str:
        return await status()

    return [Command("status", "", "says what runs, what waits and what went wrong", Who.MAIN, True, run)]
