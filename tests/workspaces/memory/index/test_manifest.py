"""State of a manifest after it was closed and opened again."""

import gc
import tracemalloc
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from workspaces.access import PRIVATE, Scope
from workspaces.memory.index.engine import PointId
from workspaces.memory.index.manifest import Manifest, PointContent
from workspaces.memory.index.points import ROWS_KEPT, PointRow
from workspaces.memory.index.rarity import pack, unpack
from workspaces.memory.text.dialogue import LineKind

GROUP = Scope("shared:telegram.home.-100")
ROWS = [
    PointRow(PointId(1), "MEMORY.md", 0, "Home", PRIVATE, None, LineKind.NOTE, "", 300, 0),
    PointRow(PointId(2), "a.md", 0, "", GROUP, date(2026, 3, 7), LineKind.SAYS, "Ann", 301, 0),
    PointRow(PointId(3), "a.md", 1, "", GROUP, date(2026, 3, 7), LineKind.ASKS, "Bo", 302, 301),
]
CONTENTS = [
    PointContent(b"d1", pack([7, 8, 2**32 - 1]), pack([])),
    PointContent(b"d2", pack([7, 9]), pack([5, 6])),
    PointContent(b"d3", pack([9]), pack([6])),
]
STORED = list(zip(ROWS, CONTENTS, strict=True))
GONE = PointRow(PointId(4), "b.md", 0, "", PRIVATE, None, LineKind.NOTE, "", 0, 0)
IDS = [PointId(number) for number in range(1, 6)]
NUMBERS = [7, 8, 9, 2**32 - 1, 1_000]


def stored(file: Path) -> None:
    """Commit `ROWS` to *file*, and one that is taken back."""
    with closing(Manifest(file)) as manifest:
        manifest.change_begins()
        for row, content in (*STORED, (GONE, PointContent(b"d", pack([7]), b""))):
            manifest.put(row, content)
        manifest.remove([GONE.id])
        manifest.commit()


def idf(manifest: Manifest) -> list[list[float]]:
    audiences = (None, frozenset({GROUP}), frozenset({PRIVATE}))
    return [rarity.idf(NUMBERS, scopes) for rarity in (manifest.words, manifest.pieces) for scopes in audiences]


def test_what_was_committed_is_known_again(tmp_path: Path) -> None:
    """Every point with its day and kind, its neighbours, and how rare each word is for each audience."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        assert manifest.points == {row.id: row for row in ROWS}
        assert manifest.points.beside([ROWS[1]], 2, []) == [PointId(3)]
        assert manifest.points.beside([ROWS[1]], 2, ROWS) == []
        assert manifest.points_of("a.md") == {2: 0, 3: 1}
        assert list(manifest.texts()) == [300, 0, 301, 0, 302, 301]
        with closing(Manifest(tmp_path / "other.db")) as counted_one_by_one:
            for row, content in STORED:
                counted_one_by_one.put(row, content)
            assert idf(manifest) == idf(counted_one_by_one)


def test_rarity_forgets_what_is_removed(tmp_path: Path) -> None:
    """A word of a removed entry is as rare as if the entry had never been there."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest, closing(Manifest(tmp_path / "b.db")) as without:
        manifest.remove([PointId(3)])
        for row, content in STORED[:2]:
            without.put(row, content)
        assert idf(manifest) == idf(without)


def test_rarity_keeps_nothing_of_what_is_gone(tmp_path: Path) -> None:
    """Ten thousand entries that came and went, each with words of its own, leave no number and no audience."""
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        manifest.change_begins()
        for row, content in STORED:
            manifest.put(row, content)
        before = manifest.words.size, manifest.pieces.size
        for number in range(10_000):
            chat = Scope(f"shared:telegram.home.-{number % 500}")
            content = PointContent(b"d", pack([100 + number]), pack([number]))
            manifest.put(ROWS[0]._replace(id=PointId(4), scope=chat), content)
        manifest.remove([PointId(4)])
        assert (manifest.words.size, manifest.pieces.size) == before


def test_changes_are_seen_before_they_are_committed(tmp_path: Path) -> None:
    """Of new and replaced points words and digests are read, of deleted ones nothing."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        manifest.change_begins()
        manifest.put(ROWS[0], PointContent(b"new", pack([1]), b""))
        manifest.put(GONE, CONTENTS[1])
        manifest.remove([PointId(3)])
        assert manifest.digests(IDS) == {1: b"new", 2: b"d2", 4: b"d2"}
        assert manifest.terms(IDS) == {1: pack([1]), 2: pack([7, 9]), 4: pack([7, 9])}
        assert manifest.owing() == []
        manifest.put(GONE, PointContent(b"", b"", b""))
        assert manifest.owing() == [(GONE.id, PRIVATE)]


def test_changes_that_were_not_committed_are_gone(tmp_path: Path) -> None:
    """Points, documents and word counts are as at the last commit, and the manifest says that it may be wrong."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        before = idf(manifest)
        manifest.change_begins()
        manifest.put(GONE, CONTENTS[1])
        manifest.remove([PointId(3)])
        manifest.took("b.md", "stamp", "digest")
        assert idf(manifest) != before
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        assert (dict(manifest.points), manifest.is_clean) == ({row.id: row for row in ROWS}, False)
        assert (idf(manifest), manifest.stamps()) == (before, {})


def test_points_take_no_memory(tmp_path: Path) -> None:
    """A manifest takes as much after 8,000 points as after 4,000, each with other words; opened again as little."""
    tracemalloc.start()
    try:
        with closing(Manifest(tmp_path / "manifest.db")) as manifest:
            manifest.change_begins()
            used = []
            for number in range(8_000):
                row = ROWS[1]._replace(id=PointId(10**12 + number), path=f"{number // 50}.md", position=number % 50)
                words = pack(range(40 * number, 40 * number + 40))
                manifest.put(row, PointContent(number.to_bytes(16), words, words))
                if number in {3_999, 7_999}:
                    manifest.commit()
                    manifest.points.among(manifest.points)
                    manifest.change_begins()
                    used.append(tracemalloc.get_traced_memory()[0])
            manifest.commit()
        assert used[1] - used[0] < 50_000
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        with closing(Manifest(tmp_path / "manifest.db")) as manifest:
            assert len(manifest.points) == 8_000
            assert tracemalloc.get_traced_memory()[0] - before < 50_000
    finally:
        tracemalloc.stop()


def test_rows_are_read_whatever_is_in_memory(tmp_path: Path) -> None:
    """More rows than are kept in memory can be asked for, at once and one by one; an unknown one is none."""
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        manifest.change_begins()
        rows = [ROWS[0]._replace(id=PointId(10 + number), position=number) for number in range(ROWS_KEPT + 700)]
        for row in rows:
            manifest.put(row, CONTENTS[0])
        ids = [row.id for row in reversed(rows)]
        assert list(manifest.points.among([*ids, PointId(9)]).items()) == list(zip(ids, reversed(rows), strict=True))
        assert [manifest.points[row.id] for row in rows] == rows
        manifest.put(rows[3]._replace(section="Garden"), CONTENTS[0])
        assert manifest.points[rows[3].id].section == "Garden"
        assert PointId(9) not in manifest.points
        with pytest.raises(KeyError):
            manifest.points[PointId(9)]


def test_numbers_are_packed_without_loss() -> None:
    """All 32 bits, none at all, and in their order."""
    for numbers in ([], [0, 2**32 - 1, 5]):
        assert unpack(pack(numbers)) == numbers
