"""Passages: a result with the statement to which it leaves its subject, and with the one that leaves its own to it."""

from collections.abc import Sequence

from workspaces.memory.entry import Entry
from workspaces.memory.index.ranking import REACH, EntryFacts, answers
from workspaces.memory.text.dialogue import LineKind, draws_on, read_line, refers_back
from workspaces.memory.text.reminder_orders import orders_reminder


class Places:
    """The candidates of a search by their places in files."""

    def __init__(self, entries: Sequence[EntryFacts]) -> None:
        self._entries = entries
        self._rows = {(entry.path, entry.position): row for row, entry in enumerate(entries)}

    def beside(self, entry: Entry, kind: LineKind) -> tuple[int | None, int | None]:
        """Return the rows of its speaker's statements before and after *entry*, or of the question that it answers.

        Only a statement, of *kind*, has any; at most one line stands between.
        """
        here = self._rows.get((entry.path, entry.position))
        if here is None or kind is not LineKind.SAYS:
            return None, None
        asked = self._rows.get((entry.path, entry.position - 1))
        if asked is not None and answers(self._entries[asked], self._entries[here]):
            return asked, None
        before, after = (self._nearest(here, sign) for sign in (-1, 1))
        return before, after

    def _nearest(self, here: int, sign: int) -> int | None:
        own = self._entries[here]
        for step in range(1, REACH + 1):
            row = self._rows.get((own.path, own.position + sign * step))
            known = None if row is None else self._entries[row]
            if known and (known.kind, known.speaker) == (LineKind.SAYS, own.speaker):
                return row
        return None


def needed_before(entry: Entry, before: Entry | None) -> Entry | None:
    """Return *before* if *entry* leaves its subject to it."""
    return before if refers_back(read_line(entry.text).text) else None


def needed_after(after: Entry | None, *, is_best: bool = False) -> Entry | None:
    """Return *after* if it leaves its own subject to the line before, or draws on it.

    What follows the best result need not: people tell a thing in several messages. An order to remind begins another.
    """
    if after is None:
        return None
    text = read_line(after.text).text
    is_needed = not orders_reminder(text) if is_best else refers_back(text) or draws_on(text)
    return after if is_needed else None
