"""Division of a transcript into parts of equally many lines, each read by itself.

Parts are counted in lines and not in bytes: a line's length depends on numbers that count the messages of all chats.
"""

import sys
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import PART_LINES

AHEAD_LINES = 20
"""Lines after a part that are read with it: the answer tells whether a message was a command."""
_SHORTEST_LINE = 50
"""In bytes; a smaller file than a part of such lines is one part, and is not scanned for a list."""
_OUTSIDE = lazy_pattern(rb'"from_outside":true|"pictures":\[\{')
"""Cannot occur inside a text, where quotation marks are escaped."""


class TranscriptParts(Struct):
    """The parts of the transcript with number *inode*, as far as it was read."""

    inode: int
    read: int = 0
    lines: int = 0
    starts: list[int] = field(default_factory=lambda: [0])
    """The offset of each part, in bytes; the last one may be empty."""
    outside_from: int = sys.maxsize
    """The first line, from 1, whose record holds others' words; beyond every line without one."""

    @property
    def closed(self) -> int:
        """Number of parts that further lines do not change."""
        return max((self.lines - AHEAD_LINES) // PART_LINES, 0)

    @property
    def count(self) -> int:
        """Number of parts with a line; at least one."""
        return max(-(-self.lines // PART_LINES), 1)

    def scan(self, file: Path) -> None:
        """Read on to the last whole line: 100,000 lines take 0.05 s."""
        with file.open("rb") as content:
            content.seek(self.read)
            for line in content:
                if not line.endswith(b"\n"):  # being written
                    return
                self.read += len(line)
                self.lines += 1
                if self.outside_from > self.lines and _OUTSIDE.search(line):
                    self.outside_from = self.lines
                if self.lines % PART_LINES == 0:
                    self.starts.append(self.read)

    def lines_of(self, file: Path, part: int) -> list[bytes]:
        """Return the lines of *part*, below `count`, and some after them."""
        with file.open("rb") as content:
            content.seek(self.starts[part])
            return list(islice(content, PART_LINES + AHEAD_LINES))


class PartsCache:
    """The parts of transcripts with more than one, scanned once."""

    def __init__(self) -> None:
        self._known: dict[Path, TranscriptParts] = {}

    def of(self, file: Path) -> TranscriptParts:
        """Return the parts of *file*. Raises FileNotFoundError."""
        facts = file.stat()
        known = self._known.pop(file, None)
        if known is None or known.inode != facts.st_ino or known.read > facts.st_size:
            known = TranscriptParts(facts.st_ino)
        known.scan(file)
        if known.count > 1:
            self._known[file] = known
        return known

    def of_large(self, file: Path, size: int) -> TranscriptParts | None:
        """Return the parts of *file* of *size* bytes; `None` if it is too small for two."""
        return None if size < PART_LINES * _SHORTEST_LINE else self.of(file)

    def forget_all_but(self, files: set[Path]) -> None:
        for gone in self._known.keys() - files:
            del self._known[gone]
