"""The points of a collection as ranking needs them, in the manifest's file."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple, TypeVar

from workspaces.access import Scope
from workspaces.memory.index.engine import PointId
from workspaces.memory.index.late_interaction import TextId
from workspaces.memory.text.dialogue import LineKind

SCHEMA = """
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, position INTEGER NOT NULL, section TEXT NOT NULL, scope TEXT NOT NULL,
    day INTEGER, kind INTEGER NOT NULL, speaker TEXT NOT NULL, own INTEGER NOT NULL, before INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS places ON points (path, position);
"""
ROWS_KEPT = 2_000
"""Rows in memory, 0.3 kB each: a search asks for those of its 250 candidates several times."""
_COLUMNS = "id, path, position, section, scope, day, kind, speaker, own, before"
_READ_AT_ONCE = 500
"""Rows read by one statement; SQLite allows 32,766 parameters."""
_STEP = 50
"""Numbers of ids in statements are multiples of it."""
_KINDS = {int(kind): kind for kind in LineKind}


class PointRow(NamedTuple):
    """The data of a point that rank it without reading it. A tuple: a search makes hundreds, in a fifth of the time."""

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


class PointTable(Mapping[PointId, PointRow]):
    """All points by id. They are read from the file, so that a growing index takes no more memory."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Create the table in *db* unless it exists."""
        self._db = db
        self._rows: dict[PointId, PointRow] = {}
        db.executescript(SCHEMA)
        db.execute(f"SELECT {_COLUMNS} FROM points LIMIT 0")  # noqa: S608 — a database error in another version's file

    def __getitem__(self, id_: PointId) -> PointRow:
        return self.among([id_])[id_]

    def __iter__(self) -> Iterator[PointId]:
        return (PointId(id_) for (id_,) in self._db.execute("SELECT id FROM points").fetchall())

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM points").fetchone()[0])

    def among(self, ids: Iterable[PointId]) -> dict[PointId, PointRow]:
        """Return the rows of the known ones among *ids*, in their order."""
        given = list(ids)
        known = {row.id: row for row in map(self._rows.get, given) if row}
        if len(known) == len(given):
            return known
        for some in portions([id_ for id_ in given if id_ not in known]):
            sql = f"SELECT {_COLUMNS} FROM points WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608 — marks alone
            known.update((row.id, row) for row in self._keep(self._db.execute(sql, some)))
        return {id_: known[id_] for id_ in given if id_ in known}

    def beside(self, rows: Iterable[PointRow], distance: int, known: Iterable[PointRow]) -> list[PointId]:
        """Return the ids of the entries up to *distance* before and after each in the same section of the same file.

        Those *known* are left out.
        """
        steps = [step for step in range(-distance, distance + 1) if step]
        places = {(row.path, row.position + step): row.section for row in rows for step in steps}
        for row in known:
            places.pop((row.path, row.position), None)
        marks = ",".join(["(?, ?)"] * len(places))
        sql = (  # `IN (VALUES …)` would read all points
            f"SELECT {_COLUMNS} FROM (VALUES {marks}) AS places"  # noqa: S608 — marks alone
            " CROSS JOIN points ON path = places.column1 AND position = places.column2"
        )
        found = self._keep(self._db.execute(sql, [part for place in places for part in place])) if places else []
        return [other.id for other in found if other.section == places[other.path, other.position]]

    def put(self, row: PointRow) -> None:
        """Add a row."""
        day = row.date.toordinal() if row.date else None
        values = (*row[:5], day, int(row.kind), *row[7:])
        self._db.execute(f"INSERT INTO points VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608 — marks alone

    def remove(self, id_: PointId) -> None:
        """Remove a row."""
        self._rows.pop(id_, None)
        self._db.execute("DELETE FROM points WHERE id = ?", (id_,))

    def _keep(self, stored: Iterable[tuple[int, str, int, str, str, int | None, int, str, int, int]]) -> list[PointRow]:
        make, day_of = PointRow._make, date.fromordinal  # half the time of `PointRow(…)`
        rows = [
            make((id_, path, position, section, scope, day and day_of(day), _KINDS[kind], speaker, own, before))
            for id_, path, position, section, scope, day, kind, speaker, own, before in stored
        ]
        if len(self._rows) + len(rows) > ROWS_KEPT:
            self._rows.clear()
        self._rows.update((row.id, row) for row in rows)
        return rows


Number = TypeVar("Number", bound=int)


def portions(ids: Sequence[Number]) -> Iterator[list[Number]]:
    """Split *ids* into what one statement reads; the last repeats one, so that statements of a few lengths are cached.

    Compiling one for each length takes 20 to 30 µs.
    """
    for start in range(0, len(ids), _READ_AT_ONCE):
        some = list(ids[start : start + _READ_AT_ONCE])
        yield some + some[-1:] * (-len(some) % _STEP)
