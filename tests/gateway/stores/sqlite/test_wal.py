"""Committed frames that SQLite passes over without a word are counted, and nothing else is."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gateway.stores.sqlite.wal import lost_frames

HEADER, FRAME, PAGE = 32, 24, 4_096
COMMITS = 6


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A database as a killed process leaves it: each of some commits is a frame of its log."""
    live, left = tmp_path / "live.db", tmp_path / "left.db"
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in range(COMMITS):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        for end in ("", "-wal"):
            shutil.copy(f"{live}{end}", f"{left}{end}")
    return left


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


def changed(path: Path, change: Callable[[bytearray], object]) -> Path:
    log = path.with_name(f"{path.name}-wal")
    content = bytearray(log.read_bytes())
    change(content)
    log.write_bytes(content)
    return path


def flip(at: int) -> Callable[[bytearray], object]:
    def change(content: bytearray) -> None:
        content[at] ^= 0xFF

    return change


def frame(number: int) -> int:
    """Return where a frame begins, the first being 1."""
    return HEADER + (number - 1) * (FRAME + PAGE)


def test_a_log_as_a_kill_leaves_it_has_lost_nothing(crashed: Path) -> None:
    """Looking changes nothing, and a frame that was cut off was never acknowledged."""
    before = crashed.read_bytes(), crashed.with_name("left.db-wal").read_bytes()
    assert lost_frames(crashed) == 0
    assert (crashed.read_bytes(), crashed.with_name("left.db-wal").read_bytes()) == before
    assert lost_frames(changed(crashed, lambda content: content.__delitem__(slice(len(content) - 100, None)))) == 0
    assert rows(crashed) == COMMITS - 1


@pytest.mark.parametrize("damaged", range(1, COMMITS + 1))
def test_frames_from_the_first_damaged_one_on_are_lost(crashed: Path, damaged: int) -> None:
    """As many commits are gone as are counted: SQLite itself is the judge."""
    changed(crashed, flip(frame(damaged) + FRAME + 4_000))
    assert lost_frames(crashed) == COMMITS - damaged + 1
    assert rows(crashed) == damaged - 1


@pytest.mark.parametrize("at", [0, 8, 10, 17, 30])
def test_a_damaged_header_loses_all_frames(crashed: Path, at: int) -> None:
    """Its magic, its page size, a salt or its checksum."""
    changed(crashed, flip(at))
    assert lost_frames(crashed) == COMMITS
    assert rows(crashed) == 0


def test_frames_of_an_earlier_life_of_the_log_are_not_lost(tmp_path: Path) -> None:
    """They are in the database already; the log is written anew over them."""
    live, left = tmp_path / "live.db", tmp_path / "left.db"
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        for number in range(COMMITS):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        connection.execute("INSERT INTO t VALUES (7)")
        for end in ("", "-wal"):
            shutil.copy(f"{live}{end}", f"{left}{end}")
    assert left.with_name("left.db-wal").stat().st_size > frame(COMMITS)
    assert lost_frames(left) == 0
    assert rows(left) == COMMITS + 1


def test_where_nobody_can_tell_nothing_is_said(tmp_path: Path) -> None:
    """No database, no log, an empty log, or a database that is none: whoever opens it says what is wrong."""
    path = tmp_path / "state.db"
    assert lost_frames(path) == 0
    path.write_bytes(b"noise" * 1_000)
    assert lost_frames(path) == 0
    path.with_name("state.db-wal").write_bytes(b"")
    assert lost_frames(path) == 0
    path.with_name("state.db-wal").write_bytes(b"x" * 10_000)
    assert lost_frames(path) == 0
