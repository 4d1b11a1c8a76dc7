"""Search in notes as the reference systems do it: sqlite-vec and FTS5 in one SQLite file.

Through apsw, since many builds of Python's own sqlite3 cannot load extensions. Every distance is computed, as in ours:
sqlite-vec has no approximate index.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec

from workspaces.memory.index.engine import FloatArray
from workspaces.memory.index.finder import POOL  # as many candidates per search as ours

_WORD = re.compile(r"\w+")


class SqliteWay:
    """Entries in the file *path*: vectors in a vec0 table, words in an FTS5 table with Porter's stemmer."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._db = apsw.Connection(str(path))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61')")
        vectors = f"vec0(vector float[{dimension}] distance_metric=cosine)"
        self._db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING {vectors}")

    def store(self, entries: Iterable[tuple[str, FloatArray]]) -> None:
        """Store texts with their vectors in one transaction."""
        with self._db:
            for number, (text, vector) in enumerate(entries, 1):
                self._db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (number, text))
                blob = vector.astype(np.float32).tobytes()
                self._db.execute("INSERT INTO vectors(rowid, vector) VALUES (?, ?)", (number, blob))

    def search(self, text: str, vector: FloatArray, limit: int) -> Sequence[str]:
        """Return the best *limit* texts by 0.7 cosine + 0.3 / (1 + place in the BM25 order)."""
        near = dict(self._near(vector))
        places = {row: place for place, row in enumerate(self._worded(text))}
        scores = {
            row: 0.7 * near.get(row, 0.0) + (0.3 / (1 + places[row]) if row in places else 0.0)
            for row in near.keys() | places.keys()
        }
        best = sorted(scores, key=lambda row: -scores[row])[:limit]
        return [self._text(row) for row in best]

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def _near(self, vector: FloatArray) -> list[tuple[int, float]]:
        sql = "SELECT rowid, distance FROM vectors WHERE vector MATCH ? AND k = ?"
        rows: Any = self._db.execute(sql, (vector.astype(np.float32).tobytes(), POOL))
        return [(row, 1.0 - distance) for row, distance in rows]

    def _worded(self, text: str) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        rows: Any = self._db.execute(sql, (asked, POOL))
        return [row for (row,) in rows]

    def _text(self, row: int) -> str:
        [(text,)] = self._db.execute("SELECT text FROM words WHERE rowid = ?", (row,)).fetchall()
        return str(text)
