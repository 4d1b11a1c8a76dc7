"""An agent's index folder: the collection that answers, and the one being built beside it.

    <index>/texts.db             embeddings by text, shared by all collections
    <index>/<layout>/            shard, manifest, and the mark `complete`
    <index>/held.json            a change of layout that was not taken into use
    <index>/as_of/<name>/        an index of an earlier day, for as long as it is searched

A layout is named after the embedder, its dimension and the version of chunking, tokenizer and vectors. A new one is
built in parallel; until it is complete the old one answers, by keywords only if its embedder cannot be loaded. Between
the two the gateway examines both: a new one that answers less is not taken into use, and the old one goes on.
"""

import sqlite3
from collections.abc import Callable, Generator
from itertools import chain
from pathlib import Path

from msgspec import Struct, structs

from workspaces.memory.index.collection import Collection
from workspaces.memory.index.edge import EdgeCollections
from workspaces.memory.index.embedding_store import EmbeddingStore
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.endpoint_errors import EndpointError
from workspaces.memory.index.engine import EngineAwayError, EngineBrokenError
from workspaces.memory.index.held import HeldChange, forget_held, read_held, write_held
from workspaces.memory.index.hybrid import CollectionStore
from workspaces.memory.index.settings import VERSION
from workspaces.memory.index.vectors import Vectors
from workspaces.memory.text.chunking import Chunking

KEYWORDS = "keywords"
STORE = "texts.db"
CACHED_TEXTS_A_POINT = 3
"""An entry needs one text; three times that is kept for texts that come back, such as an edit that is undone."""
CACHED_TEXTS_FLOOR = 10_000


class Layouts(Struct, frozen=True):
    """How notes are cut, and how earlier layouts are read."""

    chunking: Chunking = Chunking.ENTRIES
    former: Callable[[str], Embedder | None] = lambda _: None
    """Returns the embedder of an earlier layout by the layout's name; `None` if it cannot be loaded."""


THE_USUAL = Layouts()


class Index:
    """The open collections of one agent."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder | None,
        store: CollectionStore | None = None,
        embeddings: Path | None = None,
        layouts: Layouts = THE_USUAL,
    ) -> None:
        """Open the index in *folder*; a damaged one is removed and rebuilt from the files.

        *store* stores the collections, by default the folder itself; *embeddings* is another index's embedding
        store to share, which limits its own size. Raises EngineAwayError when its server is unavailable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._former, chunking = layouts.former, layouts.chunking
        self._folder = folder
        self._wanted = layout(embedder, chunking)
        self.held = self._held_change(self._wanted)
        """The change that was held back; `None` if the index has the layout that is configured."""
        if self.held and not self.held.is_accepted:
            embedder, chunking = self._embedder_of(self.held.serving, embedder), Chunking(self.held.chunking)
        self.embedder = embedder
        self._store: CollectionStore = store or EdgeCollections()
        self._embeddings = _open_embeddings(embeddings or folder / STORE)
        self._shares_embeddings = embeddings is not None
        self.vectors = Vectors(embedder, self._embeddings) if embedder else None
        self._chunking = chunking
        self._name = self.held.serving if self.held and not self.held.is_accepted else self._wanted
        self._old_embedder: Embedder | None = None
        self._old_name = ""
        try:
            self.building = self._open(self._name)
            self._old = None if self.building.is_complete else self._open_old()
        except EngineAwayError:
            self._close_vectors()
            raise

    @property
    def answering(self) -> Collection:
        """The collection that answers searches."""
        return self._old or self.building

    @property
    def answering_embedder(self) -> Embedder | None:
        """The embedder of the answering collection's vectors; `None`: keywords only."""
        return self._old_embedder if self._old else self.embedder

    @property
    def replaces(self) -> bool:
        """Whether the next collection would replace one that can be compared with it, and the owner has not decided."""
        if self._old is None or (self.held and self.held.is_accepted):
            return False
        return self._old_embedder is not None or self._old_name.startswith(KEYWORDS)

    def refuse(self, asked: int, before: int, after: int) -> None:
        """Keep the old collection in place of the next one, which is removed; the index has to be opened anew."""
        chunking = Chunking.WINDOWS if f"-{Chunking.WINDOWS}-v" in self._old_name else Chunking.ENTRIES
        held = HeldChange(self._old_name, self._wanted, chunking, asked, before, after)
        self.close()
        write_held(self._folder, held)
        self._store.remove(self._folder / self._name)

    def accept(self) -> None:
        """Take the change that was held back into use; the index has to be opened anew."""
        self.close()
        if self.held:
            write_held(self._folder, structs.replace(self.held, is_accepted=True))

    @property
    def is_rebuilding(self) -> bool:
        """Whether the next collection is still incomplete."""
        return not self.building.is_complete

    @property
    def is_gone(self) -> bool:
        """Whether it has to be opened anew: the folder was removed, or its server was away."""
        return self.building.is_gone or (self._old is not None and self._old.is_gone)

    @property
    def is_clean(self) -> bool:
        """Whether all its changes are durable."""
        return self.building.manifest.is_clean

    @property
    def owing(self) -> int:
        """Number of entries waiting for a provider's vector."""
        return len(self.building.owing)

    def settle(self) -> Generator[None, None, None]:
        """Fetch missing vectors, step by step, and make them durable. Raises EndpointError."""
        try:
            yield from self.building.settle()
        except EndpointError:
            self.commit(complete=False)  # vectors fetched before the failure
            raise
        self.commit(complete=False)

    def commit(self, complete: bool) -> None:
        """Make all changes durable; *complete*: all documents are indexed, so the new collection answers from now."""
        if self.building.commit() and self.vectors and not self._shares_embeddings:
            manifests = [collection.manifest for collection in (self.building, self._old) if collection]
            most = max(CACHED_TEXTS_FLOOR, CACHED_TEXTS_A_POINT * sum(len(each.points) for each in manifests))
            self._embeddings.shrink(most, lambda: chain.from_iterable(each.texts() for each in manifests))
        if complete and not self.building.is_complete:
            self.building.complete()
            self._retire_old()

    def close_for_long(self) -> None:
        """Release the folder, and the space of dead points in a collection too large to be swept while in use."""
        if self.building.is_littered:
            self.building.sweep()
        self.close()

    def close(self) -> None:
        """Release the folder."""
        for collection in filter(None, (self.building, self._old)):
            collection.close()
        self._close_vectors()

    def _close_vectors(self) -> None:
        if self.vectors:
            self.vectors.close()
        self._embeddings.close()

    def _open(self, name: str) -> Collection:
        dimension = self.embedder.dimension if self.embedder else 0
        try:
            return Collection(self._folder / name, dimension, self.vectors, self._store, self._chunking)
        except (EngineBrokenError, sqlite3.DatabaseError):
            self._store.remove(self._folder / name)
            return Collection(self._folder / name, dimension, self.vectors, self._store, self._chunking)

    def _open_old(self) -> Collection | None:
        for mark in sorted(self._folder.glob("*/complete")):
            embedder = self._embedder_of(mark.parent.name, self.embedder)
            vectors = Vectors(embedder, self._embeddings) if embedder else None
            try:
                old = Collection(mark.parent, embedder.dimension if embedder else 0, vectors, self._store)
            except (EngineBrokenError, sqlite3.DatabaseError):
                self._store.remove(mark.parent)
                continue
            self._old_embedder, self._old_name = embedder, mark.parent.name
            return old
        return None

    def _embedder_of(self, name: str, embedder: Embedder | None) -> Embedder | None:
        """Return the embedder of the layout *name*: *embedder*, if it is that, or a former one."""
        return embedder if embedder and name.startswith(layout_start(embedder)) else self._former(name)

    def _held_change(self, wanted: str) -> HeldChange | None:
        """Return the change to *wanted* that was held back, unless its predecessor cannot go on."""
        held = read_held(self._folder)
        if held and held.refused == wanted and (self._folder / held.serving / "complete").exists():
            return held
        forget_held(self._folder)
        return None

    def _retire_old(self) -> None:
        """Close the old collection; remove it unless its embedder is only temporarily missing."""
        if self._old:
            self._old.close()
            self._old = self._old_embedder = None
        forget_held(self._folder)
        self.held = None
        if self.embedder is None:
            return
        for mark in self._folder.glob("*/manifest.db"):
            if mark.parent.name != self._name:
                self._store.remove(mark.parent)


def layout(embedder: Embedder | None, chunking: Chunking = Chunking.ENTRIES) -> str:
    """Return the name of the collection for *embedder*, or none, and notes cut by *chunking*."""
    version = f"v{VERSION}" if chunking is Chunking.ENTRIES else f"{chunking}-v{VERSION}"
    if embedder is None:
        return f"{KEYWORDS}-{version}"
    return f"{layout_start(embedder)}{version}"


def layout_start(embedder: Embedder) -> str:
    """Return the beginning of the names of all layouts with *embedder*."""
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in embedder.name)
    return f"{name}-{embedder.dimension}-"


def _open_embeddings(path: Path) -> EmbeddingStore:
    try:
        return EmbeddingStore(path)
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return EmbeddingStore(path)
