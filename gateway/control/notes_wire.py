"""Wire types for reading and changing an agent's notes, shared by the page and the gateway."""

from datetime import date
from typing import Literal

from msgspec import Struct

from gateway.control.order import Order


class NoteRow(Struct, frozen=True):
    path: str
    """Relative to the workspace."""
    chat: str
    """The chat whose people read it too, as `<channel>.<account>.<chat>`; empty if only the owner does."""
    day: date | None
    """Day in its name."""
    size: int
    """In bytes."""


class NoteEntry(Struct, frozen=True):
    mark: str
    """Identifies it even when lines above are added or removed."""
    first_line: int
    """From 1; both ends are included."""
    last_line: int
    text: str
    section: str
    """The headings above it, joined by " > "."""
    is_part: bool
    """It shares a line with another one: only the file can be edited."""
    is_others: bool
    """It holds others' words, as far as the history tells."""
    until: str = ""
    """The day until which it held; empty while it holds."""
    now_at: str = ""
    """The place that holds since then."""


class NotesAnswer(Struct, frozen=True):
    """The requested files, or one of them, and the action taken."""

    notes: tuple[NoteRow, ...] = ()
    text: str = ""
    digest: str = ""
    """SHA-256 of the file as it is now, in hex; empty if there is none."""
    entries: tuple[NoteEntry, ...] = ()
    difference: str = ""
    """Set if nothing was written because the file had changed: from the present text to the given one."""
    outcome: str = ""
    """Description of the action taken."""


class NotesOrder(Order[NotesAnswer], frozen=True):
    """A request to list or read an agent's notes, or to change one of their files."""

    act: Literal["list", "open", "read", "write", "correct", "forget"]
    """To open a file is to read it without its entries."""
    agent: str | None = None
    path: str = ""
    text: str = ""
    """The whole new text to write, or the new words of a note."""
    digest: str = ""
    """The file as the writer read it; empty for a new one."""
    mark: str = ""
    """The note to correct or forget."""
    is_for_others: bool = False
    """The owner knows that others read the file, and means it."""
