"""Citations of lines, in the form that a search gives: `MEMORY.md#L3-L5`."""

import re
from contextlib import suppress
from datetime import date

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern

_CITATION = lazy_pattern(r"(.+?)#L(\d{1,9})(?:-L(\d{1,9}))?(?:@(\d{4}-\d{2}-\d{2}))?", re.ASCII)


class CitedLines(Struct, frozen=True):
    """Lines of a note or of a conversation, in the form that a citation names them."""

    path: str
    lines: range
    """From 1."""
    day: date | None = None
    """The version at the end of this day; `None` is now."""

    def __str__(self) -> str:
        day = f"@{self.day}" if self.day else ""
        return f"{self.path}#L{self.lines.start}-L{self.lines.stop - 1}{day}"


def cited_lines(text: str) -> CitedLines | None:
    """Return the lines that *text* cites; `None` if it is no citation."""
    if match := _CITATION.fullmatch(text.strip()):
        path, first, last, day = match.groups()
        with suppress(ValueError):  # there is no such day
            return CitedLines(path, range(int(first), int(last or first) + 1), date.fromisoformat(day) if day else None)
    return None
