"""Writing of daily notes: one file per day and audience, one list item per note, each with its time of day."""

import unicodedata
from datetime import date, datetime
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import PRIVATE, Access, rights, scope_folder
from workspaces.errors import NoSuchFileError, NotTextError, TooLargeError
from workspaces.lazy_pattern import lazy_pattern
from workspaces.workspace import Workspace

_FORGERY = lazy_pattern(r"\A(?:#{1,6}(?:\s|$)|=+\s*$|-+\s*$|[-*+]\s+\d\d:\d\d\b)")
"""Line starts that would read as a heading, a rule below one, or a note of its own."""
_TIMED = lazy_pattern(r"- \d\d:\d\d ")
_LEAD, _CONTINUED = len("- 09:05 "), "  "


class NoteReceipt(Struct, frozen=True):
    """Location of a note, as read back from disk."""

    path: PurePosixPath
    line: int
    """Number of the note's first line, from 1."""
    is_repeated: bool = False
    """It stood there already, so nothing was written."""


def append_note(workspace: Workspace, access: Access, text: str, at: datetime) -> NoteReceipt:
    """Append *text* to the daily notes of *at*, which carries the owner's zone, and return its location.

    The note goes to the turn's own audience. Raises ValueError for an empty text or a time without a zone, and
    NoSuchFileError when *access* may not write notes.
    """
    if at.tzinfo is None:
        raise ValueError("the time of a note needs a time zone")
    path = day_path(access, at.date())
    line = workspace.append(path, format_note(text, at), f"# {at:%Y-%m-%d}\n\n", access)
    return NoteReceipt(path, line)


def append_once(workspace: Workspace, access: Access, text: str, at: datetime) -> NoteReceipt:
    """Do the same, unless the day's private notes have *text* already; in a group it may be another person's.

    Raises the errors of `append_note`.
    """
    path = day_path(access, at.date())
    known = _place_of(format_note(text, at), workspace, access, path) if rights(access).private else 0
    return NoteReceipt(path, known, is_repeated=True) if known else append_note(workspace, access, text, at)


def _place_of(note: str, workspace: Workspace, access: Access, path: PurePosixPath) -> int:
    """Return the number of the line at which *path* has *note*, with whatever time; 0 if it has not."""
    try:
        lines = workspace.read(path, access).whole.splitlines()
    except (NoSuchFileError, NotTextError, TooLargeError):
        return 0
    first, *further = note.splitlines()
    end = len(further) + 1
    for place, line in enumerate(lines):
        is_same = _timeless(line) == _timeless(first) and lines[place + 1 : place + end] == further
        if is_same and not "".join(lines[place + end : place + end + 1]).startswith(_CONTINUED):
            return place + 1
    return 0


def _timeless(line: str) -> str:
    """Return *line* without the time of day, in small letters; unchanged if it is no note."""
    return f"- {line[_LEAD:].casefold()}" if _TIMED.match(line) else line


def day_path(access: Access, day: date) -> PurePosixPath:
    """Return the path of a turn's daily notes with *access*."""
    if rights(access).private or access.scope == PRIVATE:
        return PurePosixPath("memory") / f"{day}.md"
    return scope_folder(access.scope) / f"{day}.md"


def format_note(text: str, at: datetime) -> str:
    """Return *text* as one list item, `- HH:MM text`; its further lines are indented and cannot forge another note.

    Raises ValueError for an empty text.
    """
    return list_item(text, f"{at:%H:%M} ")


def list_item(text: str, lead: str = "") -> str:
    """Return *text* as one list item, after *lead*; no line of it can pass as a heading or as another note.

    Raises ValueError for an empty text.
    """
    lines = [_plain(line) for line in text.splitlines()]
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ValueError("the note is empty")
    first, *further = lines
    begin = first.strip() if lead else _escaped_line(first.strip())
    return "".join([f"- {lead}{begin}\n", *(f"  {_escaped_line(line)}\n" for line in further)])


def _plain(line: str) -> str:
    return "".join(char for char in line.rstrip() if char == "\t" or unicodedata.category(char) != "Cc")


def _escaped_line(line: str) -> str:
    """Escape text that would read as a heading or as another note; indentation, as of nested lists, stays."""
    body = line.lstrip()
    return line[: len(line) - len(body)] + ("\\" if _FORGERY.match(body) else "") + body
