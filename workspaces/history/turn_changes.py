"""Changes of one turn to the notes, as far as the reader may see them."""

from dataclasses import dataclass
from pathlib import PurePosixPath

FAR_BACK = 2_000
"""Changes of notes searched for a turn: months of talk. Our choice."""
NEAR = 20
"""A turn has several changes if others wrote in between; they are at most this far apart. Our choice."""


@dataclass(frozen=True, slots=True)
class FileWriting:
    """One file of notes, before and after a change."""

    path: PurePosixPath
    before: str | None
    """The whole text; `None` for no file."""
    after: str | None


@dataclass(frozen=True, slots=True)
class TurnChanges:
    mark: str
    """Reference for undoing it."""
    files: tuple[FileWriting, ...]
    """Newest change first; a file may occur more than once. Empty if the turn wrote no notes."""
    is_undone: bool
    turn: str | None = None
    others: tuple[PurePosixPath, ...] = ()
    """Other files that it wrote."""
