"""Writing of daily notes: one file per day and audience, one list item per note, each with its time of day."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath

from workspaces.access import PRIVATE, Access, rights, scope_folder
from workspaces.workspace import Workspace

_FORGERY = re.compile(r"\A(?:#{1,6}(?:\s|$)|=+\s*$|-+\s*$|[-*+]\s+\d\d:\d\d\b)")
"""Line starts that would read as a heading, a rule below one, or a note of its own."""


@dataclass(frozen=True, slots=True)
class NoteReceipt:
    """Location of a note, as read back from disk."""

    path: PurePosixPath
    line: int
    """Number of the note's first line, from 1."""


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
