"""Manifest of a collection: documents by stamp, their points, and word frequencies.

It is valid only while it is `clean`. The first change makes it unclean, `commit` clean again; opening an unclean one
leads to a full comparison, which costs no embedding, since those are cached by text.
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
from workspaces.memory.index.late_interaction import TextId
from workspaces.memory.text.dialogue import LineKind

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, position INTEGER NOT NULL, section TEXT NOT NULL, scope TEXT NOT NULL,
    day INTEGER, kind INTEGER NOT NULL, speaker TEXT NOT NULL, own INTEGER NOT NULL, before INTEGER NOT NULL,
    digest TEXT NOT NULL, terms BLOB NOT NULL, pieces BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS state (clean INTEGER NOT NULL);
INSERT INTO state SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM state);
CREATE TABLE IF NOT EXISTS shelf (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS leavings (dead INTEGER NOT NULL, fresh INTEGER NOT NULL);
INSERT INTO leavings SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM leavings);
"""
_ALL_POINTS = (
    "SELECT id, path, position, section, scope, day, kind, speaker, own, before, digest, terms, pieces FROM points"
)
"""Named columns, so that a manifest of another version raises a database error."""
FROZEN_FROM = 5_000
"""Number of points from which they are hidden from the garbage collector: while an index of 100,000 is open, it would
pause for 50 to 100 ms now and then, in the middle of a search. They hold no cycles, so nothing leaks.
"""
_UNKNOWN = ""
"""Stamp and digest of data that needs a new comparison; no real one is empty."""
_READ_AT_ONCE = 500
"""Rows read by one statement; SQLite allows 32,766 parameters."""
_LOADED_AT_ONCE = 5_000
"""Rows whose words are in memory at once while a manifest is opened."""


@dataclass(frozen=True, slots=True)
class PointRow:
    """The manifest's data of a point: enough to rank it without reading it."""

    id: PointId
    path: str
    position: int
    section: str
    scope: Scope
    date: date | None
    kind: LineKind
    speaker: str
    """Name of the speaker at the start of the entry; empty without one."""
    own: TextId
    """Its text in the embedding store; 0 without an embedder."""
    before: TextId
    """The text of the previous entry in the section; 0 without one."""


@dataclass(frozen=True, slots=True)
class PointContent:
    """The manifest's data of a point that is rarely needed, and read from the file."""

    digest: str
    """Hash of the whole entry: an entry that moved by a line has another digest under the same id."""
    terms: bytes
    """Numbers of its words (`sparse.term_number`), distinct and packed."""
    pieces: bytes
    """Distinct word pieces, packed; empty without an embedder."""


def pack(numbers: Iterable[int]) -> bytes:
    """Return *numbers*, each of 32 bits, concatenated."""
    return np.fromiter(numbers, np.uint32).tobytes()


def unpack(numbers: bytes) -> list[int]:
    """Return the numbers in a packed value."""
    return np.frombuffer(numbers, np.uint32).tolist()  # type: ignore[no-any-return]  # numpy types tolist() as Any


class Rarity:
    """Number of entries of each scope that contain a word or a word piece, by its number."""

    def __init__(self) -> None:
        self._counts: dict[Scope, Counter[int]] = {}
        self._entries: Counter[Scope] = Counter()

    def add(self, scope: Scope, entries: Sequence[bytes]) -> None:
        """Count *entries* of *scope*, each a packed value; a hundred thousand at once take 0.1 s."""
        numbers, counts = np.unique(np.frombuffer(b"".join(entries), np.uint32), return_counts=True)
        self._counts.setdefault(scope, Counter()).update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        self._entries[scope] += len(entries)

    def remove(self, scope: Scope, numbers: bytes) -> None:
        """Remove one entry of *scope*; numbers without entries are dropped, or the table would grow without bound."""
        counts, gone = self._counts[scope], unpack(numbers)
        counts.subtract(gone)
        for number in gone:
            if not counts[number]:
                del counts[number]
        self._entries[scope] -= 1
        if not self._entries[scope]:
            del self._counts[scope], self._entries[scope]

    @property
    def size(self) -> int:
        """Size of the table: each audience, and each of its numbers."""
        return sum(1 + len(counts) for counts in self._counts.values())

    def idf(self, numbers: Sequence[int], scopes: frozenset[Scope] | None) -> list[float]:
        """Return the inverse document frequency of each of *numbers* in *scopes*, by Qdrant's own formula."""
        seen = self._counts.keys() if scopes is None else self._counts.keys() & scopes
        entries = sum(self._entries[scope] for scope in seen)
        counts = [sum(self._counts[scope][number] for scope in seen) for number in numbers]
        return [log(1 + (entries - count + 0.5) / (count + 0.5)) for count in counts]


class Manifest:
    """The manifest in the file *path*; changes are kept in memory until `commit`."""

    def __init__(self, path: Path) -> None:
        """Raises sqlite3.DatabaseError for a damaged file, or an older version with less data per point."""
        self._db = sqlite3.connect(path, isolation_level=None)
        self.points: dict[PointId, PointRow] = {}
        """Always the same dictionary, so that others may keep a reference."""
        self.words = Rarity()
        self.pieces = Rarity()
        self._stamps: dict[str, tuple[str, str]] = {}
        self._of_path: dict[str, dict[PointId, PointRow]] = {}
        self._at: dict[str, dict[int, PointRow]] = {}
        self._changed: dict[PointId, PointContent | None] = {}
        """Points since the last commit, with their data; `None`: deleted."""
        self.owing: set[PointId] = set()
        """Points to be stored again: their digest is empty."""
        self.dead = 0
        """Points deleted or replaced in the engine since the last sweep: they still take space."""
        self.fresh = 0
        """Points stored since the last sweep: the engine has their words in memory."""
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
        """Whether it matched the engine when last written."""
        return bool(self._db.execute("SELECT clean FROM state").fetchone()[0])

    @property
    def store(self) -> str:
        """Storage of the engine that it describes; empty until set."""
        row = self._db.execute("SELECT name FROM shelf").fetchone()
        return str(row[0]) if row else ""

    def stands_for(self, store: str) -> None:
        """Set the storage of the engine."""
        with self._transaction():
            self._db.execute("DELETE FROM shelf")
            self._db.execute("INSERT INTO shelf VALUES (?)", (store,))

    def stamps(self) -> dict[str, str]:
        """Return the stamp of each document when last indexed."""
        return {path: stamp for path, (stamp, _) in self._stamps.items()}

    def stamp(self, path: str) -> str:
        """Return the stamp of the document at *path* when last indexed; empty if unknown."""
        return self._stamps.get(path, (_UNKNOWN, _UNKNOWN))[0]

    def digest(self, path: str) -> str:
        """Return the digest of the document at *path* when last indexed; empty if unknown."""
        return self._stamps.get(path, (_UNKNOWN, _UNKNOWN))[1]

    def points_of(self, path: str) -> dict[PointId, PointRow]:
        """Return the points of the document at *path* by id."""
        return dict(self._of_path.get(path, {}))

    def beside(self, id_: PointId, distance: int) -> list[PointId]:
        """Return the ids of the entries up to *distance* before and after in the same section of the same file."""
        row = self.points[id_]
        at = self._at[row.path]
        found = (at.get(row.position + step) for step in range(-distance, distance + 1) if step)
        return [other.id for other in found if other and other.section == row.section]

    def digests(self, ids: Iterable[PointId]) -> dict[PointId, str]:
        """Return the digests of the known ones among *ids*."""
        return {id_: content.digest for id_, content in self._contents(ids)}

    def terms(self, ids: Iterable[PointId]) -> dict[PointId, bytes]:
        """Return the packed words of the known ones among *ids*."""
        return {id_: content.terms for id_, content in self._contents(ids)}

    def texts(self) -> Iterator[TextId]:
        """Yield the texts of all points, some more than once."""
        for row in self.points.values():
            yield row.own
            yield row.before

    def change_begins(self) -> None:
        """Record on disk, before the engine changes, that the two may differ from now on."""
        if self.is_clean:
            self._db.execute("UPDATE state SET clean = 0")

    def put(self, row: PointRow, content: PointContent) -> None:
        """Record a new or replaced point of the engine."""
        self.remove([row.id])
        self._place(row)
        self.words.add(row.scope, [content.terms])
        self.pieces.add(row.scope, [content.pieces])
        self._changed[row.id] = content
        self.fresh += 1
        if not content.digest:
            self.owing.add(row.id)

    def remove(self, ids: Iterable[PointId]) -> None:
        """Record deleted points of the engine; unknown ones are ignored."""
        for id_, content in self._contents([id_ for id_ in ids if id_ in self.points]):
            row = self.points.pop(id_)
            del self._of_path[row.path][id_]
            if self._at[row.path].get(row.position) is row:
                del self._at[row.path][row.position]
            self.words.remove(row.scope, content.terms)
            self.pieces.remove(row.scope, content.pieces)
            self._changed[id_] = None
            self.owing.discard(id_)
            self.dead += 1

    def took(self, path: str, stamp: str, digest: str) -> None:
        """Record that all points of the document at *path* are in the engine."""
        self._stamps[path] = (stamp, digest)

    def dropped(self, path: str) -> None:
        """Record that no point of the document at *path* is left."""
        self._stamps.pop(path, None)
        self._of_path.pop(path, None)
        self._at.pop(path, None)

    def doubt_everything(self) -> None:
        """Mark every document and every point for comparison and storage."""
        self._db.execute("UPDATE documents SET stamp = '', digest = ''")
        self._db.execute("UPDATE points SET digest = ''")
        self._load()

    def commit(self) -> None:
        """Write everything; call it after the engine has flushed."""
        with self._transaction():
            self._db.executemany("DELETE FROM points WHERE id = ?", [(id_,) for id_ in self._changed])
            rows = (_row_out(self.points[id_], content) for id_, content in self._changed.items() if content)
            self._db.executemany(f"INSERT INTO points VALUES ({', '.join('?' * 13)})", rows)  # noqa: S608 — marks alone
            self._db.execute("DELETE FROM documents")
            documents = ((path, stamp, digest) for path, (stamp, digest) in self._stamps.items())
            self._db.executemany("INSERT INTO documents VALUES (?, ?, ?)", documents)
            self._db.execute("UPDATE leavings SET dead = ?, fresh = ?", (self.dead, self.fresh))
            self._db.execute("UPDATE state SET clean = 1")
        self._changed.clear()

    def swept(self) -> None:
        """Record that the engine has freed the space of dead points and moved fresh ones to its files."""
        self.dead = self.fresh = 0
        self._db.execute("UPDATE leavings SET dead = 0, fresh = 0")

    def close(self) -> None:
        """Release the file; uncommitted changes are lost."""
        self._db.close()

    def _load(self) -> None:
        for known in (self.points, self._of_path, self._at):
            known.clear()
        self.words, self.pieces = Rarity(), Rarity()
        documents: Iterable[tuple[str, str, str]] = self._db.execute("SELECT path, stamp, digest FROM documents")
        self._stamps = {path: (stamp, digest) for path, stamp, digest in documents}
        self.owing.clear()
        cursor = self._db.execute(_ALL_POINTS)
        with _without_collections():
            while rows := cursor.fetchmany(_LOADED_AT_ONCE):
                self._load_rows(rows)
            if len(self.points) >= FROZEN_FROM:
                gc.freeze()
        self._changed.clear()
        self.dead, self.fresh = self._db.execute("SELECT dead, fresh FROM leavings").fetchone()

    def _load_rows(self, rows: Sequence["_Stored"]) -> None:
        by_scope: dict[Scope, list[PointContent]] = {}
        for row, content in _rows_in(rows):
            self._place(row)
            by_scope.setdefault(row.scope, []).append(content)
            if not content.digest:
                self.owing.add(row.id)
        for scope, contents in by_scope.items():
            self.words.add(scope, [content.terms for content in contents])
            self.pieces.add(scope, [content.pieces for content in contents])

    def _place(self, row: PointRow) -> None:
        self.points[row.id] = row
        self._of_path.setdefault(row.path, {})[row.id] = row
        self._at.setdefault(row.path, {})[row.position] = row

    def _contents(self, ids: Iterable[PointId]) -> Iterator[tuple[PointId, PointContent]]:
        """Yield the data of the known ones among *ids*: of changed points from memory, of all others from the file."""
        stored = []
        for id_ in ids:
            if id_ not in self._changed:
                stored.append(id_)
            elif (content := self._changed[id_]) is not None:
                yield id_, content
        for start in range(0, len(stored), _READ_AT_ONCE):
            some = stored[start : start + _READ_AT_ONCE]
            marks = ",".join("?" * len(some))
            sql = f"SELECT id, digest, terms, pieces FROM points WHERE id IN ({marks})"  # noqa: S608 — marks alone
            for id_, digest, terms, pieces in self._db.execute(sql, some).fetchall():
                yield id_, PointContent(digest, terms, pieces)

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._db)


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


_Stored = tuple[int, str, int, str, str, int | None, int, str, int, int, str, bytes, bytes]


def _row_out(row: PointRow, content: PointContent) -> _Stored:
    day = row.date.toordinal() if row.date else None
    facts = row.id, row.path, row.position, row.section, row.scope
    texts = row.own, row.before
    return *facts, day, int(row.kind), row.speaker, *texts, content.digest, content.terms, content.pieces


def _rows_in(rows: Iterable[_Stored]) -> Iterator[tuple[PointRow, PointContent]]:
    """Yield *rows* with equal values shared."""
    days: dict[int | None, date | None] = {None: None}
    kinds, texts = list(LineKind), {0: 0}
    for id_, path, position, section, scope, day, kind, speaker, own, before, digest, terms, pieces in rows:
        if day not in days and day is not None:
            days[day] = date.fromordinal(day)
        where = intern(path), position, intern(section), Scope(intern(scope))
        numbers = texts.setdefault(own, own), texts.setdefault(before, before)
        yield (
            PointRow(PointId(id_), *where, days[day], kinds[kind], intern(speaker), *numbers),
            PointContent(digest, terms, pieces),
        )


@contextmanager
def _without_collections() -> Iterator[None]:
    """Create many objects without repeated garbage collections: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
