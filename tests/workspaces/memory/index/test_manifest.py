"""State of a manifest after it was closed and opened again."""

import gc
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from workspaces.access import PRIVATE, Scope
from workspaces.memory.index import manifest as manifests
from workspaces.memory.index.engine import PointId
from workspaces.memory.index.manifest import Manifest, PointRow, pack, unpack
from workspaces.memory.text.dialogue import LineKind

GROUP = Scope("shared:telegram.home.-100")
ROWS = [
    PointRow(
        PointId(1),
        "MEMORY.md",
        0,
        "Home",
        PRIVATE,
        None,
        LineKind.NOTE,
        "",
        "d1",
        pack([7, 8, 2**32 - 1]),
        pack([]),
    ),
    PointRow(
        PointId(2), "a.md", 0, "", GROUP, date(2026, 3, 7), LineKind.SAYS, "Ann", "d2", pack([7, 9]), pack([5, 6])
    ),
    PointRow(PointId(3), "a.md", 1, "", GROUP, date(2026, 3, 7), LineKind.ASKS, "Bo", "d3", pack([9]), pack([6])),
]
NUMBERS = [7, 8, 9, 2**32 - 1, 1_000]


def stored(file: Path) -> None:
    """Commit `ROWS` to *file*, and one that is taken back."""
    with closing(Manifest(file)) as manifest:
        for row in (
            *ROWS,
            PointRow(PointId(4), "b.md", 0, "", PRIVATE, None, LineKind.NOTE, "", "d", pack([7]), b""),
        ):
            manifest.put(row)
        manifest.remove(PointId(4))
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
        with closing(Manifest(tmp_path / "other.db")) as counted_one_by_one:
            for row in ROWS:
                counted_one_by_one.put(row)
            assert idf(manifest) == idf(counted_one_by_one)


def test_rarity_forgets_what_is_removed(tmp_path: Path) -> None:
    """A word of a removed entry is as rare as if the entry had never been there."""
    stored(tmp_path / "manifest.db")
    with closing(Manifest(tmp_path / "manifest.db")) as manifest, closing(Manifest(tmp_path / "b.db")) as without:
        manifest.remove(PointId(3))
        for row in ROWS[:2]:
            without.put(row)
        assert idf(manifest) == idf(without)


def test_rarity_keeps_nothing_of_what_is_gone(tmp_path: Path) -> None:
    """Ten thousand entries that came and went, each with words of its own, leave no number and no audience."""
    with closing(Manifest(tmp_path / "manifest.db")) as manifest:
        for row in ROWS:
            manifest.put(row)
        before = manifest.words.size, manifest.pieces.size
        for number in range(10_000):
            chat = Scope(f"shared:telegram.home.-{number % 500}")
            row = replace(ROWS[0], id=PointId(4), scope=chat, terms=pack([100 + number]), pieces=pack([number]))
            manifest.put(row)
        manifest.remove(PointId(4))
        assert (manifest.words.size, manifest.pieces.size) == before


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
