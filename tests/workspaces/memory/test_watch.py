"""Detection of file changes that nobody reported to the index."""

import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import pytest
import watchfiles

from tests.fakes.memory import TODAY, HandlerWorker, WordsEmbedder, run_here
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import AGENT
from workspaces.errors import WorkspaceError
from workspaces.files import Folder
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.sync import Progress, SyncReport
from workspaces.memory.watch import How, Watched, catch_up, keep_fresh
from workspaces.memory.workspace_source import WorkspaceNotes, note_folders

GOAL_S = 2.0
"""A changed file is searchable within this time of its save; what else the machine does may delay some of several."""


class Observed(MemoryIndex):
    """An index that tells of each sync that is done."""

    fails = 0

    async def sync(self, progress: Progress | None = None, *, retry: bool = False) -> SyncReport:
        if self.fails:
            self.fails -= 1
            self.synced.set()
            raise MemoryUnavailableError("away")
        report = await super().sync(progress)
        self.synced.set()
        return report

    synced: asyncio.Event


class Home:
    """Notes in real files, and their index."""

    def __init__(self, home: Path) -> None:
        self.notes = home / "workspace"
        self.notes.mkdir()
        (home / "index").mkdir()  # an index that was made before: the first look syncs it
        self.folder = Folder(self.notes)
        self.worker = HandlerWorker(WordsEmbedder())
        clock = MemoryClock(time.monotonic, lambda: date(TODAY.year, TODAY.month, TODAY.day))
        self.index = Observed(AGENT, home / "index", [WorkspaceNotes(self.folder)], self.worker, run_here, clock)
        self.index.synced = asyncio.Event()

    @asynccontextmanager
    async def watched(self, how: How = "events", settle_s: float = 0.0, every_s: float = 0.0) -> AsyncIterator[None]:
        async def folders() -> list[Path]:
            return note_folders(self.folder)

        watched = Watched(self.index, folders, settle_s)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(keep_fresh([watched], how, every_s))
            try:
                yield
            finally:
                task.cancel()

    async def entries(self) -> int:
        return (await self.index.status()).entries

    async def becomes(self, entries: int) -> float:
        """Return how long it took until the index held *entries*."""
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE_S):
            while await self.entries() != entries:
                self.index.synced.clear()
                await self.index.synced.wait()
        return time.monotonic() - began


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    yield home
    home.worker.handler.close()
    home.folder.close()


def _by_rename(path: Path, text: str) -> None:
    beside = path.with_name(".beside.tmp")
    beside.write_text(text)
    beside.replace(path)


def _in_place(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.mark.parametrize("how", ["events", "polling"])
@pytest.mark.parametrize("save", [_in_place, _by_rename])
async def test_a_saved_file_is_searchable_soon_and_no_search_asked_for_it(
    home: Home, how: How, save: Callable[[Path, str], None]
) -> None:
    """Within two seconds, however editors write files, where the system tells of changes and where it does not."""
    took = list[float]()
    async with home.watched(how):
        await home.index.synced.wait()  # the first look
        save(home.notes / "MEMORY.md", "- likes tea\n")
        took.append(await home.becomes(1))
        save(home.notes / "MEMORY.md", "- likes tea\n- likes bread\n")
        took.append(await home.becomes(2))
        (home.notes / "MEMORY.md").unlink()
        took.append(await home.becomes(0))
        assert min(took) < GOAL_S
        assert "search" not in home.worker.calls


async def test_a_system_that_refuses_to_watch_is_looked_at_instead(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the system's watches are used up, changes are found all the same, within the same time, and it is said."""

    async def none_left(*_: object, **__: object) -> AsyncIterator[set[tuple[int, str]]]:
        raise OSError(errno.ENOSPC, "OS file watch limit reached")
        yield set()

    monkeypatch.setattr(watchfiles, "awatch", none_left)
    took = list[float]()
    await home.index.sync()  # it is open
    async with home.watched("events"):
        (home.notes / "MEMORY.md").write_text("- likes tea\n")
        took.append(await home.becomes(1))
        (home.notes / "MEMORY.md").write_text("- likes tea\n- likes bread\n")
        took.append(await home.becomes(2))
    assert min(took) < GOAL_S
    assert "files cannot be watched" in caplog.text


async def test_a_file_whose_name_is_no_text_ends_no_watch(home: Home) -> None:
    """As an archive from another system unpacks one: the watching library fails for its change, and goes on."""
    async with home.watched():
        await home.becomes(0)
        for number in (1, 2):
            place = os.fsencode(home.notes) + b"/caf\xe9.md"
            await asyncio.to_thread(Path(os.fsdecode(place)).write_text, f"- {number}\n")
            _in_place(home.notes / "MEMORY.md", "- likes tea\n" * number)
            await home.becomes(number)


async def test_new_folders_are_watched_too(home: Home) -> None:
    """A note in a folder made a moment ago, and a later one in the same folder."""
    async with home.watched():
        await home.index.synced.wait()
        deep = home.notes / "memory" / "shared" / "telegram.home.-100"
        deep.mkdir(parents=True)
        (deep / "2026-03-01.md").write_text("- tea\n")
        took = [await home.becomes(1)]
        (deep / "2026-03-02.md").write_text("- bread\n")
        took.append(await home.becomes(2))
        assert min(took) < GOAL_S


class Counting:
    """A follower that counts how often it was told; at first it cannot catch up."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[None] = asyncio.Queue()
        self.fails = 1

    async def catch_up(self) -> None:
        self.told.put_nowait(None)
        if self.fails:
            self.fails -= 1
            raise MemoryUnavailableError("away")


async def test_every_follower_of_a_folder_is_told(tmp_path: Path) -> None:
    """Two that share a folder both hear of a change there, and the one alone of its own; a failure ends nothing."""
    watched, beside = tmp_path / "watched", tmp_path / "beside"
    (watched / "own").mkdir(parents=True)
    one, two = Counting(), Counting()

    async def shared() -> list[Path]:
        return [watched]

    async def both() -> list[Path]:
        return [watched, watched / "own"]

    def put(path: Path) -> None:
        """Let it be there at once: a file that is made and then written may be told of twice."""
        beside.write_text("x")
        beside.replace(path)

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(keep_fresh([Watched(one, shared), Watched(two, both)]))
        await one.told.get()  # the first look
        await two.told.get()
        put(watched / "a.md")
        await one.told.get()
        await two.told.get()
        put(watched / "own/a.md")
        await two.told.get()
        assert one.told.empty()
        task.cancel()


async def test_a_link_out_of_the_workspace_is_not_followed(home: Home, tmp_path: Path) -> None:
    """Folders elsewhere are none of ours, whatever points to them."""
    (tmp_path / "elsewhere").mkdir()
    (home.notes / "memory").mkdir()
    (home.notes / "memory" / "link").symlink_to(tmp_path / "elsewhere")
    assert note_folders(home.folder) == [home.notes, home.notes / "memory"]


async def test_without_events_the_clock_is_enough(home: Home) -> None:
    """With an interval and no watch, changes are found when it is time."""
    async with home.watched("off", every_s=0.05):
        await home.index.synced.wait()
        (home.notes / "MEMORY.md").write_text("- likes tea\n")
        await home.becomes(1)


async def test_a_failed_sync_is_made_up_for(home: Home) -> None:
    """A worker that is away costs one sync: the watch goes on, and the next change brings everything."""
    async with home.watched():
        await home.index.synced.wait()
        home.index.fails = 1
        home.index.synced.clear()
        (home.notes / "MEMORY.md").write_text("- likes tea\n")
        await home.index.synced.wait()
        (home.notes / "memory").mkdir()
        await home.becomes(1)


async def test_the_watch_ends_at_once_when_it_is_cancelled(home: Home) -> None:
    """A stop does not wait for the next change."""
    async with asyncio.timeout(PATIENCE_S), home.watched():
        await home.index.synced.wait()


async def test_a_file_that_is_written_again_and_again_is_left_to_settle(home: Home) -> None:
    """Changes within the time to settle are taken in by one sync, after it."""
    async with home.watched(settle_s=0.4):
        await home.index.synced.wait()
        began = time.monotonic()
        (home.notes / "MEMORY.md").write_text("- one\n")
        await home.becomes(1)
        assert time.monotonic() - began >= 0.4


class Counted:
    """An agent's folders and what follows them; it knows how often it was asked and told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked = 0
        self.looked = asyncio.Event()
        (root / "memory").mkdir(parents=True)

    async def folders(self) -> list[Path]:
        self.asked += 1
        return [self.root, *(path for path in self.root.rglob("*") if path.is_dir())]

    async def catch_up(self) -> None:
        self.looked.set()


class Crowded(Counted):
    """A follower that knows how many catch up beside it."""

    together, most = 0, 0
    fault: WorkspaceError | None = None

    async def catch_up(self) -> None:
        Crowded.together += 1
        Crowded.most = max(Crowded.most, Crowded.together)
        for _ in range(3):
            await asyncio.sleep(0)
        Crowded.together -= 1
        self.looked.set()
        if self.fault:
            raise self.fault


async def test_no_more_than_there_is_room_for_catch_up_at_once(tmp_path: Path) -> None:
    """With as many agents as there may be; all of them do in the end."""
    agents, room = [Crowded(tmp_path / f"agent-{number}") for number in range(20)], asyncio.Semaphore(2)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(keep_fresh([Watched(each, each.folders, room=room) for each in agents]))
        for each in agents:
            await each.looked.wait()
        task.cancel()
    assert Crowded.most == 2


async def test_no_more_than_said_catch_up_at_once_with_changes_that_nobody_watched(tmp_path: Path) -> None:
    """All of them do, and one that fails keeps none of the others from it."""
    agents = [Crowded(tmp_path / f"agent-{number}") for number in range(20)]
    Crowded.most, agents[3].fault = 0, MemoryUnavailableError("the worker died")
    async with asyncio.timeout(PATIENCE_S):
        await catch_up(agents, 3)
    assert Crowded.most == 3
    assert all(each.looked.is_set() for each in agents)


async def test_a_change_asks_only_the_agent_whose_file_it_is(tmp_path: Path) -> None:
    """Of fifty agents the other forty-nine are asked for no folder, whether a file changed or a folder is new."""
    agents = [Counted(tmp_path / f"agent-{number}") for number in range(50)]
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(keep_fresh([Watched(each, each.folders) for each in agents]))
        for each in agents:
            await each.looked.wait()  # the watch stands
        before = [each.asked for each in agents]
        for number in range(5):
            agents[7].looked.clear()
            (agents[7].root / "memory" / f"{number}.md").write_text("- tea\n")
            await agents[7].looked.wait()
        for each in agents:
            each.looked.clear()
        (agents[7].root / "memory" / "new").mkdir()
        for each in agents:  # the watch stands anew, so that all look for what it missed
            await each.looked.wait()
        agents[7].looked.clear()
        (agents[7].root / "memory" / "new" / "note.md").write_text("- tea\n")
        await agents[7].looked.wait()
        task.cancel()
    asked = [each.asked - count for each, count in zip(agents, before, strict=True)]
    assert asked[7] >= 6
    assert sum(asked) == asked[7]
