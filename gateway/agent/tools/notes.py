"""Note tools of a turn: a note of the day, with a receipt of its location.

A relative day gets its date written beside it: a note says "tomorrow" for years.
"""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Callable
from datetime import date, datetime
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.agent.tools.tool import Told, Tool, done, tool
from gateway.agent.write_guard import WantedChange, WriteGuard
from gateway.errors import ToolError
from workspaces import sections
from workspaces.access import Access, rights
from workspaces.house import Make
from workspaces.memory.text.day_spans import dated
from workspaces.memory.text.dialogue import says_nothing
from workspaces.memory.text.known_lines import KnownLine, known_line
from workspaces.notes import append_once
from workspaces.run_blocking import RunBlocking
from workspaces.sections import Category
from workspaces.workspace import Workspace

NOTHING_SAID = "That is small talk and tells nothing, so nothing was written"


def note_tools(
    workspace: Workspace, access: Access, run: RunBlocking, clock: Callable[[], datetime], guard: WriteGuard
) -> list[Tool]:
    """Return the note tools of one turn; *clock* gives the time in the owner's time zone.

    Changes that *guard* holds back wait for the owner.
    """

    async def add_note(text: str) -> Told:
        """Note today what happened, was decided or shall be remembered."""
        if says_nothing(text):
            return f"{NOTHING_SAID}."
        try:
            text = guard.in_owners_words(text)
            append = guard.as_dictated(text, append_once)
            text = guard.marked(await run(dated, text, clock().date()))
            receipt = await run(append, workspace, access, text, clock())
        except ValueError as exc:
            raise ToolError(f"text: {exc}") from exc
        place = f"{receipt.path}#L{receipt.line}"
        if receipt.is_repeated:
            return done(
                f"Already in {place}, so nothing was written. If it happened again, say so.", "kept", place, text
            )
        return done(f"Noted in {place}.", "noted", place)

    row = rights(access)
    if not (row.writes and row.memory_tools):
        return []
    return [tool(add_note), *(_memory_tools(workspace, access, run, clock, guard) if row.private else ())]


def _memory_tools(
    workspace: Workspace, access: Access, run: RunBlocking, clock: Callable[[], datetime], guard: WriteGuard
) -> list[Tool]:
    """Return the tools over the long-term memory, for turns that may write private files."""

    memory = _LongTermMemory(workspace, access, run, guard)

    async def save_memory(text: str, category: Category) -> Told:
        """Keep a lasting fact in MEMORY.md."""
        text = guard.in_owners_words(text)
        is_dictated, save = guard.is_dictated(text), guard.as_dictated(text, sections.save_memory)
        text = guard.marked(await run(dated, text, clock().date()))
        try:
            path, known = await memory.known(text, clock().date())
            if known is not None and known.is_repeated:
                return done(already_noted(path, known), "kept", f"{path}#L{known.number}", known.text)
            waits = None if is_dictated else await memory.asked(lambda whole: sections.saved(whole, text, category))
            if waits is not None:
                return waits
            receipt = await run(save, workspace, access, text, category)
        except ValueError as exc:
            raise ToolError(f"text: {exc}") from exc
        place = f"{receipt.path}#L{receipt.line}"
        return done(f"Saved in {place}.{may_replace(path, known)}", "noted", place)

    async def update_memory(old: str, new: str | None = None) -> Told:
        """Correct a passage of MEMORY.md that occurs once; without new, delete it."""
        new = new and guard.marked(await run(dated, new, clock().date()))
        try:
            if waits := await memory.asked(lambda whole: sections.updated(whole, old, new)):
                return waits
            receipt = await run(sections.update_memory, workspace, access, old, new)
        except ValueError as exc:
            raise ToolError(f"new: {exc}") from exc
        place = f"{receipt.path}#L{receipt.line}"
        if new is None:
            return done(f"Deleted in {place}.", "deleted", place)
        return done(f"Updated in {place}.", "corrected", place)

    return [tool(save_memory), tool(update_memory)]


class _LongTermMemory(Struct, frozen=True):
    """The long-term memory as the tools of one turn change it."""

    workspace: Workspace
    access: Access
    run: RunBlocking
    guard: WriteGuard

    async def asked(self, make: Make) -> Told | None:
        """Ask the owner about the text that *make* returns, if necessary; `None` if the write may happen at once."""
        path, whole = await self.run(sections.memory_file, self.workspace, self.access)
        reason = self.guard.reason(path) or (whole and self.guard.reason_to_unmark(whole, make(whole)))
        if not reason:
            return None
        present = await self.run(self.workspace.compare, path, self.access, None)
        return await self.guard.ask(WantedChange(path, present.whole if present else None, make), reason)

    async def known(self, text: str, day: date) -> tuple[PurePosixPath, KnownLine | None]:
        """Return its path, and the line that says the same as *text*, or that *text* may replace."""
        path, whole = await self.run(sections.memory_file, self.workspace, self.access)
        known = await self.run(known_line, text, whole or "", day)
        if known is not None and known.number in self.workspace.house.lines(path, whole or ""):
            self.guard.reads_house()
        return path, known


def already_noted(path: PurePosixPath, known: KnownLine) -> str:
    """Return the result of a save that would repeat the line *known*."""
    return f"Already in {path}#L{known.number}, so nothing was written: {known.text}"


def may_replace(path: PurePosixPath, known: KnownLine | None) -> str:
    """Return the end of a save's result about the line *known* that it may replace; empty without one."""
    if known is None:
        return ""
    return f" It may replace {path}#L{known.number} ({known.text}); your owner is asked, and both stand until then."
