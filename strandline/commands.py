"""Commands of your own: a function that returns them, registered as an entry point of `strandline.commands`."""

import inspect
from collections.abc import Awaitable, Callable

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.errors import ToolError

__all__ = ["Command", "CommandCall", "CommandResources", "ToolError", "Who", "command"]


def command(
    run: Callable[[CommandCall], Awaitable[str]], usage: str = "", who: Who = Who.MAIN, *, repeatable: bool = False
) -> Command:
    """Make a command of *run*, with its name and the first line of its docstring as help.

    Only the owner may run it, in their own direct chat, unless *who* says otherwise. Files are read with `call.access`,
    which the platform's facts decided. *run* raises ToolError with a sentence for the sender. *repeatable*: it changes
    nothing, or nothing twice, so it is run again after a crash.
    """
    help_, name = (inspect.getdoc(run) or "").partition("\n")[0].rstrip("."), getattr(run, "__name__", "")
    return Command(name, usage, help_, who, repeatable, run)
