"""This file says what is indexed: documents are cut into entries, and each entry is one point of the collection."""

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from workspaces.access import Scope


@dataclass(frozen=True, slots=True)
class Document:
    """A text to index, as its source gives it."""

    path: str
    """Relative to the workspace, or what the source's citations begin with."""
    scope: Scope
    text: str
    date: date | None
    """The day that the text is about; `None` does not decay."""
    digest: str
    """Hash of everything else: the same digest needs no new work."""
    lines: tuple[int, ...] = ()
    """For each line of `text`, the line of the file that it was read from; empty where they are the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A passage that can be found: a list item, a paragraph, a turn, or a part of long prose."""

    path: str
    scope: Scope
    position: int
    """Its place among the document's entries, from 0; neighbours differ by one."""
    start_line: int
    """From 1, as an editor shows it; both ends belong to the entry."""
    end_line: int
    text: str
    """The passage as written, without list marker or heading marks."""
    section: str
    """The headings above it, joined by " > "; empty at the top of a file."""
    date: date | None
    context: str
    """The entry before it in the same section, or empty: read with it for meaning, never shown as part of it."""

    @property
    def citation(self) -> str:
        """Where it stands, as `path#Lx-Ly`."""
        return f"{self.path}#L{self.start_line}-L{self.end_line}"


class Source(Protocol):
    """Something that has documents to index."""

    def stamps(self) -> dict[str, str]:
        """Return a cheap mark of each document's state by path; an unchanged mark means an unchanged document."""

    def read(self, path: str) -> Document | None:
        """Return the document, or `None` if it is gone. Raises UnreadableDocumentError with the reason."""

    def audience(self, path: str) -> Scope | None:
        """Return who may find what stands at *path*, told by the path alone; `None` if it is not this source's."""


class UnreadableDocumentError(Exception):
    """A document cannot be indexed (binary, too large, not UTF-8); the message is the reason."""
