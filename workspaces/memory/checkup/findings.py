"""Findings of the check-up: the fault of an entry, and the change that would mend it."""

from enum import StrEnum

from msgspec import Struct

from workspaces.memory.checkup.noted import NotedEntry, digest_of


class FindingKind(StrEnum):
    """Kinds of findings, in the order in which they are proposed: of several about one entry, the first counts."""

    COPIED = "copied"
    """It repeats the agent's instructions."""
    LOOPED = "looped"
    """It repeats a note that a search or recall had shown in the turn that wrote it, and nobody had said it again."""
    DOUBLE = "double"
    """It says the same as another entry."""
    INVENTED = "invented"
    """It names somebody of whom nobody ever spoke."""
    OUTDATED = "outdated"
    """A later entry gives another value of the same thing, or denies it."""
    STALE = "stale"
    """Its date is past."""
    PROMOTION = "promotion"
    """A note of a day that belongs into `MEMORY.md`."""

    @property
    def in_words(self) -> str:
        """Its name for people."""
        return _WORDS[self]


_WORDS = {
    FindingKind.COPIED: "copied from instructions",
    FindingKind.LOOPED: "repeated from memory itself",
    FindingKind.DOUBLE: "double",
    FindingKind.INVENTED: "invented",
    FindingKind.OUTDATED: "outdated",
    FindingKind.STALE: "stale",
    FindingKind.PROMOTION: "worth keeping",
}


class NoteFinding(Struct, frozen=True):
    """A finding about one entry."""

    kind: FindingKind
    entry: NotedEntry
    reason: str
    """A sentence without its full stop, for people."""
    beside: NotedEntry | None = None
    """The entry that it repeats, or that holds instead."""
    after: str | None = None
    """The lines to put in the place of the entry's, or to add for a promotion; `None` removes them."""

    @property
    def mark(self) -> str:
        """Identifies the finding as long as its entry and the proposed change are the same."""
        is_replaced = self.kind is FindingKind.OUTDATED and self.beside is not None
        change = self.beside.raw if is_replaced and self.beside else self.after or ""  # a line's number may change
        return digest_of(self.kind, self.entry.path, self.entry.raw, change, str(self.entry.copy))
