"""An agent's index folder: the collection that answers, and the one being built beside it.

    <index>/texts.db             embeddings by text, shared by all collections
    <index>/<layout>/            shard, manifest, and the mark `complete`
    <index>/as_of/<name>/        an index of an earlier day, for as long as it is searched

A layout is named after the embedder, its dimension and the version of chunking, tokenizer and vectors. A new one is
built in parallel; until it is complete the old one answers, by keywords only if its vectors are of another model.
"""

import sqlite3
from collections.abc import Generator
from pathlib import Path

from workspaces.memory.index.collection import Collection
from workspaces.memory.index.edge import EdgeCollections
from workspaces.memory.index.embedding_store import EmbeddingStore
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.endpoint import EndpointError
from workspaces.memory.index.engine import EngineAwayError, EngineBrokenError
from workspaces.memory.index.hybrid import CollectionStore
from workspaces.memory.index.settings import VERSION
from workspaces.memory.index.vectors import Vectors
from workspaces.memory.text.chunking import Chunking

KEYWORDS = "keywords"
STORE = "texts.db"
OLDER_STORE = "vectors.db"
"""Embeddings of version 8."""
CACHED_TEXTS_A_POINT = 3
"""An entry needs one text; three times that is kept for texts that come back, such as an edit that is undone."""
CACHED_TEXTS_FLOOR = 10_000


class Index:
    """The open collections of one agent."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder | None,
        store: CollectionStore | None = None,
        embeddings: Path | None = None,
        chunking: Chunking = Chunking.ENTRIES,
    ) -> None:
        """Open the index in *folder*; a damaged one is removed and rebuilt from the files.

        *store* stores the collections, by default the folder itself; *embeddings* is another index's embedding
        store to share, which limits its own size. Raises EngineAwayError when its server is unavailable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.embedder = embedder
        self._folder = folder
        self._store: CollectionStore = store or EdgeCollections()
        self._embeddings = _open_embeddings(embeddings or folder / STORE)
        self._shares_embeddings = embeddings is not None
        self.vectors = Vectors(embedder, self._embeddings) if embedder else None
        self._chunking = chunking
        self._name = layout(embedder, chunking)
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
        return None if self._old else self.embedder

    @property
    def is_rebuilding(self) -> bool:
        """Whether the next collection is still incomplete."""
        return not self.building.is_complete

    @property
    def is_gone(self) -> bool:
        """Whether the folder was removed while open."""
        return self.building.is_gone

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
            manifest = self.building.manifest
            most = max(CACHED_TEXTS_FLOOR, CACHED_TEXTS_A_POINT * len(manifest.points))
            self._embeddings.shrink(most, manifest.texts)
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
            try:
                return Collection(mark.parent, 0, None, self._store)
            except (EngineBrokenError, sqlite3.DatabaseError):
                self._store.remove(mark.parent)
        return None

    def _retire_old(self) -> None:
        """Close the old collection; remove it unless its embedder is only temporarily missing."""
        if self._old:
            self._old.close()
            self._old = None
        if self.embedder is None:
            return
        self._embeddings.remove_older()
        for mark in self._folder.glob("*/manifest.db"):
            if mark.parent.name != self._name:
                self._store.remove(mark.parent)


def layout(embedder: Embedder | None, chunking: Chunking = Chunking.ENTRIES) -> str:
    """Return the name of the collection for *embedder*, or none, and notes cut by *chunking*."""
    version = f"v{VERSION}" if chunking is Chunking.ENTRIES else f"{chunking}-v{VERSION}"
    if embedder is None:
        return f"{KEYWORDS}-{version}"
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in embedder.name)
    return f"{name}-{embedder.dimension}-{version}"


def _open_embeddings(path: Path) -> EmbeddingStore:
    older = path.with_name(OLDER_STORE)
    try:
        return EmbeddingStore(path, older)
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return EmbeddingStore(path, older)
