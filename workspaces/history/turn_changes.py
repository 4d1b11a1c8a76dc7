"""Changes of one turn to the notes, as far as the reader may see them."""

from pathlib import PurePosixPath

from msgspec import Struct

FAR_BACK = 2_000
"""Changes of notes searched for a turn: months of talk. Our choice."""
NEAR = 20
"""A turn has several changes if others wrote in between; they are at most this far apart. Our choice."""


class FileWriting(Struct, frozen=True):
    """One file of notes, before and after a change."""

    path: PurePosixPath
    before: str | None
    """The whole text; `None` for no file."""
    after: str | None


class TurnChanges(Struct, frozen=True):
    mark: str
    """Reference for undoing it."""
    files: tuple[FileWriting, ...]
    """Newest change first; a file may occur more than once. Empty if the turn wrote no notes."""
    is_undone: bool
    turn: str | None = None
    others: tuple[PurePosixPath, ...] = ()
    """Other files that it wrote."""
