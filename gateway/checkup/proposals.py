"""Proposals of the latest check-up, kept beside an agent's workspace, with the owner's decisions about them.

The file holds texts of notes, so a purge empties it. It can be deleted at any time: the next check-up makes it anew,
but refused changes are then proposed again.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from gateway.checkup.figures import CheckupFigures, NoteScore
from gateway.stores.disk import write_durably
from workspaces.memory.checkup.findings import FindingKind, NoteFinding

FILE = "checkup.json"
MOST = 2_000
"""Proposals of one check-up that are kept; the next one finds the others."""
_MOST_REFUSED = 20_000


class ProposalState(StrEnum):
    """State of a proposal."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REFUSED = "refused"


class CheckupProposal(Struct, frozen=True):
    """A change of one note that its owner may accept."""

    mark: str
    kind: FindingKind
    path: str
    line: int
    """Number of the note's first line at the check-up, from 1."""
    before: str
    """The note's lines as they were."""
    after: str | None
    """The lines that replace them; `None` removes them. For a promotion: section and text of the lasting note."""
    reason: str
    beside_path: str = ""
    """File of the entry that must still be there: the one that it repeats, or that holds instead."""
    beside: str = ""
    """That entry's lines."""
    beside_line: int = 0
    state: ProposalState = ProposalState.OPEN
    session: str = ""
    """Session and mark of the change that accepted it, by which it is undone."""
    undo: str = ""

    @property
    def citation(self) -> str:
        """Location of the note, as `path#Ln`."""
        return f"{self.path}#L{self.line}"


class CheckupRecord(Struct, frozen=True):
    """The latest check-up of one agent's notes."""

    at: datetime | None = None
    """`None` before the first one."""
    entries: int = 0
    """Entries that were read."""
    lasting: int = 0
    """Those of them in `MEMORY.md`."""
    unknown: int = 0
    """Notes of unknown origin."""
    found: Mapping[str, int] = field(default_factory=dict)
    """Findings by kind, those beyond the kept ones too, without those that were refused before."""
    score: float = 0.0
    """Mean quality of the notes in `MEMORY.md`, from 0 to 1."""
    weak: tuple[str, ...] = ()
    """Citations of lasting notes that are old and vague, and that nobody confirmed or used."""
    proposals: tuple[CheckupProposal, ...] = ()
    refused: tuple[str, ...] = ()
    """Marks of all proposals ever refused; nothing of a note can be read from one."""
    scores: tuple[NoteScore, ...] = ()
    """Of the lasting notes, the lowest first."""
    trend: tuple[CheckupFigures, ...] = ()
    """Of this check-up and earlier ones, oldest first."""
    compared: str = ""
    """The newest commit of the history whose lines were compared with the lasting notes; empty before the first."""

    @property
    def open(self) -> tuple[CheckupProposal, ...]:
        """The proposals that wait for a decision."""
        return tuple(each for each in self.proposals if each.state is ProposalState.OPEN)

    @property
    def decided(self) -> tuple[CheckupProposal, ...]:
        """The proposals that were accepted or refused."""
        return tuple(each for each in self.proposals if each.state is not ProposalState.OPEN)

    def of(self, mark: str) -> CheckupProposal | None:
        """Return the proposal with *mark*."""
        return next((each for each in self.proposals if each.mark == mark), None)

    def with_added(self, *added: CheckupProposal) -> "CheckupRecord":
        """Return the record with *added* at its end, open, in place of those with their marks."""
        marks = {each.mark for each in added}
        kept = tuple(each for each in self.proposals if each.mark not in marks)
        found = Counter(self.found) + Counter(str(each.kind) for each in added if self.of(each.mark) is None)
        refused = tuple(mark for mark in self.refused if mark not in marks)
        return structs.replace(self, proposals=(*kept, *added)[-MOST:], found=dict(found), refused=refused)

    def with_changed(self, *changed: CheckupProposal) -> "CheckupRecord":
        """Return the record with these proposals in place of those with their marks."""
        new = {each.mark: each for each in changed}
        refused = [each.mark for each in changed if each.state is ProposalState.REFUSED]
        again = {each.mark for each in changed if each.state is ProposalState.OPEN}
        known = [mark for mark in dict.fromkeys((*self.refused, *refused)) if mark not in again]
        proposals = tuple(new.get(each.mark, each) for each in self.proposals)
        return structs.replace(self, proposals=proposals, refused=tuple(known[-_MOST_REFUSED:]))


def proposal_of(finding: NoteFinding) -> CheckupProposal:
    """Return the proposal that *finding* makes."""
    entry, beside = finding.entry, finding.beside
    is_promotion = finding.kind is FindingKind.PROMOTION
    there = entry if is_promotion else beside if beside is not None and beside.raw != "" else None
    return CheckupProposal(
        finding.mark,
        finding.kind,
        entry.path,
        entry.first_line,
        entry.raw,
        finding.after,
        finding.reason,
        there.path if there else "",
        there.raw if there else "",
        there.first_line if there else 0,
    )


def read_record(root: Path) -> CheckupRecord:
    """Return the record in an agent's folder *root*; an empty one if it is missing or damaged."""
    try:
        return msgspec.json.decode((root / FILE).read_bytes(), type=CheckupRecord)
    except (OSError, msgspec.DecodeError):
        return CheckupRecord()


def write_record(root: Path, record: CheckupRecord) -> None:
    """Write *record* into an agent's folder *root*, whole or not at all. Raises OSError."""
    write_durably(root / FILE, [msgspec.json.encode(record)])


def forget_texts(root: Path) -> None:
    """Drop the proposals, whose texts are notes'; refusals stay. Raises OSError."""
    with suppress(FileNotFoundError):
        (root / FILE).stat()
        known = read_record(root)
        write_record(root, CheckupRecord(refused=known.refused, trend=known.trend))
