"""Manifest of a collection: documents by stamp, their points, and word frequencies.

It is valid only while it is `clean`. The first change makes it unclean, `commit` clean again; opening an unclean one
leads to a full comparison, which costs no embedding, since those are cached by text. All of it is in the file and
read when needed: an index that grows takes no memory for it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from workspaces.access import Scope
from workspaces.memory.index.engine import PointId
from workspaces.memory.index.late_interaction import TextId
from workspaces.memory.index.points import PointRow, PointTable, portions
from workspaces.memory.index.rarity import Rarity

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS contents (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL, terms BLOB NOT NULL, pieces BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS owing ON contents (id) WHERE digest = x'';
CREATE TABLE IF NOT EXISTS state (clean INTEGER NOT NULL);
INSERT INTO state SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM state);
CREATE TABLE IF NOT EXISTS shelf (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS leavings (dead INTEGER NOT NULL, fresh INTEGER NOT NULL);
INSERT INTO leavings SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM leavings);
"""
_MAPPED_BYTES = 2**30
"""Most of the file that is mapped instead of copied page by page."""
_LOG_BYTES = 1_000_000
"""Size to which the log is cut after a large change."""
_UNKNOWN = ""
"""Stamp and digest of data that needs a new comparison; no real one is empty."""


class PointContent(Struct, frozen=True):
    """The manifest's data of a point that is rarely needed."""

    digest: bytes
    """Hash of the whole entry: an entry that moved by a line has another digest under the same id. Empty: to be stored
    again.
    """
    terms: bytes
    """Numbers of its words (`sparse.term_number`), distinct and packed."""
    pieces: bytes
    """Distinct word pieces, packed; empty without an embedder."""


def _refuse_another_version(db: sqlite3.Connection) -> None:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if "points" in tables and "contents" not in tables:
        raise sqlite3.DatabaseError("a manifest of an earlier version")


class Manifest:
    """The manifest in the file *path*; changes are one transaction, which ends with `commit`."""

    def __init__(self, path: Path) -> None:
        """Raises sqlite3.DatabaseError for a damaged file, or an older version with other data per point."""
        self._db = sqlite3.connect(path, isolation_level=None)
        self.dead = 0
        """Points deleted or replaced in the engine since the last sweep: they still take space."""
        self.fresh = 0
        """Points stored since the last sweep: the engine has their words in memory."""
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
            self._db.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            _refuse_another_version(self._db)
            self.points = PointTable(self._db)
            self.words, self.pieces = Rarity(self._db, "words"), Rarity(self._db, "pieces")
            self._db.executescript(_SCHEMA)
            self.dead, self.fresh = self._db.execute("SELECT dead, fresh FROM leavings").fetchone()
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
        with self._db:
            self._begin()
            self._db.execute("DELETE FROM shelf")
            self._db.execute("INSERT INTO shelf VALUES (?)", (store,))

    def stamps(self) -> dict[str, str]:
        """Return the stamp of each document when last indexed."""
        return dict(self._db.execute("SELECT path, stamp FROM documents"))

    def stamp(self, path: str) -> str:
        """Return the stamp of the document at *path* when last indexed; empty if unknown."""
        return self._document(path)[0]

    def digest(self, path: str) -> str:
        """Return the digest of the document at *path* when last indexed; empty if unknown."""
        return self._document(path)[1]

    def points_of(self, path: str) -> dict[PointId, int]:
        """Return the ids of the points of the document at *path*, with their positions."""
        return dict(self._db.execute("SELECT id, position FROM points WHERE path = ?", (path,)))

    def digests(self, ids: Iterable[PointId]) -> dict[PointId, bytes]:
        """Return the digests of the known ones among *ids*."""
        return self._contents("digest", ids)

    def terms(self, ids: Iterable[PointId]) -> dict[PointId, bytes]:
        """Return the packed words of the known ones among *ids*."""
        return self._contents("terms", ids)

    def texts(self) -> Iterator[TextId]:
        """Yield the texts of all points, some more than once."""
        for own, before in self._db.execute("SELECT own, before FROM points"):
            yield own
            yield before

    def owing(self) -> list[tuple[PointId, Scope]]:
        """Return the points to be stored again: their digest is empty."""
        sql = "SELECT id, scope FROM contents JOIN points USING (id) WHERE digest = x''"
        return [(PointId(id_), Scope(scope)) for id_, scope in self._db.execute(sql)]

    def change_begins(self) -> None:
        """Record on disk, before the engine changes, that the two may differ from now on."""
        if not self._db.in_transaction:
            self._db.execute("UPDATE state SET clean = 0")
            self._begin()

    def put(self, row: PointRow, content: PointContent) -> None:
        """Record a new or replaced point of the engine, after `change_begins`."""
        self.remove([row.id])
        self.points.put(row)
        values = row.id, content.digest, content.terms, content.pieces
        self._db.execute("INSERT INTO contents VALUES (?, ?, ?, ?)", values)
        self.words.add(row.scope, content.terms)
        self.pieces.add(row.scope, content.pieces)
        self.fresh += 1

    def remove(self, ids: Sequence[PointId]) -> None:
        """Record deleted points of the engine, after `change_begins`; unknown ones are ignored."""
        for id_ in ids:
            sql = "SELECT scope, terms, pieces FROM points JOIN contents USING (id) WHERE id = ?"
            for scope, terms, pieces in self._db.execute(sql, (id_,)).fetchall():
                self.words.remove(Scope(scope), terms)
                self.pieces.remove(Scope(scope), pieces)
                self.points.remove(id_)
                self._db.execute("DELETE FROM contents WHERE id = ?", (id_,))
                self.dead += 1

    def took(self, path: str, stamp: str, digest: str) -> None:
        """Record, after `change_begins`, that all points of the document at *path* are in the engine."""
        self._db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (path, stamp, digest))

    def dropped(self, path: str) -> None:
        """Record, after `change_begins`, that no point of the document at *path* is left."""
        self._db.execute("DELETE FROM documents WHERE path = ?", (path,))

    def doubt_everything(self) -> None:
        """Mark every document and every point for comparison and storage."""
        with self._db:
            self._begin()
            self._db.execute("UPDATE documents SET stamp = '', digest = ''")
            self._db.execute("UPDATE contents SET digest = x''")

    def commit(self) -> None:
        """Write everything; call it after the engine has flushed."""
        self.words.write()
        self.pieces.write()
        self._db.execute("UPDATE leavings SET dead = ?, fresh = ?", (self.dead, self.fresh))
        self._db.execute("UPDATE state SET clean = 1")
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def swept(self) -> None:
        """Record that the engine has freed the space of dead points and moved fresh ones to its files."""
        self.dead = self.fresh = 0
        self._db.execute("UPDATE leavings SET dead = 0, fresh = 0")

    def close(self) -> None:
        """Release the file; uncommitted changes are lost."""
        self._db.close()

    def _contents(self, column: str, ids: Iterable[PointId]) -> dict[PointId, bytes]:
        found: dict[PointId, bytes] = {}
        for some in portions(list(ids)):
            sql = f"SELECT id, {column} FROM contents WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608 — marks alone
            found.update(self._db.execute(sql, some))
        return found

    def _document(self, path: str) -> tuple[str, str]:
        sql = "SELECT stamp, digest FROM documents WHERE path = ?"
        found: tuple[str, str] | None = self._db.execute(sql, (path,)).fetchone()
        return found or (_UNKNOWN, _UNKNOWN)

    def _begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
