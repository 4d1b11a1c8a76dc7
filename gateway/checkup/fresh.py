"""Comparison of what was written lately with the lasting notes: a likely replacement becomes an open proposal.

Flushes, notes of the day and the owner's own edits are compared, each commit once; lines with others' words never are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path, PurePosixPath

from msgspec import structs

from gateway.agent.agent import Agent
from gateway.checkup.checkup import CheckedAgent, require_owner
from gateway.checkup.notes import recorded, whole_note
from gateway.checkup.proposals import CheckupProposal, proposal_of, read_record, write_record
from workspaces.access import PRIVATE, Access, scope_of
from workspaces.errors import HistoryUnusableError
from workspaces.history.line_changes import Patch
from workspaces.memory.checkup.findings import NoteFinding
from workspaces.memory.checkup.noted import LineSource, NotedEntry, noted_entries
from workspaces.memory.checkup.staleness import mended, outdated
from workspaces.memory.workspace_source import day_of
from workspaces.sections import memory_file

_Added = dict[PurePosixPath, dict[str, date]]
"""By file, the lines that were added, each with its day."""


async def compare_fresh(checked: CheckedAgent, access: Access) -> list[CheckupProposal]:
    """Compare what was written since the last call, and return the proposals that it led to.

    The first call only notes where the history stands: the check-up is for what is older. Raises CheckupError,
    WorkspaceError and OSError.
    """
    require_owner(checked, access)
    agent, writer = checked.agent, checked.agent.history_writer
    last = (await agent.run(read_record, checked.root)).compared
    try:
        await recorded(agent)
        head, patches = await writer.ask((await writer.history()).patches_since, last, access)
    except HistoryUnusableError:
        return []
    if head == last:
        return []
    findings = await agent.run(_findings, agent, access, _added_in(patches))
    return await agent.run(_propose, checked.root, findings, head)


def replacement(path: PurePosixPath, whole: str, old: int, new: int, day: date) -> NoteFinding | None:
    """Return the finding that line *new* of a note, written on *day*, holds instead of line *old*."""
    by_line = {each.first_line: each for each in noted_entries(path, whole)}
    older, newer = by_line.get(old), by_line.get(new)
    if older is None or newer is None:
        return None
    return mended(older, replace(newer, source=LineSource(day=day)))


async def propose(checked: CheckedAgent, access: Access, finding: NoteFinding) -> CheckupProposal:
    """Keep *finding* as an open proposal, whatever was decided about it before. Raises CheckupError and OSError."""
    require_owner(checked, access)
    [proposal] = await checked.agent.run(_propose, checked.root, [finding], None)
    return proposal


def _propose(root: Path, findings: Iterable[NoteFinding], head: str | None) -> list[CheckupProposal]:
    """Add the proposals of *findings*.

    Where *head* is given, that commit is compared: nothing decided is asked again, nor about a line that waits already.
    """
    record = read_record(root)
    fresh = [proposal_of(each) for each in findings]
    if head is not None:
        known = {*record.refused, *(each.mark for each in record.proposals)}
        waiting = {(each.path, each.before) for each in record.open}
        fresh = [each for each in fresh if each.mark not in known and (each.path, each.before) not in waiting]
    write_record(root, structs.replace(record.with_added(*fresh), compared=head or record.compared))
    return fresh


def _added_in(patches: Iterable[Patch]) -> _Added:
    added: _Added = {}
    for patch in patches:
        origin = patch.origin
        for file in () if origin is not None and origin.others else patch.files():
            if scope_of(file.path) == PRIVATE:
                lines = {line: patch.day for hunk in file.hunks for line in hunk.added}
                added.setdefault(file.path, {}).update(lines)
    return added


def _findings(agent: Agent, access: Access, added: _Added) -> list[NoteFinding]:
    memory, whole = memory_file(agent.workspace, access)
    if whole is None or not added:
        return []
    known, fresh = list[NotedEntry](), list[NotedEntry]()
    others = agent.history_writer.origins.others_in
    for path in {memory, *added}:
        if path != memory and not day_of(path):
            continue
        for entry in noted_entries(path, whole if path == memory else whole_note(agent.workspace, access, path)):
            day = added.get(path, {}).get(entry.raw.split("\n")[0].rstrip("\r"))
            if day is not None and not others(entry.raw):
                fresh.append(replace(entry, source=LineSource(day=day)))
            elif path == memory:
                known.append(replace(entry, source=LineSource(day=date.min)))
    return _about(outdated([*known, *fresh]), fresh)


def _about(findings: Iterable[NoteFinding], fresh: Sequence[NotedEntry]) -> list[NoteFinding]:
    places = {each.place for each in fresh}
    return [each for each in findings if each.beside is not None and each.beside.place in places]
