"""Vectors of entries, with a cache by the text's hash: no text is embedded twice."""

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding
from workspaces.memory.index.embeddings.joined import Joined
from workspaces.memory.index.engine import FloatArray, TokenArray
from workspaces.memory.text.dialogue import without_time

_SCHEMA = """
CREATE TABLE IF NOT EXISTS embeddings (
    model TEXT NOT NULL, text BLOB NOT NULL, pooled BLOB NOT NULL, tokens BLOB NOT NULL,
    pieces BLOB NOT NULL,
    PRIMARY KEY (model, text)
);
"""


RECENT_BYTES = 4 * 1024 * 1024
"""Size of the cache of new embeddings: each is read three times when its entry and the next are stored. Those of one
document are some 60 kB per thousand characters, and 30,000 of these are ahead.
"""
_BYTES_A_PIECE = 70
"""Size of a number in a Python set, with its share of the table."""


class EmbeddingCache:
    """Embeddings by model and text hash in the file *path*; about 5.5 kB a text."""

    def __init__(self, path: Path) -> None:
        self._recent: OrderedDict[tuple[str, str], Embedding] = OrderedDict()
        self._recent_bytes = 0
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def get(self, model: str, text: str) -> Embedding | None:
        """Return the embedding of *text*, or `None`."""
        if recent := self._recent.get((model, text)):
            return recent
        sql = "SELECT pooled, tokens, pieces FROM embeddings WHERE model = ? AND text = ?"
        row = self._db.execute(sql, (model, _hash(text))).fetchone()
        if row is None:
            return None
        tokens = np.frombuffer(row[1], np.float16).reshape(-1, TOKEN_DIMENSION)
        pieces = np.frombuffer(row[2], np.uint32)
        return Embedding(np.frombuffer(row[0], np.float32), tokens, frozenset(pieces.tolist()))

    def put(self, model: str, embeddings: Iterable[tuple[str, Embedding]]) -> None:
        """Store *embeddings* by their texts, all in one transaction."""
        new = {(model, text): embedding for text, embedding in embeddings}
        self._db.execute("BEGIN")
        rows = (_row(model, text, embedding) for (_, text), embedding in new.items())
        self._db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute("COMMIT")
        for key, embedding in new.items():
            self._remember(key, embedding)

    def shrink(self, most: int) -> None:
        """Delete the oldest beyond *most* texts: an index that keeps changing must not grow for ever."""
        sql = (
            "DELETE FROM embeddings WHERE rowid <= (SELECT rowid FROM embeddings ORDER BY rowid DESC LIMIT 1 OFFSET ?)"
        )
        self._db.execute(sql, (most,))
        self._recent.clear()
        self._recent_bytes = 0

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def _remember(self, key: tuple[str, str], embedding: Embedding) -> None:
        """Cache an embedding as the newest, and evict as many of the oldest as necessary."""
        if (known := self._recent.pop(key, None)) is not None:
            self._recent_bytes -= _bytes_of(known)
        self._recent[key] = embedding
        self._recent_bytes += _bytes_of(embedding)
        while self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= _bytes_of(self._recent.popitem(last=False)[1])


@dataclass(frozen=True, slots=True, eq=False)
class EntryVectors:
    """An entry's stored vectors."""

    dense: FloatArray
    """Of the entry alone: embedding it with the previous one costs a second run of the model and finds no more."""
    tokens: TokenArray
    tokens_context: TokenArray
    pieces: tuple[int, ...]
    owes: bool = False
    """The provider's vector is missing; `dense` is zeros until then."""


WAIT_S = 0.005
"""How long a step waits for embeddings: a search that arrives meanwhile is served after it."""
PORTION = 64
PORTION_CHARACTERS = 8_000
"""Texts embedded at once, in characters: 100 ms of two cores, the work lost by a kill."""
PORTIONS_AT_ONCE = 2
"""The next portion starts while the last texts of one use at most one core."""


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Texts being embedded."""

    texts: Sequence[str]
    coming: "Future[list[Embedding]]"


@dataclass(frozen=True, slots=True)
class Learning:
    """Pending embeddings of a document's texts."""

    portions: Sequence[Portion]
    embedded: int
    """Texts embedded by the model."""
    reused: int
    """Texts cached, or already being embedded."""


class Vectors:
    """An embedder with a cache and its own threads; closed by `close`."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._joined = embedder if isinstance(embedder, Joined) else None
        self._cache = cache
        self.embedded = 0
        """Texts embedded by the model so far."""
        self.reused = 0
        """Texts with a cached embedding."""
        self._threads = ThreadPoolExecutor(PORTIONS_AT_ONCE, thread_name_prefix="embedding")
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
        before = self._embedding(without_time(entry.context)).tokens if entry.context else alone.tokens[:0]
        together = np.concatenate([before, alone.tokens])
        far = self._fetch(without_time(entry.text)) if self.wants_far(entry.scope) else None
        dense = alone.pooled if far is None else far
        owes = far is None and self.wants_far(entry.scope)
        return EntryVectors(dense, alone.tokens, together, tuple(alone.piece_ids), owes)

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
        self._cache.put(far.name, [(text, Embedding(vector, no_tokens, frozenset())) for text, vector in vectors])
        self.embedded += len(unknown)

    def _fetch(self, text: str) -> FloatArray | None:
        known = self._cache.get(self._joined.far.name, text) if self._joined else None
        return known.pooled if known else None

    def _is_known(self, text: str) -> bool:
        return self._cache.get(self._embedder.name, text) is not None

    def _hand_on(self, texts: Sequence[str]) -> Portion:
        portion = Portion(texts, self._threads.submit(self._embedder.embed, texts))
        self._under_way |= dict.fromkeys(texts, portion)
        return portion

    def _keep(self, portion: Portion) -> None:
        """Cache the results, unless another document waiting for the same texts already did."""
        waited_for = [text for text in portion.texts if self._under_way.pop(text, None)]
        if waited_for:
            self._cache.put(self._embedder.name, zip(portion.texts, portion.coming.result(), strict=True))

    def _embedding(self, text: str) -> Embedding:
        known = self._cache.get(self._embedder.name, text)
        if known is None:  # the head of a table, which is not an entry, or evicted from the cache
            [known] = self._embedder.embed([text])
            self.embedded += 1
            self._cache.put(self._embedder.name, [(text, known)])
        return known


def _row(model: str, text: str, embedding: Embedding) -> tuple[str, bytes, bytes, bytes, bytes]:
    pieces = np.array(sorted(embedding.piece_ids), np.uint32).tobytes()
    pooled, tokens = embedding.pooled.astype(np.float32), embedding.tokens.astype(np.float16)
    return model, _hash(text), pooled.tobytes(), tokens.tobytes(), pieces


def _bytes_of(embedding: Embedding) -> int:
    return embedding.pooled.nbytes + embedding.tokens.nbytes + _BYTES_A_PIECE * len(embedding.piece_ids)


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


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
