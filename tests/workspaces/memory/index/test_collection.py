"""Removal of points that a collection no longer needs."""

import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest

from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index import collection as collections
from workspaces.memory.index.collection import LITTER, Collection
from workspaces.memory.index.index import Index, layout

T = TypeVar("T")
STEP_S = 0.25
LINES = LITTER + 200
DAY = date(2026, 3, 7)


def write(collection: Collection, version: int, lines: int = LINES) -> None:
    """Replace every line of the one note by another."""
    text = "".join(f"- version {version} of line {n}, about {n * 7} apples\n" for n in range(lines))
    document = Document("memory/2026-03-07.md", PRIVATE, text, DAY, f"digest {version}")
    for _ in collection.put(document, f"stamp {version}"):
        pass
    collection.commit()


def disk(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.glob("*/shard/segments/**/*") if file.is_file())


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder in whose files no room is taken by what was never written: in memory their whole length is."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_note_that_keeps_changing_does_not_fill_the_disk(on_disk: Path) -> None:
    """Once more points are dead than alive they are swept; what is alive stays. (The WAL has its own bound, 32 MB.)"""
    index = Index(on_disk, None)
    collection = index.building
    write(collection, 1)
    once = disk(on_disk)
    for version in (2, 3, 4, 5):
        write(collection, version)
        assert collection.manifest.dead <= LINES
    assert disk(on_disk) < 2 * once
    assert collection.shard.ids() == collection.manifest.points.keys()
    assert len(collection.manifest.points) == LINES
    index.close()


def test_no_step_over_a_huge_note_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut beside other work, stored and removed in slices; a change stores what changed, an equal one nothing."""
    monkeypatch.setattr(collections, "FRESH", 1_000_000)  # a sweep is a step of its own
    lines = [f"- Ida has {n} apples, says version 1 of her line {n}" for n in range(6_000)]

    def document(digest: str) -> Document:
        return Document("memory/2026-03-07.md", PRIVATE, "\n".join(lines), DAY, digest)

    index = Index(tmp_path, None)
    first, longest = _longest_step(index.building.put(document("one"), "s1"))
    assert (first.entries, first.stored, first.removed) == (6_000, 6_000, 0)
    assert longest < STEP_S
    lines[3_000] = "- Ida has a pear"
    second, longest = _longest_step(index.building.put(document("two"), "s2"))
    assert (second.entries, second.stored, second.removed) == (6_000, 2, 1)  # the next one's context is another
    assert longest < STEP_S
    third, _ = _longest_step(index.building.put(document("two"), "s3"))
    assert (third.entries, third.stored, third.removed) == (6_000, 0, 0)
    removed, longest = _longest_step(index.building.drop(["memory/2026-03-07.md"]))
    assert removed == 6_000
    assert longest < STEP_S
    assert index.building.shard.ids() == set()
    index.close()


def _longest_step(work: Generator[None, None, T]) -> tuple[T, float]:
    """Return the result of *work*, and the processor time of its longest step."""
    longest_s = 0.0
    while True:
        began = time.thread_time()
        try:
            next(work)
        except StopIteration as finished:
            return finished.value, longest_s
        longest_s = max(longest_s, time.thread_time() - began)


def test_dead_points_are_counted_across_restarts(tmp_path: Path) -> None:
    """Many small changes, each in a process of its own, add up."""
    for version in (1, 2, 3):
        index = Index(tmp_path, None)
        write(index.building, version, lines=5)
        assert index.building.manifest.dead == 5 * (version - 1)
        index.close()


def test_a_large_collection_is_swept_when_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit leaves it alone, closing it for long does not."""
    monkeypatch.setattr(collections, "SWEPT_AT_ONCE", 1_000)
    index = Index(tmp_path, None)
    for version in (1, 2, 3):
        write(index.building, version)
    assert index.building.manifest.dead == 2 * LINES
    index.close_for_long()
    index = Index(tmp_path, None)
    assert index.building.manifest.dead == 0
    index.close()


def test_an_index_of_an_older_version_gives_way(tmp_path: Path) -> None:
    """What an older program kept of each entry is too little to rank by: it is put away and the notes are read anew."""
    old = Index(tmp_path, None)
    write(old.building, 1, lines=5)
    old.commit(complete=True)
    old.close()
    before = tmp_path / "keywords-v1"
    (tmp_path / layout(None)).rename(before)
    with closing(sqlite3.connect(before / "manifest.db")) as db:
        db.execute("ALTER TABLE points DROP COLUMN kind")
    index = Index(tmp_path, None)
    assert (index.is_rebuilding, before.exists()) == (True, False)
    write(index.answering, 1, lines=5)
    assert len(index.answering.manifest.points) == 5
    index.close()
