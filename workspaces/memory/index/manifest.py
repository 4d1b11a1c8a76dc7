"""This file remembers what a collection holds: documents by stamp, their points, and how often each word occurs.

It is true only while it is `clean`. The first change makes it unclean, `commit` clean again; whoever opens an unclean
one compares everything anew, which costs no embedding, since those are cached by text.
"""

import gc
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from math import log
from pathlib import Path
from sys import intern

import numpy as np

from workspaces.access import Scope
from workspaces.memory.index.engine import PointId
from workspaces.memory.text.dialogue import LineKind

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, position INTEGER NOT NULL, section TEXT NOT NULL, scope TEXT NOT NULL,
    day INTEGER, kind INTEGER NOT NULL, speaker TEXT NOT NULL, digest TEXT NOT NULL,
    terms BLOB NOT NULL, pieces BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS state (clean INTEGER NOT NULL);
INSERT INTO state SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM state);
CREATE TABLE IF NOT EXISTS shelf (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS leavings (dead INTEGER NOT NULL);
INSERT INTO leavings SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM leavings);
"""
_ALL_POINTS = "SELECT id, path, position, section, scope, day, kind, speaker, digest, terms, pieces FROM points"
"""By name, so that a manifest of another version is an error of the database."""
FROZEN_FROM = 5_000
"""Points from which they are kept out of the collector's sight: while an index of 100,000 is open, it would stop for
50 to 100 ms now and then, in the middle of a search. Nothing in them refers in circles, so nothing is lost by it."""
_UNKNOWN = ""
"""The stamp and digest of what has to be compared anew; no real one is empty."""


@dataclass(frozen=True, slots=True)
class PointRow:
    """What the manifest keeps of a point: enough to rank it without reading it."""

    id: PointId
    path: str
    position: int
    section: str
    scope: Scope
    date: date | None
    kind: LineKind
    speaker: str
    """Who speaks, as the entry begins; empty where nobody does."""
    digest: str
    """Hash of the whole entry: an entry that moved by a line is another digest under the same id."""
    terms: bytes
    """Numbers of its words (`sparse.term_number`), distinct and `packed`: most are never looked at."""
    pieces: bytes
    """Its distinct word pieces, `packed`; empty without an embedder."""


def packed(numbers: Iterable[int]) -> bytes:
    """Return *numbers*, each of 32 bits, one after the other."""
    return np.fromiter(numbers, np.uint32).tobytes()


def unpacked(numbers: bytes) -> list[int]:
    """Return the numbers that were `packed`."""
    return np.frombuffer(numbers, np.uint32).tolist()  # type: ignore[no-any-return]  # numpy types tolist() as Any


class Rarity:
    """In how many entries of each scope a number, of a word or a word piece, occurs."""

    def __init__(self) -> None:
        self._counts: dict[Scope, Counter[int]] = {}
        self._entries: Counter[Scope] = Counter()

    def add(self, scope: Scope, entries: Sequence[bytes]) -> None:
        """Count *entries* of *scope*, each its `packed` numbers; a hundred thousand at once take 0.1 s."""
        numbers, counts = np.unique(np.frombuffer(b"".join(entries), np.uint32), return_counts=True)
        self._counts.setdefault(scope, Counter()).update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        self._entries[scope] += len(entries)

    def remove(self, scope: Scope, numbers: bytes) -> None:
        """Take one entry of *scope* out again; what no entry has is not kept, or all that ever was written would be."""
        counts, gone = self._counts[scope], unpacked(numbers)
        counts.subtract(gone)
        for number in gone:
            if not counts[number]:
                del counts[number]
        self._entries[scope] -= 1
        if not self._entries[scope]:
            del self._counts[scope], self._entries[scope]

    @property
    def size(self) -> int:
        """How much is counted: each audience, and each of its numbers."""
        return sum(1 + len(counts) for counts in self._counts.values())

    def idf(self, numbers: Sequence[int], scopes: frozenset[Scope] | None) -> list[float]:
        """Return the inverse document frequency of each of *numbers* among *scopes*, by Qdrant's own formula."""
        seen = self._counts.keys() if scopes is None else self._counts.keys() & scopes
        entries = sum(self._entries[scope] for scope in seen)
        counts = [sum(self._counts[scope][number] for scope in seen) for number in numbers]
        return [log(1 + (entries - count + 0.5) / (count + 0.5)) for count in counts]


class Manifest:
    """The manifest in the file *path*; changes are kept in memory until `commit`."""

    def __init__(self, path: Path) -> None:
        """Raises sqlite3.DatabaseError for a file that is damaged, or of a version that says less of a point."""
        self._db = sqlite3.connect(path, isolation_level=None)
        self.points: dict[PointId, PointRow] = {}
        """Always the same dictionary, so that others may hold it."""
        self.words = Rarity()
        self.pieces = Rarity()
        self._stamps: dict[str, tuple[str, str]] = {}
        self._of_path: dict[str, dict[PointId, PointRow]] = {}
        self._at: dict[tuple[str, int], PointRow] = {}
        self._changed: set[PointId] = set()
        self.dead = 0
        """Points that the engine was told to forget or replace since it was last swept: they still take room."""
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
            self._load()
        except sqlite3.DatabaseError:
            self._db.close()
            raise

    @property
    def is_clean(self) -> bool:
        """Whether the engine held exactly this when it was last written."""
        return bool(self._db.execute("SELECT clean FROM state").fetchone()[0])

    @property
    def shelf(self) -> str:
        """Where the engine is that it vouches for; empty before that was said."""
        row = self._db.execute("SELECT name FROM shelf").fetchone()
        return str(row[0]) if row else ""

    def stands_for(self, shelf: str) -> None:
        """Note where the engine is."""
        with self._transaction():
            self._db.execute("DELETE FROM shelf")
            self._db.execute("INSERT INTO shelf VALUES (?)", (shelf,))

    def stamps(self) -> dict[str, str]:
        """Return the stamp under which each document was last taken in."""
        return {path: stamp for path, (stamp, _) in self._stamps.items()}

    def stamp(self, path: str) -> str:
        """Return the stamp under which the document at *path* was last taken in; empty when it is not known."""
        return self._stamps.get(path, (_UNKNOWN, _UNKNOWN))[0]

    def digest(self, path: str) -> str:
        """Return the digest of the document at *path* when it was last taken in; empty when it is not known."""
        return self._stamps.get(path, (_UNKNOWN, _UNKNOWN))[1]

    def points_of(self, path: str) -> dict[PointId, PointRow]:
        """Return the points of the document at *path* by id."""
        return dict(self._of_path.get(path, {}))

    def beside(self, id_: PointId, distance: int) -> list[PointId]:
        """Return the ids of the entries up to *distance* before and after in the same section of the same file."""
        row = self.points[id_]
        places = ((row.path, row.position + step) for step in range(-distance, distance + 1) if step)
        found = (self._at[place] for place in places if place in self._at)
        return [other.id for other in found if other.section == row.section]

    def change_begins(self) -> None:
        """Note on disk, before the engine is touched, that the two may differ from now on."""
        if self.is_clean:
            self._db.execute("UPDATE state SET clean = 0")

    def put(self, row: PointRow) -> None:
        """Note that the engine holds the point, or holds it anew."""
        self.remove(row.id)
        self._place(row)
        self.words.add(row.scope, [row.terms])
        self.pieces.add(row.scope, [row.pieces])
        self._changed.add(row.id)

    def remove(self, id_: PointId) -> None:
        """Note that the engine no longer holds the point."""
        row = self.points.pop(id_, None)
        if row is None:
            return
        del self._of_path[row.path][id_]
        if self._at.get((row.path, row.position)) is row:
            del self._at[row.path, row.position]
        self.words.remove(row.scope, row.terms)
        self.pieces.remove(row.scope, row.pieces)
        self._changed.add(id_)
        self.dead += 1

    def took(self, path: str, stamp: str, digest: str) -> None:
        """Note that all points of the document at *path* are in the engine."""
        self._stamps[path] = (stamp, digest)

    def dropped(self, path: str) -> None:
        """Note that no point of the document at *path* is left."""
        self._stamps.pop(path, None)
        self._of_path.pop(path, None)

    def doubt_everything(self) -> None:
        """Let every document and every point be compared and stored anew."""
        self._db.execute("UPDATE documents SET stamp = '', digest = ''")
        self._db.execute("UPDATE points SET digest = ''")
        self._load()

    def commit(self) -> None:
        """Write everything; call it after the engine has flushed."""
        rows = [self.points[id_] for id_ in self._changed if id_ in self.points]
        with self._transaction():
            self._db.executemany("DELETE FROM points WHERE id = ?", [(id_,) for id_ in self._changed])
            self._db.executemany("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_row_out, rows))
            self._db.execute("DELETE FROM documents")
            documents = ((path, stamp, digest) for path, (stamp, digest) in self._stamps.items())
            self._db.executemany("INSERT INTO documents VALUES (?, ?, ?)", documents)
            self._db.execute("UPDATE leavings SET dead = ?", (self.dead,))
            self._db.execute("UPDATE state SET clean = 1")
        self._changed.clear()

    def swept(self) -> None:
        """Note that the engine has freed what dead points took."""
        self.dead = 0
        self._db.execute("UPDATE leavings SET dead = 0")

    def close(self) -> None:
        """Release the file; what was not committed is forgotten."""
        self._db.close()

    def _load(self) -> None:
        for known in (self.points, self._of_path, self._at):
            known.clear()
        self.words, self.pieces = Rarity(), Rarity()
        documents: Iterable[tuple[str, str, str]] = self._db.execute("SELECT path, stamp, digest FROM documents")
        self._stamps = {path: (stamp, digest) for path, stamp, digest in documents}
        by_scope: dict[Scope, list[PointRow]] = {}
        with _uncollected():
            for row in _rows_in(self._db.execute(_ALL_POINTS).fetchall()):
                self._place(row)
                by_scope.setdefault(row.scope, []).append(row)
            if len(self.points) >= FROZEN_FROM:
                gc.freeze()
        for scope, rows in by_scope.items():
            self.words.add(scope, [row.terms for row in rows])
            self.pieces.add(scope, [row.pieces for row in rows])
        self._changed.clear()
        self.dead = int(self._db.execute("SELECT dead FROM leavings").fetchone()[0])

    def _place(self, row: PointRow) -> None:
        self.points[row.id] = row
        self._of_path.setdefault(row.path, {})[row.id] = row
        self._at[row.path, row.position] = row

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._db)


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


_Stored = tuple[int, str, int, str, str, int | None, int, str, str, bytes, bytes]


def _row_out(row: PointRow) -> _Stored:
    day = row.date.toordinal() if row.date else None
    facts = row.id, row.path, row.position, row.section, row.scope
    return *facts, day, int(row.kind), row.speaker, row.digest, row.terms, row.pieces


def _rows_in(rows: Iterable[_Stored]) -> Iterator[PointRow]:
    """Read *rows*; what many of them say is kept once."""
    days: dict[int | None, date | None] = {None: None}
    kinds = list(LineKind)
    for id_, path, position, section, scope, day, kind, speaker, digest, terms, pieces in rows:
        if day not in days and day is not None:
            days[day] = date.fromordinal(day)
        where = intern(path), position, intern(section), Scope(intern(scope))
        yield PointRow(PointId(id_), *where, days[day], kinds[kind], intern(speaker), digest, terms, pieces)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Make many objects without having the collector look through them again and again: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
