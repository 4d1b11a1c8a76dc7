"""Size of an agent's index, measured from outside: its passages, and its disk usage."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class IndexSize:
    """An index at one moment."""

    passages: int
    dead: int
    """Deleted passages with space not yet freed."""
    fresh: int
    """Passages with their words in the engine's memory: some 4,000 at most."""
    files_mb: float


def index_size(folder: Path) -> IndexSize | None:
    """Measure the index in *folder*; `None` while it is being created or changed."""
    try:
        [manifest] = folder.glob("*/manifest.db")
        with closing(sqlite3.connect(f"{manifest.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            [passages] = database.execute("SELECT count(*) FROM points").fetchone()
            dead, fresh = database.execute("SELECT dead, fresh FROM leavings").fetchone()
    except (ValueError, sqlite3.Error):
        return None
    return IndexSize(passages, dead, fresh, megabytes(folder))


def megabytes(folder: Path) -> float:
    """Return the disk usage of the files below *folder*; those that vanish meanwhile count as nothing."""
    return sum(blocks(folder)) * 512 / 1e6


def blocks(folder: Path) -> Iterator[int]:
    """Yield the blocks of 512 bytes of each file below *folder*."""
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield Path(place, name).lstat().st_blocks
