"""The embeddings of texts, each stored once: pooled vectors for rebuilding, token vectors for scoring.

A text is found by its hash, so that no text is embedded twice, and has a number, by which entries refer to it.
"""

import hashlib
import sqlite3
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from workspaces.memory.index.embeddings import Embedding
from workspaces.memory.index.engine import FloatArray
from workspaces.memory.index.late_interaction import TextId, pack
from workspaces.memory.index.points import portions

_PAGE_BYTES = 16_384
"""Of the file: a row of 3 kB would leave a quarter of a usual page of 4 kB empty."""
_MAPPED_BYTES = 2**30
"""Most of the file that is mapped instead of copied page by page: a search reads 260 texts all over it."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, tokens BLOB NOT NULL, pieces BLOB NOT NULL,
    pooled BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS state (identity TEXT NOT NULL);
"""
RECENT_BYTES = 4 * 1024 * 1024
"""Size of the cache of new embeddings, without token vectors: each is read three times when its entry and the next are
stored, and those of 30,000 characters are ahead.
"""
_LARGEST = 127


class StoredEmbedding(Struct, frozen=True, eq=False):
    """The stored embedding of a text, without its token vectors."""

    id: TextId
    pooled: FloatArray
    """Shape [dimension]; empty if all were zeros."""
    pieces: bytes
    """Its distinct word pieces, each of 32 bits."""

    @property
    def size(self) -> int:
        """Size in memory, in bytes."""
        return self.pooled.nbytes + len(self.pieces)


class EmbeddingStore:
    """Embeddings by model and text in the file *path*: 66 bytes a token vector, one a pooled vector's dimension."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises sqlite3.DatabaseError for a damaged one."""
        self._recent: OrderedDict[tuple[str, str], StoredEmbedding] = OrderedDict()
        self._recent_bytes = 0
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._db.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
            self._db.executescript(_SCHEMA)
            sql = "INSERT INTO state SELECT ? WHERE NOT EXISTS (SELECT 1 FROM state)"
            self._db.execute(sql, (uuid.uuid4().hex,))
            [self.identity] = self._db.execute("SELECT identity FROM state").fetchone()
            """Changes when the file is created anew: numbers of texts are valid for one file only."""
        except sqlite3.DatabaseError:
            self._db.close()
            raise

    def get(self, model: str, text: str) -> StoredEmbedding | None:
        """Return the embedding of *text*, or `None`."""
        if recent := self._recent.get((model, text)):
            return recent
        sql = "SELECT id, pooled, pieces FROM texts WHERE hash = ?"
        row = self._db.execute(sql, (_hash(model, text),)).fetchone()
        return None if row is None else StoredEmbedding(row[0], _unpack_pooled(row[1]), row[2])

    def put(self, model: str, embeddings: Iterable[tuple[str, Embedding]]) -> None:
        """Store *embeddings* by their texts, all in one transaction; a known text keeps its number."""
        sql = (
            "INSERT INTO texts (hash, tokens, pieces, pooled) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE"
            " SET tokens = excluded.tokens, pieces = excluded.pieces, pooled = excluded.pooled RETURNING id"
        )
        self._db.execute("BEGIN")
        for text, embedding in embeddings:
            pooled = _pack_pooled(embedding.pooled)
            pieces = np.array(sorted(embedding.piece_ids), np.uint32).tobytes()
            row = _hash(model, text), pack(embedding.tokens), pieces, pooled
            [id_] = self._db.execute(sql, row).fetchone()
            self._remember((model, text), StoredEmbedding(id_, _unpack_pooled(pooled), pieces))
        self._db.execute("COMMIT")

    def tokens(self, ids: Sequence[TextId]) -> dict[TextId, bytes]:
        """Return the packed token vectors of the known ones among *ids*."""
        found: dict[TextId, bytes] = {}
        for some in portions(ids):
            sql = f"SELECT id, tokens FROM texts WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608 — marks alone
            found.update(self._db.execute(sql, some))
        return found

    def shrink(self, most: int, used: Callable[[], Iterable[TextId]]) -> None:
        """Delete the oldest beyond *most* texts, except those *used* by entries.

        An index that keeps changing must not grow for ever.
        """
        [count] = self._db.execute("SELECT count(*) FROM texts").fetchone()
        if count <= most:
            return
        self._db.execute("CREATE TEMP TABLE used (id INTEGER PRIMARY KEY)")
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR IGNORE INTO used VALUES (?)", ((id_,) for id_ in used()))
        sql = "DELETE FROM texts WHERE id IN (SELECT id FROM texts WHERE id NOT IN used ORDER BY id LIMIT ?)"
        self._db.execute(sql, (count - most,))
        self._db.execute("COMMIT")
        self._db.execute("DROP TABLE used")
        self._recent.clear()
        self._recent_bytes = 0

    def flush(self) -> None:
        """Make everything stored durable, and empty the log, which may have 16 MB."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def _remember(self, key: tuple[str, str], embedding: StoredEmbedding) -> None:
        """Cache an embedding as the newest, and evict as many of the oldest as necessary."""
        if (known := self._recent.pop(key, None)) is not None:
            self._recent_bytes -= known.size
        self._recent[key] = embedding
        self._recent_bytes += embedding.size
        while self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= self._recent.popitem(last=False)[1].size


def _pack_pooled(pooled: FloatArray) -> bytes:
    """Return *pooled* as whole numbers of 8 bits and their scale, a 16-bit float; nothing if all are zeros.

    The engine gets what is read back, so that an index that is built again answers the same.
    """
    scale = np.float16(np.abs(pooled).max(initial=0.0) / _LARGEST)
    if not scale:
        return b""
    whole = np.clip(np.rint(pooled / np.float32(scale)), -_LARGEST, _LARGEST).astype(np.int8)
    packed: bytes = whole.tobytes() + scale.tobytes()
    return packed


def _unpack_pooled(packed: bytes) -> FloatArray:
    whole, scale = np.frombuffer(packed[:-2], np.int8), np.frombuffer(packed[-2:], np.float16)
    return np.asarray(whole.astype(np.float32) * scale if len(whole) else whole, np.float32)


def _hash(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
