"""Who first wrote each line of the private notes, and on which day, read from all commits at once.

A line is known by its words, as in `line_origins.py`. The owner's later edit or approval of a line makes it theirs.
"""

from collections.abc import Iterable
from datetime import date

from msgspec import Struct

from workspaces.access import PRIVATE, scope_of
from workspaces.history.line_changes import FileChanges, Patch
from workspaces.history.line_origins import is_owners, line_key
from workspaces.history.messages import Origin


class WrittenBy(Struct, frozen=True):
    """A commit, as the writer of lines."""

    origin: Origin | None
    """`None` without a trailer: nobody knows."""
    day: date

    @property
    def is_owners(self) -> bool:
        """Whether the owner made or approved the change."""
        return self.origin is not None and is_owners(self.origin)


class LineWriters:
    """The writers of all lines of one agent: some 100 bytes a line, while a check-up runs."""

    def __init__(self) -> None:
        self._commits: list[WrittenBy] = []
        self._first: dict[int, int] = {}

    def of(self, line: str) -> WrittenBy | None:
        """Return who wrote *line*; `None` for one that no commit has, or without words."""
        key = line_key(line)
        place = self._first.get(key) if key is not None else None
        return None if place is None else self._commits[place]

    def read(self, patches: Iterable[Patch]) -> None:
        """Take in commits, oldest first."""
        for patch in patches:
            self._commits.append(WrittenBy(patch.origin, patch.day))
            for file in patch.files():
                self._learn(file)

    def _learn(self, file: FileChanges) -> None:
        if scope_of(file.path) != PRIVATE:
            return
        place = len(self._commits) - 1
        for hunk in file.hunks:
            for line in hunk.added:
                key = line_key(line)
                if key is not None and (key not in self._first or self._commits[place].is_owners):
                    self._first[key] = place
