"""Sources of memory by the mark `house`: one half never holds a line with it, the other half nothing else."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import structs

from workspaces.access import Scope
from workspaces.house import blanked
from workspaces.memory.entry import Document, Source, UnreadableDocumentError


@runtime_checkable
class CheaplyMarked(Protocol):
    """A source that can rule out the mark without reading a whole document."""

    def may_hold_house(self, path: str) -> bool:
        """Tell whether the document at *path* may hold a line with the mark."""


class MarkedDocuments:
    """Knows which documents of *source* hold a line with the mark."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[str, tuple[str, bool]] = {}

    @property
    def source(self) -> Source:
        return self._source

    @property
    def paths(self) -> frozenset[str]:
        """The documents with the mark when that was last looked at."""
        return frozenset(path for path, (_, holds) in self._known.items() if holds)

    def lines(self, path: str) -> frozenset[int]:
        """Return the lines with the mark of the document at *path*, as its citations number them."""
        try:
            document = self._source.read(path)
        except UnreadableDocumentError:
            return frozenset()
        house = () if document is None else document.house
        return frozenset(document.lines[each - 1] if document and document.lines else each for each in house)

    def split(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return the stamps of all documents, and the paths of those with the mark; reads only changed ones."""
        stamps = self._source.stamps()
        self._known = {path: (stamp, self._holds(path, stamp)) for path, stamp in stamps.items()}
        return stamps, self.paths

    def _holds(self, path: str, stamp: str) -> bool:
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        if isinstance(self._source, CheaplyMarked) and not self._source.may_hold_house(path):
            return False
        try:
            document = self._source.read(path)
        except UnreadableDocumentError:
            return False
        return document is not None and bool(document.house)


class OutsideSource:
    """The documents of a source without the lines that stay on the owner's machines."""

    def __init__(self, source: Source, marked: MarkedDocuments) -> None:
        self._source = source
        self._marked = marked

    def stamps(self) -> dict[str, str]:
        """Return the stamps of all documents; one with the mark has another stamp than before it had it."""
        stamps, marked = self._marked.split()
        return {path: f"{stamp}-outside" if path in marked else stamp for path, stamp in stamps.items()}

    def read(self, path: str) -> Document | None:
        """Return the document without such lines; the others keep their numbers."""
        document = self._source.read(path)
        return None if document is None else _without(document, document.house, "outside")

    def audience(self, path: str) -> Scope | None:
        return self._source.audience(path)


class HouseSource:
    """The lines of a source that stay on the owner's machines, and the headings above them."""

    def __init__(self, source: Source, marked: MarkedDocuments) -> None:
        self._source = source
        self._marked = marked

    def stamps(self) -> dict[str, str]:
        """Return the stamps of the documents with the mark."""
        stamps, marked = self._marked.split()
        return {path: stamp for path, stamp in stamps.items() if path in marked}

    def read(self, path: str) -> Document | None:
        """Return such lines of the document; `None` if it has none."""
        document = self._source.read(path)
        if document is None or not document.house:
            return None
        stays = {*document.house}
        lines = enumerate(document.text.split("\n"), 1)
        others = [number for number, line in lines if number not in stays and not line.startswith("#")]
        return _without(document, others, "house")

    def audience(self, path: str) -> Scope | None:
        return self._source.audience(path)


def _without(document: Document, lines: Sequence[int], half: str) -> Document:
    if not document.house:
        return document
    digest = f"{document.digest}-{half}-{hash(document.house):x}"
    return structs.replace(document, text=blanked(document.text, lines), digest=digest)
