"""Vectors of entries, embedded beside other work, each text once."""

import os
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from msgspec import Struct

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.index.embedding_store import EmbeddingStore, StoredEmbedding
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding
from workspaces.memory.index.embeddings.joined import Joined
from workspaces.memory.index.engine import FloatArray
from workspaces.memory.index.late_interaction import TextId
from workspaces.memory.text.dialogue import without_time


class EntryVectors(Struct, frozen=True, eq=False):
    """An entry's stored vectors."""

    dense: FloatArray
    """Of the entry alone: embedding it with the previous one costs a second run of the model and finds no more."""
    own: TextId
    """The entry's text in the store, which has its token vectors."""
    before: TextId
    """The text of the previous entry in the section; 0 without one."""
    pieces: bytes
    owes: bool = False
    """The provider's vector is missing; `dense` is zeros until then."""


WAIT_S = 0.005
"""How long a step waits for embeddings: a search that arrives meanwhile is served after it."""
PORTION = 64
PORTION_CHARACTERS = 8_000
"""Texts embedded at once, in characters: 100 ms of two cores, the work lost by a kill."""
NICENESS = 10
"""Priority of the threads that embed notes: a search, which embeds its question meanwhile, gets a core at once."""
PORTIONS_AT_ONCE = 2
"""The next portion starts while the last texts of one use at most one core."""


class Portion(Struct, frozen=True, eq=False):
    """Texts being embedded."""

    texts: Sequence[str]
    coming: "Future[list[Embedding]]"


class Learning(Struct, frozen=True):
    """Pending embeddings of a document's texts."""

    portions: Sequence[Portion]
    embedded: int
    """Texts embedded by the model."""
    reused: int
    """Texts cached, or already being embedded."""


class Vectors:
    """An embedder with a store and its own threads; closed by `close`."""

    def __init__(self, embedder: Embedder, store: EmbeddingStore) -> None:
        self._embedder = embedder
        self._joined = embedder if isinstance(embedder, Joined) else None
        self.store = store
        self.embedded = 0
        """Texts embedded by the model so far."""
        self.reused = 0
        """Texts with a cached embedding."""
        self._threads = ThreadPoolExecutor(PORTIONS_AT_ONCE, "embedding", initializer=_give_way)
        self._under_way: dict[str, Portion] = {}

    def begin(self, texts: Sequence[str]) -> Learning:
        """Start embedding the uncached ones of *texts*, in the background."""
        asked = [without_time(text) for text in texts]
        distinct = dict.fromkeys(asked)
        shared = {id(portion): portion for text in distinct if (portion := self._under_way.get(text))}
        unknown = [text for text in distinct if text not in self._under_way and not self._is_known(text)]
        portions = [*shared.values(), *map(self._hand_on, _portions(unknown))]
        learning = Learning(portions, len(unknown), len(asked) - len(unknown))
        self.embedded += learning.embedded
        self.reused += learning.reused
        return learning

    def arrive(self, learning: Learning) -> Generator[None, None, None]:
        """Wait, in steps of 5 ms, until all its texts are embedded."""
        for portion in learning.portions:
            while not portion.coming.done():
                wait([portion.coming], WAIT_S)
                yield
            self._keep(portion)

    def close(self) -> None:
        """Cancel pending work; completed embeddings are kept."""
        self._threads.shutdown(cancel_futures=True)

    def of(self, entry: Entry) -> EntryVectors:
        """Return the vectors of *entry*, whose text is embedded."""
        alone = self._embedding(without_time(entry.text))
        before = self._embedding(without_time(entry.context)).id if entry.context else 0
        far = self._fetch(without_time(entry.text)) if self.wants_far(entry.scope) else None
        dense = alone.pooled if far is None else far
        owes = far is None and self.wants_far(entry.scope)
        return EntryVectors(dense, alone.id, before, alone.pieces, owes)

    def wants_far(self, scope: Scope) -> bool:
        """Tell whether a provider embeds the entries of *scope*."""
        return self._joined is not None and self._joined.may_leave(frozenset({scope}))

    def fetch(self, entries: Iterable[Entry]) -> Generator[None, None, None]:
        """Fetch the provider's vectors of those *entries* that may be sent, in steps of 5 ms. Raises EndpointError."""
        if self._joined is None:
            return
        far = self._joined.far
        texts = (without_time(entry.text) for entry in entries if self.wants_far(entry.scope))
        unknown = [text for text in dict.fromkeys(texts) if self._fetch(text) is None]
        if not unknown:
            return
        coming = far.begin(unknown)
        while not coming.done():
            wait([coming], WAIT_S)
            yield
        no_tokens = np.zeros((0, TOKEN_DIMENSION), np.float16)
        vectors = zip(unknown, coming.result(), strict=True)
        self.store.put(far.name, [(text, Embedding(vector, no_tokens, frozenset())) for text, vector in vectors])
        self.embedded += len(unknown)

    def _fetch(self, text: str) -> FloatArray | None:
        known = self.store.get(self._joined.far.name, text) if self._joined else None
        return known.pooled if known else None

    def _is_known(self, text: str) -> bool:
        return self.store.get(self._embedder.name, text) is not None

    def _hand_on(self, texts: Sequence[str]) -> Portion:
        portion = Portion(texts, self._threads.submit(self._embedder.embed, texts))
        self._under_way |= dict.fromkeys(texts, portion)
        return portion

    def _keep(self, portion: Portion) -> None:
        """Cache the results, unless another document waiting for the same texts already did."""
        waited_for = [text for text in portion.texts if self._under_way.pop(text, None)]
        if waited_for:
            self.store.put(self._embedder.name, zip(portion.texts, portion.coming.result(), strict=True))

    def _embedding(self, text: str) -> StoredEmbedding:
        known = self.store.get(self._embedder.name, text)
        if known is None:  # the head of a table, which is not an entry
            self.embedded += 1
            self.store.put(self._embedder.name, zip([text], self._embedder.embed([text]), strict=True))
            known = self.store.get(self._embedder.name, text)
            assert known is not None  # noqa: S101 — it has just been stored
        return known


def _give_way() -> None:
    """Lower the priority of this thread and of those that it starts. Elsewhere than on Linux it is the process's."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), NICENESS))


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split *texts* into portions that are embedded at once."""
    portion: list[str] = []
    characters = 0
    for text in texts:
        portion.append(text)
        characters += len(text)
        if len(portion) == PORTION or characters > PORTION_CHARACTERS:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion
