"""`/replaces`: says of a note of `MEMORY.md` that the one that an answer saved holds instead, or that both hold.

Nothing is removed: the older line gets a note of the day and of the newer line. No state is kept between the buttons
and their press; the mark names the answer, and the older line is found again by rule. The decision is one about a
proposal of the check-up, which asks no second time.
"""

from datetime import UTC
from pathlib import PurePosixPath

from gateway.checkup.checkup import accept_in, checked_agent, refuse
from gateway.checkup.fresh import propose, replacement
from gateway.commands.checkup import NAME as CHECKUP
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.undo import writing_of
from gateway.errors import CheckupError, ToolError
from gateway.transcripts.store import Sessions
from workspaces.history import FileWriting
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.known_lines import known_line
from workspaces.revert import passages
from workspaces.sections import memory_file

_ASKED = lazy_pattern(r"(?P<mark>[0-9a-f]{12})(?:\s+(?P<answer>no|later))?")
_BULLET = lazy_pattern(r"\A\s*+[-*+]\s++")


def replaces_commands(parts: CommandResources) -> list[Command]:
    """Return `/replaces`."""

    async def replaces(call: CommandCall) -> str:
        return await _replaces(call, parts.sessions)

    told = "mark the older note that my answer's note replaces; with `no` both hold; its buttons send this"
    return [Command("replaces", "<mark> [no or later]", told, Who.MAIN, False, replaces)]


async def _replaces(call: CommandCall, sessions: Sessions) -> str:
    asked = _ASKED.fullmatch(call.arguments)
    if asked is None:
        raise ToolError("Press a button below an answer that says that a note may replace another.")
    writing = await writing_of(call, asked["mark"], verb="undo")
    if writing.is_undone:
        raise ToolError("That note was undone, so it replaces nothing.")
    path, whole = await call.agent.run(memory_file, call.agent.workspace, call.access)
    lines = await call.agent.run(_replaced, writing.files, path, whole or "", call)
    finding = lines and replacement(path, whole or "", *lines, call.now.date())
    if not lines or not finding:
        return "There is no older note that it replaces any more; nothing was changed."
    old, new = (f"`{path}#L{number}`" for number in lines)
    checked = checked_agent(call.agent, sessions, call.now.tzinfo or UTC)
    try:
        proposal = await propose(checked, call.access, finding)
        if asked["answer"] == "later":
            return (
                f"Both stand. `/{CHECKUP} next` and `strandline memory checkup` ask again whether {new} replaces {old}."
            )
        if asked["answer"] == "no":
            await refuse(checked, call.access, [proposal.mark])
            return f"Both stay as they are: {old} and {new}."
        [done] = (await accept_in(checked, call.access, call.run, call.origin, [proposal.mark])).done
    except CheckupError as exc:
        raise ToolError(str(exc)) from exc
    call.agent.memory.touched()
    return f"Corrected in `{done.citation}`."


def _replaced(
    files: tuple[FileWriting, ...], path: PurePosixPath, whole: str, call: CommandCall
) -> tuple[int, int] | None:
    """Return the numbers of the older line and the new one, as `MEMORY.md` is now; `None` if either is gone."""
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
            return old.number, number
    return None
