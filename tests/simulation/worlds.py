"""Runs whole worlds: one life after the other over the files that the one before left."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gateway.home import Home
from tests.journeys.house import OWNER
from tests.simulation.invariants import transcripts
from tests.simulation.life import live, warm_up
from tests.simulation.script import GROUP, SECRET
from tests.simulation.virtual_time import EPOCH
from tests.simulation.world import Doom, Fate, World
from workspaces.access import AgentId
from workspaces.workspace import Workspace

MEMORY = Path("/dev/shm")  # folders of our own in it; a disk's syncs take most of the time
CONFIG = """
[owner]
time_zone = "Europe/Berlin"
people = ["telegram:{owner}"]
[agents.main]
[memory]
recall = "off"
watch = "off"
[queue]
mode = "{world.mode}"
session_memory = {world.session_memory}
[channels.telegram.home]
token_env = "BOT_TOKEN"
groups = {{ "{group}" = {{ mention = false }} }}
"""


def nothing() -> None:
    """Plant no fault."""


def run_world(seed: int, *, fifo: bool = False, plant: Callable[[], None] = nothing) -> World:
    """Return the world of *seed* at its end."""
    world = World(seed, fifo)
    with _folder() as folder:
        home = _prepared(folder, world)
        while not world.failure:
            fate = world.fate
            world = live(world, home, plant)
            _settle_times(home, world)
            if fate.doom is Doom.NONE:
                break
            if fate.is_power_cut and fate.doom is not Doom.STOP:
                _lose_unsynced(home, world)
            _mark_remains(home, world)
            world.lives += 1
            world.now += world.faults.choice([1.0, 30.0, 1_000.0]) * world.faults.random()
        return world


def make_ready() -> None:
    """Load and warm up what every world needs."""
    world = World(0)
    world.fates = [Fate(Doom.NONE)]
    with _folder() as folder:
        warm_up(world, _prepared(folder, world))


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="strandline-world-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _prepared(folder: Path, world: World) -> Home:
    home = Home(folder)
    home.create()
    home.write(home.config_file, CONFIG.format(world=world, owner=OWNER, group=GROUP))
    Workspace.create(home.agent("main").workspace, AgentId("main")).folder.close()
    memory = home.agent("main").workspace / "MEMORY.md"
    memory.write_text(f"{memory.read_text()}\n- The owner's word is {SECRET}memory.\n")
    for path in folder.rglob("*"):
        os.utime(path, (EPOCH.timestamp(), EPOCH.timestamp()))
    return home


def _settle_times(home: Home, world: World) -> None:
    """Date the files as the world does: a gateway reads from them when a conversation was active."""
    now = EPOCH.timestamp() + world.now
    for path in transcripts(home):
        os.utime(path, (now, min(now, path.stat().st_mtime)))


def _lose_unsynced(home: Home, world: World) -> None:
    """Cut each transcript somewhere behind what was synced."""
    for path in transcripts(home):
        facts = path.stat()
        size, synced = facts.st_size, world.synced.get(facts.st_ino, 0)
        if synced < size:
            world.mark("a power cut takes what was not synced")
            os.truncate(path, world.faults.randint(synced, size))


def _mark_remains(home: Home, world: World) -> None:
    """Note what the dead gateway left to the next one."""
    if not home.state_db.exists():
        return
    with closing(sqlite3.connect(home.state_db)) as db, db:
        try:
            states = [state for (state,) in db.execute("SELECT state FROM outbox")]
            waiting = db.execute("SELECT count(*) FROM inbox").fetchone()[0]
            changes = db.execute("SELECT count(*) FROM changes WHERE state = 'waiting'").fetchone()[0]
        except sqlite3.OperationalError:  # it died before it had made its tables
            return
    db.close()
    for name, found in [
        ("a restart between commit and send", "queued" in states),
        ("a restart while a send was under way", "sending" in states),
        ("a restart with messages waiting", waiting),
        ("a restart with a change waiting for approval", changes),
    ]:
        if found:
            world.mark(name)
