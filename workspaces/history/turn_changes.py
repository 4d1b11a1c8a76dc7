"""This file names what one turn wrote into the notes, as far as whoever asks may see it."""

from dataclasses import dataclass
from pathlib import PurePosixPath

FAR_BACK = 2_000
"""Changes of notes among which a turn is looked for: months of talk. Our choice."""
NEAR = 20
"""A turn is several changes where somebody else wrote in between; they lie no further apart. Our choice."""


@dataclass(frozen=True, slots=True)
class FileWriting:
    """One file of notes, before and after a change."""

    path: PurePosixPath
    before: str | None
    """The whole text; `None` for no file."""
    after: str | None


@dataclass(frozen=True, slots=True)
class Writing:
    """What one turn wrote."""

    mark: str
    """By which it can be taken back."""
    files: tuple[FileWriting, ...]
    """The newest change first; a file may be in several."""
    is_undone: bool
    """It was taken back."""
