"""This file gives entries their vectors, and embeds no text twice: embeddings are kept by the text's hash."""

import hashlib
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workspaces.access import Scope
from workspaces.memory.chunking import without_time
from workspaces.memory.embeddings import TOKEN_DIMENSION, Embedder, Embedding
from workspaces.memory.embeddings.joined import Joined
from workspaces.memory.engine import FloatArray, TokenArray
from workspaces.memory.entry import Entry

_SCHEMA = """
CREATE TABLE IF NOT EXISTS embeddings (
    model TEXT NOT NULL, text BLOB NOT NULL, pooled BLOB NOT NULL, tokens BLOB NOT NULL,
    pieces BLOB NOT NULL,
    PRIMARY KEY (model, text)
);
"""


class EmbeddingCache:
    """Embeddings by model and text's hash in the file *path*; about 5.5 kB a text."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def get(self, model: str, text: str) -> Embedding | None:
        """Return the embedding of *text*, or `None`."""
        sql = "SELECT pooled, tokens, pieces FROM embeddings WHERE model = ? AND text = ?"
        row = self._db.execute(sql, (model, _hash(text))).fetchone()
        if row is None:
            return None
        tokens = np.frombuffer(row[1], np.float16).reshape(-1, TOKEN_DIMENSION)
        pieces = np.frombuffer(row[2], np.uint32)
        return Embedding(np.frombuffer(row[0], np.float32), tokens, frozenset(pieces.tolist()))

    def put(self, model: str, text: str, embedding: Embedding) -> None:
        """Keep *embedding*."""
        tokens = embedding.tokens.astype(np.float16).tobytes()
        pieces = np.array(sorted(embedding.piece_ids), np.uint32).tobytes()
        row = (model, _hash(text), embedding.pooled.astype(np.float32).tobytes(), tokens, pieces)
        self._db.execute("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?, ?)", row)

    def shrink(self, most: int) -> None:
        """Forget the oldest beyond *most* texts: an index that keeps changing must not grow for ever."""
        sql = (
            "DELETE FROM embeddings WHERE rowid <= (SELECT rowid FROM embeddings ORDER BY rowid DESC LIMIT 1 OFFSET ?)"
        )
        self._db.execute(sql, (most,))

    def close(self) -> None:
        """Release the file."""
        self._db.close()


@dataclass(frozen=True, slots=True, eq=False)
class EntryVectors:
    """What the engine stores of an entry's meaning."""

    dense: FloatArray
    """Of the entry alone: read with the one before it, it costs a second run of the model and finds no more."""
    tokens: TokenArray
    tokens_context: TokenArray
    pieces: tuple[int, ...]
    owes: bool = False
    """The provider's vector is still to be fetched; `dense` is zeros until then."""


WAIT_S = 0.02
"""How long a step of fetching waits: a search that arrives meanwhile is served after it."""


class Vectors:
    """An embedder that remembers."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._joined = embedder if isinstance(embedder, Joined) else None
        self._cache = cache
        self.embedded = 0
        """Texts that went through the model so far."""
        self.reused = 0
        """Texts whose embedding was known."""

    def learn(self, texts: Sequence[str]) -> None:
        """Embed at once those of *texts* that are not known: side by side they take half the time."""
        self._learn([without_time(text) for text in texts])

    def of(self, entry: Entry) -> EntryVectors:
        """Return the vectors of *entry*, whose text was learned."""
        alone = self._embedding(without_time(entry.text))
        before = self._embedding(without_time(entry.context)).tokens if entry.context else alone.tokens[:0]
        together = np.concatenate([before, alone.tokens])
        far = self._fetched(without_time(entry.text)) if self.wants_far(entry.scope) else None
        dense = alone.pooled if far is None else far
        owes = far is None and self.wants_far(entry.scope)
        return EntryVectors(dense, alone.tokens, together, tuple(alone.piece_ids), owes)

    def wants_far(self, scope: Scope) -> bool:
        """Say whether a provider is to embed the entries of *scope*."""
        return self._joined is not None and self._joined.may_leave(frozenset({scope}))

    def fetch(self, entries: Iterable[Entry]) -> Generator[None, None, None]:
        """Have the provider embed those of *entries* that may leave, in steps of 20 ms. Raises EndpointError."""
        if self._joined is None:
            return
        far = self._joined.far
        texts = (without_time(entry.text) for entry in entries if self.wants_far(entry.scope))
        unknown = [text for text in dict.fromkeys(texts) if self._fetched(text) is None]
        if not unknown:
            return
        coming = far.begin(unknown)
        while not coming.done():
            wait([coming], WAIT_S)
            yield
        no_tokens = np.zeros((0, TOKEN_DIMENSION), np.float16)
        for text, vector in zip(unknown, coming.result(), strict=True):
            self._cache.put(far.name, text, Embedding(vector, no_tokens, frozenset()))
        self.embedded += len(unknown)

    def _fetched(self, text: str) -> FloatArray | None:
        known = self._cache.get(self._joined.far.name, text) if self._joined else None
        return known.pooled if known else None

    def _learn(self, texts: Sequence[str]) -> None:
        unknown = [text for text in dict.fromkeys(texts) if self._cache.get(self._embedder.name, text) is None]
        self.reused += len(texts) - len(unknown)
        self.embedded += len(unknown)
        if unknown:
            for text, embedding in zip(unknown, self._embedder.embed(unknown), strict=True):
                self._cache.put(self._embedder.name, text, embedding)

    def _embedding(self, text: str) -> Embedding:
        known = self._cache.get(self._embedder.name, text)
        if known is None:
            self._learn([text])
            known = self._cache.get(self._embedder.name, text)
        assert known is not None  # noqa: S101 — it was put there a line above
        return known


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
