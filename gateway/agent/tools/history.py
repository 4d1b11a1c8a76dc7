"""File history tools of a model: log, show, diff, restore and export, within the turn's access."""

from __future__ import annotations  # read once for each tool, not evaluated anew at every turn

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from gateway.agent.tools.tool import Told, Tool, done, told, tool, unoffered
from gateway.agent.write_guard import WantedChange, WriteGuard
from gateway.agent.write_policy import is_others_place
from gateway.errors import ToolError
from workspaces.access import Access, Scope, may_know, readable_scopes, rights
from workspaces.history import Commit, Diff, History, LogQuery, Origin, Topic
from workspaces.paths import clean_path
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace

_SHOWN_DIGITS = 10
"""Digits of a revision: short to read, and among a million of them the chance of two alike is under one half."""


class WritingTurn(Struct, frozen=True):
    """The writing turn, and its right to write by itself."""

    workspace: Workspace
    origin: Origin
    guard: WriteGuard
    held_house: Callable[[frozenset[Scope] | None], bool] = lambda _: False
    """Tells whether a file of some scopes, or any, once had the mark `house`, or may have had it."""
    names_others: Callable[[PurePosixPath], bool] = lambda _: False
    """Tells whether others chose the name of a file."""

    def shows_others(self, path: PurePosixPath) -> bool:
        """Return whether what is shown of the file at *path*, its name too, is others'."""
        return is_others_place(path) or self.names_others(path)


def history_tools(history: History, access: Access, run: RunBlocking, writer: WritingTurn) -> list[Tool]:
    """Return the history tools of one turn; none for a turn that sees no history.

    Restoring is for turns that may write, and the export for those that see everything.
    """
    if readable_scopes(access) == frozenset():
        return []
    row = rights(access)
    tools = _reading_tools(history, access, run, writer)
    if row.writes:
        tools.append(_restoring_tool(history, access, run, writer))
    if row.private:
        tools.append(_bundling_tool(history, access, run, writer))
    return tools


def _reading_tools(history: History, access: Access, run: RunBlocking, writer: WritingTurn) -> list[Tool]:
    view = history.view(access)

    async def git_log(
        path: str | None = None,
        topic: Topic = Topic.ALL,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        before: str | None = None,
        revision: str | None = None,
        until: str | None = None,
    ) -> Told:
        """List file changes, newest first, or what a revision changed (until a later one)."""
        if revision is not None:
            return await (git_show(revision, path) if until is None else git_diff(revision, until, path))
        commits = await run(view.log, LogQuery(_place(path), topic, before, limit))
        await _look_for_house(access, run, writer)
        is_theirs = any(_names_others(each, writer) for each in commits)
        return told("\n".join(map(_line, commits)) or "(no changes)", from_outside=is_theirs)

    async def git_show(revision: str, path: str | None = None) -> Told:
        """Show what one change did: the lines added and removed, and where it came from."""
        shown = await run(view.show, revision, _place(path))
        await _look_for_house(access, run, writer)
        is_theirs = _names_others(shown.commit, writer) or _shows_others(shown.diff, writer)
        return told(f"{_heading(shown.commit)}\n{_lines(shown.diff)}", from_outside=is_theirs)

    async def git_diff(older: str, newer: str | None = None, path: str | None = None) -> Told:
        """Compare two revisions: the lines added and removed in between."""
        diff = await run(view.diff, older, newer, _place(path))
        await _look_for_house(access, run, writer)
        return told(_lines(diff), from_outside=_shows_others(diff, writer))

    return [tool(git_log), unoffered(git_show), unoffered(git_diff)]


def _restoring_tool(history: History, access: Access, run: RunBlocking, writer: WritingTurn) -> Tool:
    async def git_restore(revision: str, path: str) -> Told:
        """Restore a file to a revision; this can be undone."""
        await _look_for_house(access, run, writer)
        place = clean_path(path)
        then = await run(history.view(access).text_at, revision, place)
        now = await run(writer.workspace.present, place, access)
        present = now.whole if now else None
        reason = writer.guard.reason(place) or writer.guard.reason_to_unmark(present, then)
        if reason is not None:
            return await writer.guard.ask(WantedChange(place, present, lambda _: then), reason)
        restored = await run(history.restore, revision, path, access, writer.origin)
        if not restored.changed:
            return f"{restored.file.path} already has that content; nothing was written."
        said = f"{restored.file.path} is again as it was at {revision}, {restored.file.total_lines} lines."
        return done(said, "wrote", restored.file.path)

    return tool(git_restore)


async def _look_for_house(access: Access, run: RunBlocking, writer: WritingTurn) -> None:
    """Refuse versions to a model elsewhere, and take them as house for one here, if any file has or had the mark.

    A line may have lacked the mark in an earlier version, and the file may lack the line now. Raises ToolError.
    """
    scopes = readable_scopes(access)
    holds = await run(writer.workspace.holds_house, scopes)
    if not holds and not writer.held_house(scopes):
        return
    if not may_know(access.reader, is_house=True):
        if holds:
            writer.guard.withholds()
        raise ToolError("earlier versions cannot be read here")
    writer.guard.reads_house()


def _bundling_tool(history: History, access: Access, run: RunBlocking, writer: WritingTurn) -> Tool:
    async def git_bundle() -> str:
        """Export the history into one file, for a backup."""
        await _look_for_house(access, run, writer)
        bundle = await run(history.bundle, access)
        return f"The history is in {bundle.name}, in the folder {bundle.parent.name} beside your workspace."

    return unoffered(git_bundle)


def _place(path: str | None) -> PurePosixPath | None:
    """Return the requested path; the workspace itself sets no limit."""
    place = clean_path(path) if path is not None else PurePosixPath()
    return place if place.name else None


def _line(commit: Commit) -> str:
    return f"{commit.id[:_SHOWN_DIGITS]} {commit.at:%Y-%m-%d %H:%M} {commit.subject}"


def _names_others(commit: Commit, writer: WritingTurn) -> bool:
    """Return whether the line of *commit* names a file that others named."""
    return any(writer.shows_others(each.path) and str(each.path) in commit.subject for each in commit.changes)


def _shows_others(diff: Diff, writer: WritingTurn) -> bool:
    return any(writer.shows_others(each.path) for each in diff.files)


def _heading(commit: Commit) -> str:
    """Format a line of the log, with the message and session that the change came from."""
    if commit.origin is None:
        return _line(commit)
    message = f", message {commit.origin.message}" if commit.origin.message else ""
    approved = f", approved by {commit.origin.approved_by}" if commit.origin.approved_by else ""
    return f"{_line(commit)}\nfrom session {commit.origin.session}{message}{approved}"


def _lines(diff: Diff) -> str:
    more = f"\n… and {diff.omitted:,} more files; name a path" if diff.omitted else ""
    return (
        "".join(each.text if each.text.endswith("\n") else f"{each.text}\n" for each in diff.files) + more
        or "(no differences)"
    )
