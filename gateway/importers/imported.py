"""Conversations and notes of other programs, in the form in which every importer returns them."""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct

from gateway.errors import StrandlineError

DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors of reading a row that is damaged or of another shape; it is left out, and the rest imported."""
_EARLIEST, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


class ImportFormatError(StrandlineError):
    """The file is not in the importer's format; the message names the place."""


class ImportedMessage(Struct, frozen=True):
    """One message of a conversation between the owner and an agent of another program."""

    is_owners: bool
    """The owner wrote it; otherwise the other program's agent did."""
    at: datetime
    """With its zone; from 1970 to 9998, which every other zone can show."""
    text: str

    def __post_init__(self) -> None:
        """Raise ValueError for another time."""
        if not _EARLIEST <= self.at < _END:
            raise ValueError(f"{self.at.isoformat()} is not between 1970 and 9998")


class ImportedSession(Struct, frozen=True):
    """A conversation of the owner's with another program's agent, word for word."""

    id: str
    """Its id in that program: importing it again adds nothing."""
    title: str
    messages: tuple[ImportedMessage, ...]
    """In order; never empty."""


class ImportedConversation(Struct, frozen=True):
    """What one agent gets: notes and other files, and conversations."""

    agent: str
    """Name of the agent that gets the notes, unless the owner chooses another one."""
    notes: Mapping[str, str]
    """The text of each file by its path in the workspace, such as `memory/2026-03-01.md`, in order of days."""
    sessions: tuple[ImportedSession, ...] = ()
    left_out: tuple[str, ...] = ()
    """What is not imported, each with the reason, such as `photo.png: it is no text`."""
    proposals: tuple[str, ...] = ()
    """Jobs and bindings of that program, as commands and settings: the owner carries them out, the import does not."""
