"""Turns become commits beside the conversation, and a history that cannot be used stops nobody."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

import pytest

from gateway.agent.keeper import UNUSABLE, Keeper
from gateway.agents import Threads
from tests.workspaces.history.home import START, Home
from tests.workspaces.turns import MAIN
from workspaces.errors import HistoryUnusableError
from workspaces.history import History, LogQuery, Origin
from workspaces.history.messages import INITIAL, MAINTENANCE

P = ParamSpec("P")
T = TypeVar("T")


class House:
    """A keeper at work on real files and real git; `committed` waits until a number of commits is there."""

    def __init__(self, root: Path, open_history: Callable[[], History] | None = None) -> None:
        self.home = Home(root)
        self.threads = Threads("workspace")
        self.beside = Threads("history")
        self.counts: Counter[str] = Counter()
        self.counted = asyncio.Event()
        self.keeper = Keeper(open_history or self.home.open, self.beside, self.count)
        self.home.workspace.folder.on_written = self.keeper.written

    async def count(self, reason: str) -> None:
        self.counts[reason] += 1
        self.counted.set()

    async def write(self, turn: str, path: str, text: str) -> None:
        """Create a file as a tool of *turn* does."""
        run = self.keeper.noting(self.threads, turn, Origin("main", f"m-{turn}", turn))
        await run(self.home.workspace.write, path, text, MAIN, None)

    def close(self) -> None:
        self.threads.close()
        self.beside.close()
        self.home.workspace.folder.close()


@asynccontextmanager
async def working(house: House) -> AsyncIterator[None]:
    """Let the keeper work while the block runs, and finish."""
    task = asyncio.create_task(house.keeper.work())
    await house.keeper.ready()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    await house.keeper.finish()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


async def test_a_turn_is_one_commit_that_names_it(house: House) -> None:
    """Two files of one turn are one commit, another turn's file is another, each with its origin."""
    async with working(house):
        await house.write("t-1", "notes/a.md", "a\n")
        await house.write("t-2", "c.md", "c\n")
        await house.write("t-1", "notes/b.md", "b\n")
        house.keeper.ended("t-1")
        house.keeper.ended("t-2")
    view = (await house.keeper.history()).view(MAIN)
    second, first, _ = view.log(LogQuery())
    assert [str(change.path) for change in first.changes] == ["notes/a.md", "notes/b.md"]
    assert (first.origin, second.origin) == (Origin("main", "m-t-1", "t-1"), Origin("main", "m-t-2", "t-2"))
    assert not house.counts


async def test_a_turn_that_changed_nothing_is_no_commit(house: House) -> None:
    """Nor is one that ended twice, or that nobody knows."""
    async with working(house):
        await house.write("t-1", "a.md", "a\n")
        house.keeper.ended("t-1")
        house.keeper.ended("t-1")
        house.keeper.ended("t-9")
    assert house.home.commits() == [INITIAL, "file: write a.md"]


async def test_what_others_changed_is_recorded_at_start_and_end(house: House) -> None:
    """The owner's editor, and what was written outside of turns, before the start and until the end."""
    await house.keeper.history()
    house.home.put("before.md", "x\n")
    async with working(house):
        await house.write("t-1", "between.md", "y\n")
        house.keeper.ended("t-1")
        house.home.put("after.md", "z\n")
    assert house.home.tree() == {"before.md", "between.md", "after.md"}
    assert house.home.commits()[-1] == "file: write after.md"


async def test_a_turn_that_was_cut_off_is_recorded_as_its_own(house: House) -> None:
    """A drain that ran out of time loses no origin."""
    async with working(house):
        await house.write("t-1", "a.md", "a\n")
    (commit, _) = (await house.keeper.history()).view(MAIN).log(LogQuery())
    assert commit.origin == Origin("main", "m-t-1", "t-1")


async def test_a_history_that_cannot_be_used_stops_nobody_and_recovers(tmp_path: Path) -> None:
    """The trouble is counted and told; once it is gone the next commit takes in what was missed."""
    is_broken = True

    def unusable_at_first() -> History:
        if is_broken:
            raise HistoryUnusableError("no space left")
        return Home(tmp_path).open()

    house = House(tmp_path, unusable_at_first)
    async with working(house):
        await asyncio.wait_for(house.counted.wait(), 5)
        assert await house.keeper.ready() is None
        assert house.keeper.trouble == "no space left"
        await house.write("t-1", "a.md", "a\n")
        house.keeper.ended("t-1")
        is_broken = False
    assert house.keeper.trouble == ""
    assert house.counts[UNUSABLE] >= 1
    assert house.home.tree() == {"a.md"}
    house.close()


async def test_a_damaged_history_is_told(house: House) -> None:
    """What was set aside is named in words, and counted once."""
    house.home.open()
    shutil.rmtree(house.home.git_dir / "objects")
    async with working(house):
        pass
    await house.keeper.maintain(lambda: START)
    (repair,) = house.keeper.repairs()
    assert "begun anew from the files" in repair
    assert ".damaged-" in repair
    assert house.counts == {"history_damaged": 1}


async def test_maintenance_is_done_when_it_is_due(house: House) -> None:
    """A month after the beginning, and not before."""
    await house.keeper.begin()
    await house.keeper.maintain(house.home.clock)
    assert house.home.commits() == [INITIAL]
    await house.keeper.maintain(lambda: START.replace(month=START.month + 2))
    assert house.home.commits() == [INITIAL, MAINTENANCE]


async def test_a_commit_holds_up_no_turn(house: House) -> None:
    """While the history is busy, the workspace's own thread works on."""
    history_may_go_on = asyncio.Event()
    loop = asyncio.get_running_loop()

    def busy() -> None:
        asyncio.run_coroutine_threadsafe(history_may_go_on.wait(), loop).result(10)

    async with asyncio.TaskGroup() as tasks, working(house):
        tasks.create_task(house.keeper.ask(busy))
        await asyncio.wait_for(house.write("t-1", "a.md", "a\n"), 5)
        house.keeper.ended("t-1")
        await asyncio.wait_for(house.threads(house.home.workspace.read, PurePosixPath("a.md"), MAIN), 5)
        history_may_go_on.set()
    assert house.home.tree() == {"a.md"}
