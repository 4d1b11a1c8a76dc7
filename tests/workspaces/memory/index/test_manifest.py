"""State of a manifest after it was closed and opened again."""

import gc
import tracemalloc
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from workspaces.access import PRIVATE, Scope
from workspaces.memory.index import manifest as manifests
from workspaces.memory.index.engine import PointId
from workspaces.memory.index.manifest import Manifest, PointContent, PointRow, pack, unpack
from workspaces.memory.text.dialogue import LineKind

GROUP = Scope("shared:telegram.home.-100")
ROWS = [
    PointRow(PointId(1), "MEMORY.md", 0, "Home", PRIVATE, None, LineKind.NOTE, "", 300, 0),
    PointRow(PointId(2), "a.md", 0, "", GROUP, date(2026, 3, 7), LineKind.SAYS, "Ann", 301, 0),
    PointRow(PointId(3), "a.md", 1, "", GROUP, date(2026, 3, 7), LineKind.ASKS, "Bo", 302, 301),
]
CONTENTS = [
    PointContent("d1", pack([7, 8, 2**32 - 1]), pack([])),
    PointContent("d2", pack([7, 9]), pack([5, 6])),
    PointContent("d3", pack([9]), pack([6])),
]
STORED = list(zip(ROWS, CONTENTS, strict=True))
GONE = PointRow(PointId(4), "b.md", 0, "", PRIVATE, None, LineKind.NOTE, "", 0, 0)
NUMBERS = [7, 8, 9, 2**32 - 1, 1_000]


def stored(file: Path) -> None:
    """Commit `ROWS` to *file*, and one that is taken back."""
    with closing(Manifest(file)) as manifest:
        for row, content in (*STORED, (GONE, PointContent("d", pack([7]), b""))):
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
        assert manifest.beside(PointId(2), 2) == [PointId(3)]
        assert manifest.points_of("a.md").keys() == {2, 3}
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
        for row, content in STORED:
            manifest.put(row, content)
        before = manifest.words.size, manifest.pieces.size
        for number in range(10_000):
            chat = Scope(f"shared:telegram.home.-{number % 500}")
            content = PointContent("d", pack([100 + number]), pack([number]))
            manifest.put(replace(ROWS[0], id=PointId(4), scope=chat), content)
        manifest.remove([PointId(4)])
        assert (manifest.words.size, manifest.pieces.size) == before


def test_words_and_digests_are_read_wherever_they_are(tmp_path: Path) -> None:
    """Of committed points from the file, of new and replaced ones from memory, of deleted ones not at all."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        manifest.put(ROWS[0], PointContent("new", pack([1]), b""))
        manifest.put(GONE, CONTENTS[1])
        manifest.remove([PointId(3)])
        ids = [PointId(number) for number in range(1, 6)]
        assert manifest.digests(ids) == {1: "new", 2: "d2", 4: "d2"}
        assert manifest.terms(ids) == {1: pack([1]), 2: pack([7, 9]), 4: pack([7, 9])}
        assert manifest.owing == set()
        manifest.put(GONE, PointContent("", b"", b""))
        assert manifest.owing == {4}


def test_points_do_not_hold_their_words_in_memory(tmp_path: Path) -> None:
    """An opened manifest takes half a kilobyte a point, whatever its length; words that are new in each are extra."""
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        for number in range(5_000):
            row = replace(
                ROWS[1], id=PointId(10**12 + number), path=f"{number // 50}.md", position=number % 50, own=number
            )
            manifest.put(row, PointContent(f"{number:032x}", pack(range(200)), pack(range(200))))
        manifest.commit()
    tracemalloc.start()
    try:
        with closing(Manifest(tmp_path / "manifest.db")) as manifest:
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] / len(manifest.points) < 500
    finally:
        tracemalloc.stop()


def test_numbers_are_packed_without_loss() -> None:
    """All 32 bits, none at all, and in their order."""
    for numbers in ([], [0, 2**32 - 1, 5]):
        assert unpack(pack(numbers)) == numbers


@pytest.mark.parametrize(("least", "is_frozen"), [(len(ROWS), True), (len(ROWS) + 1, False)])
def test_many_points_are_kept_from_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int, is_frozen: bool
) -> None:
    """It would look through all of them in the middle of a search."""
    stored(tmp_path / "manifest.db")
    monkeypatch.setattr(manifests, "FROZEN_FROM", least)
    gc.unfreeze()  # what a gateway of an earlier test kept
    try:
        with closing(Manifest(tmp_path / "manifest.db")):
            assert (gc.get_freeze_count() > 0) is is_frozen
    finally:
        gc.unfreeze()
