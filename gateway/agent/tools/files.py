"""Workspace file tools of a turn: read, write, edit, list and delete, within its access."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from functools import partial
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from gateway.agent.tools.cited import beyond_end, located
from gateway.agent.tools.tool import RESULT_CAP, ActedResult, Told, Tool, done, told, tool, unoffered
from gateway.agent.write_guard import WantedChange, WriteGuard
from gateway.errors import ToolError
from workspaces.access import Access, rights
from workspaces.errors import FileBusyError, NoSuchFileError
from workspaces.file_errors import no_such_file
from workspaces.history import Act
from workspaces.house import Make
from workspaces.paths import clean_path
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Listing, TextFile, Workspace, replace_once

_BROKEN = "is too long to show whole"
_NOTE_ROOM = 200
"""Characters of a result reserved for the line that explains how to continue."""


class KnownFiles:
    """The files of one turn, as it has seen them; it may replace or delete these, unless they changed since."""

    def __init__(self) -> None:
        self._known: dict[PurePosixPath, TextFile] = {}

    def remember(self, file: TextFile) -> None:
        """Store *file* as the newest version that the turn has seen."""
        self._known[file.path] = file

    def get(self, path: str) -> TextFile | None:
        """Return the file at *path* as the turn has seen it."""
        return self._known.get(clean_path(path))

    def forget(self, path: str) -> None:
        """Drop the stored version of *path*: it has to be read again."""
        self._known.pop(clean_path(path), None)


def file_tools(workspace: Workspace, access: Access, run: RunBlocking, guard: WriteGuard) -> list[Tool]:
    """Return the file tools of one turn; those that write only where *access* may write at all.

    Changes that *guard* holds back wait for the owner.
    """
    known = KnownFiles()
    reading = _reading_tools(workspace, access, run, known, guard)
    if not rights(access).writes:
        return reading
    return reading + _writing_tools(_WriteTools(workspace, access, run, known, guard))


def _reading_tools(
    workspace: Workspace, access: Access, run: RunBlocking, known: KnownFiles, guard: WriteGuard
) -> list[Tool]:
    async def read_file(
        path: str,
        first_line: Annotated[int | None, Field(ge=1)] = None,
        lines: Annotated[int | None, Field(ge=1)] = None,
    ) -> Told:
        """Read a text file, or list a folder (`.`: the workspace)."""
        path, first_line, lines = located(path, first_line, lines)
        if await run(workspace.withholds, path, access):
            guard.withholds()
        try:
            file = await run(workspace.read, path, access, first_line, lines)
        except FileBusyError:
            raise
        except NoSuchFileError:
            return await list_files(path)
        if beyond := beyond_end(file):
            raise ToolError(beyond)
        known.remember(file)
        if file.is_house:
            guard.reads_house()
        shown = format_lines(file)
        return told(shown, from_outside=_BROKEN in shown)  # whose words part of a line are cannot be told

    async def list_files(path: str = ".") -> str:
        """List a folder of the workspace."""
        listing = await run(workspace.list, path, access)
        if listing.is_house:
            guard.reads_house()
        return format_listing(listing)

    return [tool(read_file), unoffered(list_files)]


class _WriteTools(Struct, frozen=True):
    """Shared state of every writing tool of one turn."""

    workspace: Workspace
    access: Access
    run: RunBlocking
    known: KnownFiles
    guard: WriteGuard

    async def asked(self, path: str, make: Make, act: Act = Act.WRITE, *, is_whole: bool = True) -> ActedResult | None:
        """Ask the owner about the text that *make* returns, if necessary; `None` if the write may happen at once.

        *is_whole*: nothing of the file stays, so it must have been read.
        """
        place, seen = clean_path(path), self.known.get(path)
        reason = self.guard.reason(place, act)
        if (
            reason is None
            and act is Act.WRITE
            and (there := await self.run(self.workspace.present, place, self.access))
        ):
            reason = self.guard.reason_to_unmark(there.whole, make(there.whole))
        if reason is None:
            return None
        now = await self.run(self.workspace.compare, place, self.access, seen)
        if is_whole and now is not None and seen is None:
            raise ToolError(f"{place} already exists; read it before you replace it")
        return await self.guard.ask(WantedChange(place, now.whole if now else None, make), reason)


def _writing_tools(writing: _WriteTools) -> list[Tool]:
    workspace, access, run, known = writing.workspace, writing.access, writing.run, writing.known

    async def write_file(path: str, content: str) -> Told:
        """Create a text file, or replace one you have just read."""
        content = writing.guard.marked_file(clean_path(path), content)
        if waits := await writing.asked(path, lambda _: content):
            return waits
        file = await run(workspace.write, path, content, access, known.get(path))
        known.remember(file)
        return done(f"{file.path} written, {file.total_lines} lines.", "wrote", file.path)

    async def edit_file(path: str, old: str, new: str) -> Told:
        """Replace a passage that occurs once in a file."""
        new = writing.guard.marked(new)
        make = partial(_edited, old=old, new=new, path=clean_path(path))
        if waits := await writing.asked(path, make, is_whole=False):
            return waits
        file = await run(workspace.edit, path, old, new, access, known.get(path))
        known.remember(file)
        return done(f"{file.path} edited.", "wrote", file.path)

    async def delete_file(path: str) -> Told:
        """Delete a file you have just read."""
        seen = known.get(path)
        if seen is None:
            raise ToolError(f"{clean_path(path)}: read it first; only what you have read in this turn is deleted")
        if waits := await writing.asked(path, lambda _: None, Act.DELETE):
            return waits
        await run(workspace.delete, path, access, seen)
        known.forget(path)
        return done(f"{seen.path} deleted.", "removed", seen.path)

    return [tool(write_file), tool(edit_file), tool(delete_file)]


def _edited(text: str | None, *, old: str, new: str, path: PurePosixPath) -> str:
    if text is None:
        raise no_such_file(path)
    return replace_once(text, old, new, str(path))


def format_lines(file: TextFile) -> str:
    """Return the lines of *file* that fit a tool result, with a note of their range unless they are all."""
    text = _whole_lines(file.text, RESULT_CAP - _NOTE_ROOM)
    last = file.first_line + text.count("\n") + (not text.endswith("\n")) - 1
    if text == file.whole:
        return text.removeprefix("\ufeff") or "(the file is empty)"
    is_broken = len(text) < len(file.text) and not text.endswith("\n")
    broken = f"; line {last} {_BROKEN}" if is_broken else ""
    rest = f"; go on with first_line={last + 1}" if last < file.total_lines else ""
    return f"{text}\n[lines {file.first_line}-{last} of {file.total_lines}{broken}{rest}]"


def format_listing(listing: Listing) -> str:
    """Format the names, one a line, folders with a slash and files with their size."""
    lines = [f"{each.name}/" if each.is_folder else f"{each.name} ({each.size:,} bytes)" for each in listing.entries]
    if listing.omitted:
        lines.append(f"… and {listing.omitted:,} more")
    return "\n".join(lines) or "(the folder is empty)"


def _whole_lines(text: str, limit: int) -> str:
    """Return as many whole lines of *text* as fit *limit* characters, or the start of a line that alone is longer."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", 0, limit) + 1
    return text[: end or limit]
