"""The check-up of an agent's notes, and its owner's decisions about its proposals.

Nothing is changed by the check-up itself. A decision runs on the workspace's only thread: it compares the lines, writes
the files and notes the decision, so that two presses at once act once. Whoever is not the owner, in a conversation that
nobody else reads, gets nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from statistics import fmean

from msgspec import Struct, structs

from gateway.agent.agent import Agent
from gateway.checkup.changes import TouchedNotes, carried_out, fitting, paths_of
from gateway.checkup.conversations import Evidence, count_parts, gather
from gateway.checkup.figures import CheckupFigures, NoteScore
from gateway.checkup.notes import entries_with_sources, instructions_of, recorded, texts_about_people
from gateway.checkup.proposals import (
    MOST,
    CheckupProposal,
    CheckupRecord,
    ProposalState,
    proposal_of,
    read_record,
    write_record,
)
from gateway.errors import CheckupError
from gateway.transcripts.store import Sessions
from workspaces.access import PRIVATE, Access, SessionType
from workspaces.errors import EditError
from workspaces.forget import forgettable
from workspaces.history import OWNERS_COMMANDS, Origin
from workspaces.history.undo import undo_files
from workspaces.memory.checkup.check import STEPS, CheckedNotes, KnownElsewhere, check
from workspaces.memory.checkup.copies import Instructions
from workspaces.memory.checkup.findings import FindingKind
from workspaces.memory.checkup.noted import NotedEntry
from workspaces.memory.checkup.quality import WEIGHTS, Quality
from workspaces.run_blocking import RunBlocking
from workspaces.sections import memory_file

KEPT_FIGURES = 60
"""Check-ups whose figures are kept for the trend."""
_SCORED_TEXT = 300
"""Longest text of a note beside its score, in characters."""
Progress = Callable[[int, int], None]
"""Receives the number of steps done, and their total."""


class CheckedAgent(Struct, frozen=True):
    """An agent whose notes are checked, and where its records lie."""

    agent: Agent
    conversations: Path
    """Folder of its transcripts."""
    run: RunBlocking
    """Reads transcripts."""
    zone: tzinfo

    @property
    def root(self) -> Path:
        """Folder of the agent, beside whose workspace the record is kept."""
        return self.conversations.parent


class Acceptance(Struct, frozen=True):
    """The outcome of accepting several proposals."""

    done: Sequence[CheckupProposal]
    """At least one."""
    left: Mapping[str, str]
    """Why each other one was left, by its mark."""


def checked_agent(agent: Agent, sessions: Sessions, zone: tzinfo) -> CheckedAgent:
    """Return *agent* with its records."""
    return CheckedAgent(agent, sessions.folder(agent.id), sessions.run, zone)


async def run_checkup(checked: CheckedAgent, access: Access, now: datetime, progress: Progress) -> CheckupRecord:
    """Check all private notes, keep the proposals, and return them. Raises CheckupError, WorkspaceError and OSError."""
    require_owner(checked, access)
    agent = checked.agent
    files = len(await agent.run(forgettable, agent.workspace, access))
    counter = _Counter(progress, files + await checked.run(count_parts, checked.conversations, access) + STEPS)
    entries = await entries_with_sources(agent, access, counter.step)
    instructions = await agent.run(instructions_of, agent.workspace, access)
    evidence = Evidence(entries, agent.id, checked.zone)
    for text in await agent.run(texts_about_people, agent.workspace, access):
        evidence.hear(text)
    await asyncio.to_thread(gather, evidence, checked.conversations, access, counter.step)
    elsewhere = KnownElsewhere(
        Instructions([*instructions, *evidence.orders.values()]),
        evidence.findings,
        list(evidence.invented()),
        evidence.uses,
        evidence.unsaid(),
    )
    found = await asyncio.to_thread(check, entries, elsewhere, now.date(), counter.step)
    return await agent.run(_keep, checked.root, entries, found, now)


async def read_checkup(checked: CheckedAgent, access: Access) -> CheckupRecord:
    """Return the latest check-up. Raises CheckupError."""
    require_owner(checked, access)
    return await checked.agent.run(read_record, checked.root)


async def accept(
    checked: CheckedAgent, access: Access, marks: Sequence[str], words: str | None = None, now: datetime | None = None
) -> Acceptance:
    """Carry out proposals as the owner at the command line, or *words* instead of a single one's.

    Those that do not fit any more are left. Raises CheckupError if none fits, and the errors of writing.
    """
    stamp = f"{now or ''}\0{' '.join(marks)}"
    origin = Origin(OWNERS_COMMANDS, mark=blake2b(stamp.encode(), digest_size=6).hexdigest())
    with checked.agent.changing(f"checkup-{origin.mark}", origin) as run:
        accepted = await accept_in(checked, access, run, origin, marks, words)
    await checked.agent.history_writer.record(list({PurePosixPath(each.path) for each in accepted.done}), origin)
    return accepted


async def accept_in(
    checked: CheckedAgent,
    access: Access,
    run: RunBlocking,
    origin: Origin,
    marks: Sequence[str],
    words: str | None = None,
) -> Acceptance:
    """Carry out proposals within a turn: *run* counts the changes as those of *origin*. Raises as `accept` does."""
    require_owner(checked, access)
    return await run(_accept, checked, access, marks, words, origin)


async def refuse(checked: CheckedAgent, access: Access, marks: Sequence[str]) -> list[CheckupProposal]:
    """Refuse proposals, and do not propose them again. Raises CheckupError."""
    require_owner(checked, access)
    return await checked.agent.run(_refuse, checked.root, marks)


async def undo(checked: CheckedAgent, access: Access, mark: str) -> list[CheckupProposal]:
    """Undo the decision about a proposal, and about those accepted with it, which are open again.

    Raises CheckupError, and the errors of writing.
    """
    require_owner(checked, access)
    agent = checked.agent
    record = await agent.run(read_record, checked.root)
    decided = [_decided(record, mark)]
    if decided[0].state is ProposalState.ACCEPTED:
        await _take_back(agent, access, decided[0])
        decided = [each for each in record.proposals if each.undo == decided[0].undo]
    again = [structs.replace(each, state=ProposalState.OPEN, session="", undo="") for each in decided]
    await agent.run(_note, checked.root, again)
    return again


async def _take_back(agent: Agent, access: Access, proposal: CheckupProposal) -> None:
    writer = agent.history_writer
    await recorded(agent)
    view = (await writer.history()).view(access)
    writing = await writer.ask(view.writing, proposal.session, proposal.undo)
    if writing is None:
        raise CheckupError("the history has that change no more, so it cannot be undone here")
    if writing.is_undone:
        return
    origin = Origin(OWNERS_COMMANDS, undoes=writing.mark)
    try:
        with agent.changing(f"checkup-undo-{writing.mark}", origin) as run:
            await run(undo_files, agent.workspace, access, writing.files)
    except EditError as exc:
        raise CheckupError(str(exc)) from exc
    await writer.record([file.path for file in writing.files], origin)


class _Counter:
    """Counts steps on any thread, and reports them on the event loop."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self._done = 0
        self._total = total

    def step(self) -> None:
        self._done += 1
        self._loop.call_soon_threadsafe(self._progress, min(self._done, self._total), self._total)


def require_owner(checked: CheckedAgent, access: Access) -> None:
    """Raise CheckupError unless *access* is the owner's, in a conversation that nobody else reads."""
    is_owners = access.session_type is SessionType.MAIN and access.scope == PRIVATE
    if not is_owners or access.agent != checked.agent.id:
        raise CheckupError("only the owner can check an agent's notes, in a conversation that nobody else reads")


def _keep(root: Path, entries: Sequence[NotedEntry], found: CheckedNotes, now: datetime) -> CheckupRecord:
    """Store the outcome, without earlier refusals, and return it."""
    before = read_record(root)
    known = frozenset(before.refused)
    fresh = [each for each in found.findings if each.mark not in known]
    junk = sum(each.kind is not FindingKind.PROMOTION for each in fresh) / max(len(entries), 1)
    scores = _scores(entries, found)
    mean = round(fmean(each.score for each in scores), 3) if scores else 0.0
    record = CheckupRecord(
        now,
        len(entries),
        sum(each.is_lasting for each in entries),
        found.unknown,
        Counter(str(each.kind) for each in fresh),
        mean,
        found.weak[:MOST],
        tuple(map(proposal_of, fresh[:MOST])),
        before.refused,
        scores[:MOST],
        (*before.trend[1 - KEPT_FIGURES :], CheckupFigures(now, len(entries), round(junk, 4), mean)),
        before.compared,
    )
    write_record(root, record)
    return record


def _scores(entries: Sequence[NotedEntry], found: CheckedNotes) -> tuple[NoteScore, ...]:
    """Return the qualities of the lasting notes, the lowest first."""
    texts = {each.citation: each.text for each in entries}
    scores = [
        NoteScore(citation, texts[citation][:_SCORED_TEXT], round(each.score, 3), **_rounded(each))
        for citation, each in found.qualities.items()
    ]
    return tuple(sorted(scores, key=lambda each: each.score))


def _rounded(found: Quality) -> dict[str, float]:
    return {part: round(float(getattr(found, part)), 3) for part in WEIGHTS}


def _accept(
    checked: CheckedAgent, access: Access, marks: Sequence[str], words: str | None, origin: Origin
) -> Acceptance:
    record = read_record(checked.root)
    proposals, left = _all_open(record, marks)
    if words is not None and len(proposals) + len(left) != 1:
        raise CheckupError("your words replace one note: name one proposal")
    workspace = checked.agent.workspace
    memory, _ = memory_file(workspace, access)
    files = {path: workspace.present(path, access) for path in paths_of(proposals, memory)}
    notes = TouchedNotes({path: file.whole for path, file in files.items() if file is not None}, memory, record.entries)
    if words is None:
        proposals, unfit = fitting(notes, proposals)
        left |= unfit
    if not proposals:
        raise CheckupError("\n".join(left.values()))
    try:
        changed = carried_out(notes, proposals, words)
    except ValueError as exc:
        raise CheckupError("that contains nothing to write down") from exc
    for path, text in changed.items():
        workspace.write(path, text, access, files[path])
    done = [
        structs.replace(each, state=ProposalState.ACCEPTED, session=origin.session, undo=origin.mark or "")
        for each in proposals
    ]
    _note(checked.root, done)
    return Acceptance(done, left)


def _all_open(record: CheckupRecord, marks: Sequence[str]) -> tuple[list[CheckupProposal], dict[str, str]]:
    """Return the proposals with *marks* that wait for a decision, and why each other one does not."""
    proposals, left = [], {}
    for mark in dict.fromkeys(marks):
        try:
            proposals.append(_open(record, mark))
        except CheckupError as exc:
            left[mark] = str(exc)
    return proposals, left


def _refuse(root: Path, marks: Sequence[str]) -> list[CheckupProposal]:
    record = read_record(root)
    changed = [structs.replace(_open(record, mark), state=ProposalState.REFUSED) for mark in dict.fromkeys(marks)]
    _note(root, changed)
    return changed


def _note(root: Path, changed: Sequence[CheckupProposal]) -> None:
    write_record(root, read_record(root).with_changed(*changed))


def _open(record: CheckupRecord, mark: str) -> CheckupProposal:
    proposal = record.of(mark)
    if proposal is None:
        raise CheckupError(f"there is no proposal {mark}; check again, as the notes may have changed")
    if proposal.state is not ProposalState.OPEN:
        raise CheckupError(f"proposal {mark} was {proposal.state} already; nothing was changed")
    return proposal


def _decided(record: CheckupRecord, mark: str) -> CheckupProposal:
    proposal = record.of(mark)
    if proposal is None or proposal.state is ProposalState.OPEN:
        raise CheckupError(f"no decision about a proposal {mark} is known; strandline history restores any version")
    return proposal
