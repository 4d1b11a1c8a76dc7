"""The check of costs: what counts as a rise, and that the counts see what is done."""

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.counts import KINDS, Probe, imported, risen


def test_a_rise_beyond_its_tolerance_is_named() -> None:
    """One flush more is; a module within the tolerance is not, nor is anything that fell."""
    accepted = {"flushes, a message": 4.0, "modules, up": 1_000.0, "functions, a message": 5_000.0}
    assert not risen({"flushes, a message": 4.0, "modules, up": 1_050.0, "functions, a message": 10.0}, accepted)
    assert risen({"flushes, a message": 5.0}, accepted) == ["flushes, a message: 5, accepted 4"]
    assert risen({"modules, up": 1_051.0}, accepted) == ["modules, up: 1051, accepted 1000"]
    assert risen({"tools in it": 3.0}, accepted) == ["tools in it: 3, never accepted"]


def test_every_kind_of_count_tolerates_less_than_a_tenth() -> None:
    """But for what is counted in ones."""
    assert all(kind.share < 0.1 for kind in KINDS.values())


async def test_what_is_done_is_counted(tmp_path: Path) -> None:
    """Flushes of files and of SQLite, and hand-overs to a thread and back; a loop that wakes itself is none."""
    probe = Probe()
    with probe.installed():
        with (tmp_path / "file").open("w") as file:
            os.fsync(file)
        with sqlite3.connect(tmp_path / "state.db") as store:
            store.execute("CREATE TABLE rows (id)")
            store.execute("INSERT INTO rows VALUES (1)")
        store.close()
        before = dict(probe.counts)
        with ThreadPoolExecutor(1) as pool:
            await asyncio.get_running_loop().run_in_executor(pool, str)
        asyncio.get_running_loop().call_soon_threadsafe(str)
    assert before["flushes"] == 2
    assert probe.counts["hand-overs"] - before.get("hand-overs", 0) == 2


def test_modules_of_others_are_counted_once() -> None:
    """Python's own are not: they differ between its versions."""
    log = "import time: self [us] | cumulative | imported package\nimport time: 1 | 2 |   json.decoder\n"
    log += "import time: 1 | 2 | gateway\nimport time: 1 | 2 |   gateway\nimport time: 1 | 2 | typer.main\nelse\n"
    assert imported(log) == 2
