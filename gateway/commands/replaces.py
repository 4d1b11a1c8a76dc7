"""`/replaces`: says of a note of `MEMORY.md` that the one that an answer saved holds instead, or that both hold.

Nothing is removed: the older line gets a note of the day and of the newer line. No state is kept between the buttons
and their press; the mark names the answer, and the older line is found again by rule.
"""

import re
from pathlib import PurePosixPath

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.undo import writing_of
from gateway.errors import ToolError
from workspaces.history import FileWriting
from workspaces.memory.text.known_lines import KnownLine, known_line
from workspaces.revert import passages
from workspaces.sections import mark_replaced, memory_file

_ASKED = re.compile(r"(?P<mark>[0-9a-f]{12})(?P<no>\s+no)?")
_BULLET = re.compile(r"\A\s*+[-*+]\s++")


def replaces_commands() -> list[Command]:
    told = "mark the older note that my answer's note replaces; with `no` both hold; its buttons send this"
    return [Command("replaces", "<mark> [no]", told, Who.MAIN, False, _replaces)]


async def _replaces(call: CommandCall) -> str:
    asked = _ASKED.fullmatch(call.arguments)
    if asked is None:
        raise ToolError("Press a button below an answer that says that a note may replace another.")
    writing = await writing_of(call, asked["mark"], verb="undo")
    if writing.is_undone:
        raise ToolError("That note was undone, so it replaces nothing.")
    path, whole = await call.agent.run(memory_file, call.agent.workspace, call.access)
    found = await call.agent.run(_replaced, writing.files, path, whole or "", call)
    if found is None:
        return "There is no older note that it replaces any more; nothing was changed."
    old, line = found
    if asked["no"]:
        return f"Both stay as they are: `{path}#L{old.number}` and `{path}#L{line}`."
    place = f"{path}#L{line}"
    receipt = await call.run(mark_replaced, call.agent.workspace, call.access, old, place, call.now.date())
    return f"Corrected in `{receipt.path}#L{receipt.line}`."


def _replaced(
    files: tuple[FileWriting, ...], path: PurePosixPath, whole: str, call: CommandCall
) -> tuple[KnownLine, int] | None:
    """Return the older line and the number of the new one, as `MEMORY.md` is now; `None` if either is gone."""
    written = [
        _BULLET.sub("", text, count=1)
        for file in files
        if file.path == path
        for text in passages(file.before, file.after)
    ]
    lines = whole.split("\n")
    for text in written:
        first = text.split("\n")[0].strip()
        number = next((n for n, line in enumerate(lines, 1) if _BULLET.sub("", line, count=1).strip() == first), None)
        old = known_line(text, whole, call.now.date(), skip=number or 0) if number else None
        if number and old is not None and not old.is_repeated:
            return old, number
    return None
