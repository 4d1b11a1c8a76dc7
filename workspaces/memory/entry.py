"""Units of the index: documents are cut into entries, and each entry is one point of the collection."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from msgspec import Struct

from workspaces.access import Scope

PART_LINES = 500
"""Lines of a conversation that are a document by themselves: each is read and cut within some 50 ms."""
_PART = "//"
"""Before the number of a part; no other path has it."""


def part_path(path: str, number: int) -> str:
    """Return the path of the document that is part *number*, from 0, of the conversation at *path*."""
    return f"{path}{_PART}{number:05}" if number else path


def split_path(path: str) -> tuple[str, int]:
    """Return the path of the file that the document at *path* was read from, and the number of its part."""
    file, _, number = path.partition(_PART)
    return file, int(number) if number.isdecimal() else 0


def cited_path(path: str) -> str:
    """Return the path of the document at *path* in citations: its file's."""
    return split_path(path)[0]


class Document(Struct, frozen=True):
    """A text to index, as read from its source."""

    path: str
    """Relative to the workspace; of a long conversation, its part's (`part_path`)."""
    scope: Scope
    text: str
    date: date | None
    """Day of the text's content; without decay if `None`."""
    digest: str
    """Hash of all other fields: an unchanged digest means no new work."""
    lines: tuple[int, ...] = ()
    """For each line of `text`, the line number in its file; empty if they are the same."""
    others: tuple[int, ...] = ()
    """The lines of `text`, from 1, that hold other people's words."""
    house: tuple[int, ...] = ()
    """The lines of `text`, from 1, that stay on the owner's machines."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A searchable passage: a list item, a paragraph, a turn, or a part of long prose."""

    path: str
    scope: Scope
    position: int
    """Index among the document's entries, from 0; neighbours differ by one."""
    start_line: int
    """From 1, as shown by an editor; both ends are included."""
    end_line: int
    text: str
    """The passage as written, without list or heading marks."""
    section: str
    """The headings above it, joined by " > "; empty at the top of a file."""
    date: date | None
    context: str
    """The previous entry in the same section, or empty: used for meaning, never shown as part of this one."""
    is_others: bool = field(default=False, repr=False)
    """A line of it holds other people's words."""

    @property
    def citation(self) -> str:
        """Location, as `path#Lx-Ly`."""
        return f"{cited_path(self.path)}#L{self.start_line}-L{self.end_line}"


class Source(Protocol):
    """A provider of documents to index."""

    def stamps(self) -> dict[str, str]:
        """Return a cheap stamp of each document's state by path; an unchanged stamp means an unchanged document."""

    def read(self, path: str) -> Document | None:
        """Return the document, or `None` if it is gone. Raises UnreadableDocumentError with the reason."""

    def audience(self, path: str) -> Scope | None:
        """Return the audience of *path*, derived from the path alone; `None` if it is not this source's."""


class UnreadableDocumentError(Exception):
    """A document cannot be indexed (binary, too large, not UTF-8); the message is the reason."""


class ReadableDocuments(Struct, frozen=True):
    """The documents of *sources* for readers of *scopes* (`None`: all); its methods block."""

    sources: Sequence[Source]
    scopes: frozenset[Scope] | None

    def stamps(self) -> dict[str, str]:
        """Return a cheap stamp of each document; reads none of them."""
        found = ((source, source.stamps()) for source in self.sources)
        return {p: at for source, every in found for p, at in every.items() if is_for(self.scopes, source.audience(p))}

    def read(self, path: str) -> Document | None:
        """Return the document at *path*, or `None`. Raises UnreadableDocumentError."""
        for source in self.sources:
            audience = source.audience(path)
            if audience is not None and is_for(self.scopes, audience):
                return source.read(path)
        return None


def is_for(scopes: frozenset[Scope] | None, audience: Scope | None) -> bool:
    return scopes is None or audience in scopes
