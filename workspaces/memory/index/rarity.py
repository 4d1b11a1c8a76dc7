"""Document frequencies of words and word pieces by audience, in the manifest's file."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from workspaces.access import Scope

_ENTRIES = -1
"""In place of a number: the count of all entries of a scope."""
_PENDING = 20_000
"""Changed counts in memory before they are written: the words of some hundred entries."""


def pack(numbers: Sequence[int]) -> bytes:
    """Return *numbers*, each of 32 bits, concatenated."""
    return np.array(numbers, np.uint32).tobytes()


def unpack(numbers: bytes) -> list[int]:
    """Return the numbers in a packed value."""
    return np.frombuffer(numbers, np.uint32).tolist()  # type: ignore[no-any-return]  # numpy types tolist() as Any


class Rarity:
    """Number of entries of each scope that contain a word or a word piece, by its number, in one table.

    A vocabulary grows as long as people talk, and each scope has its own, so that none is in memory.
    """

    def __init__(self, db: sqlite3.Connection, table: str) -> None:
        """Create *table* in *db* unless it exists."""
        self._db = db
        self._table = table
        self._pending: Counter[tuple[int, Scope]] = Counter()
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (number INTEGER NOT NULL, scope TEXT NOT NULL,"
            " entries INTEGER NOT NULL, PRIMARY KEY (number, scope)) WITHOUT ROWID"
        )

    def add(self, scope: Scope, numbers: bytes) -> None:
        """Count an entry of *scope* with these packed numbers."""
        self._change(scope, numbers, 1)

    def remove(self, scope: Scope, numbers: bytes) -> None:
        """Remove an entry of *scope*; numbers without entries are dropped, or the table would grow without bound."""
        self._change(scope, numbers, -1)

    @property
    def size(self) -> int:
        """Size of the table: each audience, and each of its numbers."""
        self.write()
        return int(self._db.execute(f"SELECT count(*) FROM {self._table}").fetchone()[0])  # noqa: S608 — our own name

    def idf(self, numbers: Sequence[int], scopes: frozenset[Scope] | None) -> list[float]:
        """Return the inverse document frequency of each of *numbers* in *scopes*, by Qdrant's own formula."""
        counts = self.counts([_ENTRIES, *numbers], scopes)
        entries = counts.get(_ENTRIES, 0)
        found = (counts.get(number, 0) for number in numbers)
        return [log(1 + (entries - count + 0.5) / (count + 0.5)) for count in found]

    def counts(self, numbers: Sequence[int], scopes: frozenset[Scope] | None) -> dict[int, int]:
        """Return in how many entries of *scopes* each of *numbers* occurs; those that occur in none may be missing."""
        self.write()
        sql = f"SELECT number, sum(entries) FROM {self._table} WHERE number IN ({_marks(numbers)})"  # noqa: S608 — marks alone
        seen = [] if scopes is None else sorted(scopes)
        within = "" if scopes is None else f" AND scope IN ({_marks(seen)})"
        return dict(self._db.execute(f"{sql}{within} GROUP BY number", [*numbers, *seen]))

    def write(self) -> None:
        """Write changed counts to the table."""
        if not self._pending:
            return
        changes = [(*key, change) for key, change in self._pending.items() if change]
        self._db.executemany(
            f"INSERT INTO {self._table} VALUES (?, ?, ?)"  # noqa: S608 — our own name
            " ON CONFLICT (number, scope) DO UPDATE SET entries = entries + excluded.entries",
            changes,
        )
        fewer = [(number, scope) for number, scope, change in changes if change < 0]
        sql = f"DELETE FROM {self._table} WHERE number = ? AND scope = ? AND entries = 0"  # noqa: S608 — our own name
        self._db.executemany(sql, fewer)
        self._pending.clear()

    def _change(self, scope: Scope, numbers: bytes, by: int) -> None:
        for number in (_ENTRIES, *unpack(numbers)):
            self._pending[number, scope] += by
        if len(self._pending) > _PENDING:
            self.write()


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
