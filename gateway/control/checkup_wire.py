"""The check-up's orders and their answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from gateway.checkup.figures import CheckupFigures, NoteScore
from gateway.control.order import Order


class ShownProposal(Struct, frozen=True):
    mark: str
    """Names it in a decision."""
    kind: str
    """Such as `double`."""
    citation: str
    """Location of the note, as `path#Ln`."""
    reason: str
    diff: str
    """The change that accepting it makes."""
    state: str = "open"
    text: str = ""
    """The note's words, for its owner to rewrite."""


class CheckupAnswer(Struct, frozen=True):
    """The latest check-up, and the action taken."""

    at: datetime | None = None
    """`None` before the first one."""
    entries: int = 0
    lasting: int = 0
    """Entries of `MEMORY.md`."""
    unknown: int = 0
    """Notes of unknown origin."""
    score: float = 0.0
    """Mean quality of the notes in `MEMORY.md`, from 0 to 1."""
    found: Mapping[str, int] = field(default_factory=dict)
    """Findings by kind."""
    weak: tuple[str, ...] = ()
    """Citations of vague notes that nobody confirmed or used."""
    proposals: tuple[ShownProposal, ...] = ()
    """Those that wait for a decision; after a decision, those that it concerned."""
    outcome: str = ""
    """Description of the action taken."""
    scores: tuple[NoteScore, ...] = ()
    """Of the notes in `MEMORY.md`, the lowest first."""
    trend: tuple[CheckupFigures, ...] = ()
    """Of the latest check-ups, oldest first."""
    decided: tuple[ShownProposal, ...] = ()
    """Those of the latest check-up that were accepted or refused; empty after a decision."""

    @property
    def junk(self) -> float:
        """Share of the entries that should change, from 0 to 1."""
        return self.trend[-1].junk if self.trend else 0.0


class CheckupOrder(Order[CheckupAnswer], frozen=True):
    """A request for an agent's latest check-up, or a decision about its proposals; `None` is the default agent."""

    act: Literal["show", "accept", "refuse", "undo"] = "show"
    marks: tuple[str, ...] = ()
    words: str | None = None
    """The owner's own words for the note of a single accepted proposal."""
    agent: str | None = None
