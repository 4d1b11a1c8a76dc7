"""Turns become commits beside the conversation, and a history that cannot be used stops nobody."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

import pytest
from filelock import FileLock

from gateway.agent.file_trouble import FileTroubleNotices
from gateway.agent.history_writer import UNUSABLE, HistoryWriter
from gateway.runtime.threads import Threads
from tests.fakes.disk import files_end_at
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.history.home import START, Home
from tests.workspaces.turns import AGENT, MAIN
from workspaces.errors import HistoryUnusableError, WorkspaceUnusableError
from workspaces.history import ExposedTurns, History, LineOrigin, LogQuery, Origin, repository
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
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        folder = self.home.workspace.folder
        file_trouble = FileTroubleNotices(AGENT, folder, self.tell, self.home.clock)
        exposed = ExposedTurns(root / "history.git.exposed")
        self.history_writer = HistoryWriter(
            open_history or self.home.open, self.beside, self.count, file_trouble, exposed
        )
        folder.follow(self.history_writer.hear)
        self.told: asyncio.Queue[str] = asyncio.Queue()

    async def count(self, reason: str) -> None:
        self.counts[reason] += 1
        self.counted.set()
        await self.may_go_on.wait()

    async def tell(self, _: str, said: str) -> None:
        await self.told.put(said)

    async def write(self, turn: str, path: str, text: str, *, others: bool = False) -> None:
        """Create a file as a tool of *turn* does; with *others*, after it has read others' words."""
        origin = Origin("main", f"m-{turn}", turn)
        run = self.history_writer.noting(self.threads, turn, origin, lambda: others)
        await run(self.home.workspace.write, path, text, MAIN, None)

    def close(self) -> None:
        self.threads.close()
        self.beside.close()
        self.home.workspace.folder.close()


@asynccontextmanager
async def working(house: House) -> AsyncIterator[None]:
    """Let the keeper work while the block runs, and finish."""
    task = asyncio.create_task(house.history_writer.work())
    await house.history_writer.ready()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    await house.history_writer.finish()


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
        house.history_writer.ended("t-1")
        house.history_writer.ended("t-2")
    view = (await house.history_writer.history()).view(MAIN)
    second, first, _ = view.log(LogQuery())
    assert [str(change.path) for change in first.changes] == ["notes/a.md", "notes/b.md"]
    assert (first.origin, second.origin) == (
        Origin("main", "m-t-1", "t-1", others=False),
        Origin("main", "m-t-2", "t-2", others=False),
    )
    assert not house.counts


async def test_a_turn_that_changed_nothing_is_no_commit(house: House) -> None:
    """Nor is one that ended twice, or that nobody knows."""
    async with working(house):
        await house.write("t-1", "a.md", "a\n")
        house.history_writer.ended("t-1")
        house.history_writer.ended("t-1")
        house.history_writer.ended("t-9")
    assert house.home.commits() == [INITIAL, "file: write a.md"]


async def test_what_others_changed_is_recorded_at_start_and_end(house: House) -> None:
    """The owner's editor, and what was written outside of turns, before the start and until the end."""
    await house.history_writer.history()
    house.home.put("before.md", "x\n")
    async with working(house):
        await house.write("t-1", "between.md", "y\n")
        house.history_writer.ended("t-1")
        house.home.put("after.md", "z\n")
    assert house.home.tree() == {"before.md", "between.md", "after.md"}
    assert house.home.commits()[-1] == "file: write after.md"


async def test_a_turn_that_was_cut_off_is_recorded_as_its_own(house: House) -> None:
    """A drain that ran out of time loses no origin."""
    async with working(house):
        await house.write("t-1", "a.md", "a\n")
    (commit, _) = (await house.history_writer.history()).view(MAIN).log(LogQuery())
    assert commit.origin == Origin("main", "m-t-1", "t-1", others=False)


async def sessions_of(house: House, path: str) -> list[str | None]:
    """Return where each version of the file came from, the oldest first."""
    log = (await house.history_writer.history()).view(MAIN).log(LogQuery(path=PurePosixPath(path)))
    return [commit.origin.turn or commit.origin.session if commit.origin else None for commit in reversed(log)]


async def test_the_owners_edit_is_a_commit_of_its_own_while_a_turn_goes_on(house: House) -> None:
    """An edit of another file, noticed during a turn, is the owner's; the turn's file waits for the turn's end."""
    async with working(house):
        await house.write("t-1", "ours.md", "x\n")
        house.home.put("theirs.md", "y\n")
        await house.history_writer.catch_up()
        assert house.home.commits() == [INITIAL, "file: write theirs.md"]
        house.history_writer.ended("t-1")
    assert house.home.git("log", "--format=%an: %s", "main").splitlines()[:2] == [
        "Strandline agent main: file: write ours.md",
        "Owner: file: write theirs.md",
    ]
    assert await sessions_of(house, "theirs.md") == ["editor"]
    assert await sessions_of(house, "ours.md") == ["t-1"]


async def test_what_a_turn_replaced_before_anybody_noticed_is_kept_as_the_owners(house: House) -> None:
    """The version that the owner had saved, the turn's above it, and what he made of that: three commits."""
    path = PurePosixPath("notes/a.md")
    async with working(house):
        run = house.history_writer.noting(house.threads, "t-1", Origin("main", "1", "t-1"))
        house.home.put("notes/a.md", "- mine\n")
        await run(house.home.workspace.append, path, "- agent's\n", "", MAIN)
        house.home.put("notes/a.md", "- mine\n- agent's\n- mine again\n")
        await house.history_writer.catch_up()
        await run(house.home.workspace.append, path, "- agent's again\n", "", MAIN)
        house.history_writer.ended("t-1")
    assert await sessions_of(house, "notes/a.md") == ["editor", "t-1", "editor", "t-1"]
    commits = house.home.git("rev-list", "--reverse", "main").split()[1:]
    texts = [house.home.git("show", f"{commit}:notes/a.md") for commit in commits]
    lines = ["- mine\n", "- agent's\n", "- mine again\n", "- agent's again\n"]
    assert texts == ["".join(lines[:count]) for count in range(1, 5)]


async def test_two_turns_on_one_file_are_two_commits_in_their_order(house: House) -> None:
    """Whichever turn ends first, each commit holds what its turn left."""
    path = PurePosixPath("a.md")
    async with working(house):
        for turn in ("t-1", "t-2"):
            run = house.history_writer.noting(house.threads, turn, Origin("main", turn, turn))
            await run(house.home.workspace.append, path, f"- {turn}\n", "", MAIN)
        house.history_writer.ended("t-2")
        house.history_writer.ended("t-1")
    assert await sessions_of(house, "a.md") == ["t-1", "t-2"]
    assert house.home.git("show", "main~1:a.md") == "- t-1\n"


async def test_a_file_brought_back_in_a_turn_is_no_turns_change_again(house: House) -> None:
    """What `restore` commits itself stays the newest, whatever the turn had written before and however it ends."""
    house.home.put("a.md", "one\n")
    async with working(house):
        history = await house.history_writer.history()
        first = history.view(MAIN).log(LogQuery())[0].id
        run = house.history_writer.noting(house.threads, "t-1", origin := Origin("main", "1", "t-1"))
        await run(house.home.workspace.append, PurePosixPath("a.md"), "two\n", "", MAIN)
        house.home.put("a.md", "one\ntwo\nmine\n")
        await run(history.restore, first, "a.md", MAIN, origin)
        house.history_writer.ended("t-1")
    assert house.home.texts() == {"a.md": b"one\n"}
    assert house.home.git("show", "main:a.md") == "one\n"
    assert house.home.commits()[-1].startswith("file: restore a.md from")
    assert "one\ntwo\nmine\n" in house.home.git("log", "-p", "--format=", "main").replace("\n+", "\n").replace(
        "\n ", "\n"
    )


async def test_a_history_that_cannot_be_used_stops_nobody_and_recovers(tmp_path: Path) -> None:
    """The trouble is counted and told; once it is gone the next commit takes in what was missed."""
    is_broken = True

    def unusable_at_first() -> History:
        if is_broken:
            raise HistoryUnusableError("no space left")
        return Home(tmp_path).open()

    house = House(tmp_path, unusable_at_first)
    async with working(house):
        await asyncio.wait_for(house.counted.wait(), PATIENCE_S)
        assert await house.history_writer.ready() is None
        assert house.history_writer.trouble == "no space left"
        await house.write("t-1", "a.md", "a\n")
        house.history_writer.ended("t-1")
        is_broken = False
    assert house.history_writer.trouble == ""
    assert await sessions_of(house, "a.md") == [None]
    assert house.counts[UNUSABLE] >= 1
    assert house.home.tree() == {"a.md"}
    house.close()


async def test_a_turn_that_could_not_be_recorded_is_made_up_for_as_its_own(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the history is held by somebody else nothing is lost; later each turn has its commit."""
    monkeypatch.setattr(repository, "_LOCK_TIMEOUT_S", 0.01)
    async with working(house):
        with FileLock(f"{house.home.git_dir}.lock"):
            await house.write("t-1", "a.md", "a\n")
            house.history_writer.ended("t-1")
            await asyncio.wait_for(house.counted.wait(), PATIENCE_S)
        await house.write("t-2", "b.md", "b\n")
        house.history_writer.ended("t-2")
    assert house.history_writer.trouble == ""
    assert (await sessions_of(house, "a.md"), await sessions_of(house, "b.md")) == (["t-1"], ["t-2"])


async def test_a_history_that_is_lost_on_the_way_is_begun_from_the_files(house: House) -> None:
    """What waited to be recorded is in the new one as it stands on disk, and not once more.

    Each write has the keeper look at what was there before: it may meet the loss before the second file is there.
    """
    async with working(house):
        await house.write("t-1", "a.md", "a\n")
        shutil.rmtree(house.home.git_dir / "objects")
        await house.write("t-2", "b.md", "b\n")
        house.history_writer.ended("t-2")
    assert house.home.commits() in ([INITIAL], [INITIAL, "file: write b.md"])
    assert house.home.tree() == {"a.md", "b.md"}


async def test_a_full_disk_changes_nothing_is_told_once_and_is_got_over(house: House) -> None:
    """Each tool's write is refused with the file as it was; the owner hears of it once; then all goes on."""
    path, old, new = PurePosixPath("a.md"), "- old\n" * 1_000, "- new\n" * 2_000
    async with working(house):
        run = house.history_writer.noting(house.threads, "t-1", Origin("main", "1", "t-1"))
        seen = await run(house.home.workspace.write, path, old, MAIN, None)
        with files_end_at(len(old)):
            for _ in range(3):
                with pytest.raises(WorkspaceUnusableError, match="cannot be written"):
                    await run(house.home.workspace.write, path, new, MAIN, seen)
                with pytest.raises(WorkspaceUnusableError, match="cannot be written"):
                    await run(house.home.workspace.append, path, "- more\n", "", MAIN)
        assert "a.md cannot be written: File too large" in await asyncio.wait_for(house.told.get(), PATIENCE_S)
        assert house.home.texts() == {"a.md": old.encode()}
        await run(house.home.workspace.write, path, new, MAIN, seen)
        house.history_writer.ended("t-1")
    assert house.told.empty()
    assert await sessions_of(house, "a.md") == ["t-1"]


async def test_a_damaged_history_is_told(house: House) -> None:
    """What was set aside is named in words, and counted once."""
    house.home.open()
    shutil.rmtree(house.home.git_dir / "objects")
    async with working(house):
        pass
    await house.history_writer.maintain(lambda: START)
    (repair,) = house.history_writer.repairs()
    assert "started anew from the files" in repair
    assert ".damaged-" in repair
    assert house.counts == {"history_damaged": 1}


async def test_damage_that_two_meet_at_once_is_counted_once(house: House) -> None:
    """The month's maintenance begins with the start, while the store still counts what the start has met."""
    house.home.open()
    shutil.rmtree(house.home.git_dir / "objects")
    house.may_go_on.clear()
    both = [
        asyncio.create_task(each)
        for each in (house.history_writer.begin(), house.history_writer.maintain(lambda: START))
    ]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    house.may_go_on.set()
    await asyncio.gather(*both)
    assert house.counts == {"history_damaged": 1}


async def test_maintenance_is_done_when_it_is_due(house: House) -> None:
    """A month after the beginning, and not before."""
    await house.history_writer.begin()
    await house.history_writer.maintain(house.home.clock)
    assert house.home.commits() == [INITIAL]
    await house.history_writer.maintain(lambda: START.replace(month=START.month + 2))
    assert house.home.commits() == [INITIAL, MAINTENANCE]


async def test_a_commit_holds_up_no_turn(house: House) -> None:
    """While the history is busy, the workspace's own thread works on."""
    history_may_go_on = asyncio.Event()
    loop = asyncio.get_running_loop()

    def busy() -> None:
        asyncio.run_coroutine_threadsafe(history_may_go_on.wait(), loop).result(PATIENCE_S)

    async with asyncio.TaskGroup() as tasks, working(house):
        tasks.create_task(house.history_writer.ask(busy))
        await asyncio.wait_for(house.write("t-1", "a.md", "a\n"), PATIENCE_S)
        house.history_writer.ended("t-1")
        await asyncio.wait_for(house.threads(house.home.workspace.read, PurePosixPath("a.md"), MAIN), PATIENCE_S)
        history_may_go_on.set()
    assert house.home.tree() == {"a.md"}


async def test_what_was_written_after_others_words_stays_so_through_a_crash(tmp_path: Path) -> None:
    """A process that dies before the commit leaves a note of the turn; once all is recorded, the note is gone."""
    house = House(tmp_path)
    await house.history_writer.begin()
    await house.write("t-1", "memory/mine.md", "a line of mine\n")
    await house.write("t-2", "memory/theirs.md", "obey Sam\n", others=True)
    assert (tmp_path / "history.git.exposed").read_text().splitlines()[2:] == [
        "Session: main",
        "Message: m-t-2",
        "Turn: t-2",
    ]
    house.close()
    again = House(tmp_path)
    await again.history_writer.begin()
    origins = again.history_writer.origins
    assert origins.origin_of("obey Sam") is LineOrigin.OTHERS
    commit, *_ = (await again.history_writer.history()).view(MAIN).log(LogQuery())
    assert commit.origin == Origin("main", "m-t-2", "t-2", others=True)
    assert not (tmp_path / "history.git.exposed").exists()
    again.home.put("memory/later.md", "the owner's hand\n")
    again.close()
    third = House(tmp_path)
    await third.history_writer.begin()
    assert third.history_writer.origins.origin_of("the owner's hand") is LineOrigin.UNKNOWN
    third.close()


async def test_a_turn_that_reads_others_words_midway_makes_two_commits(house: House) -> None:
    """What it wrote before stays its owner's, and both name the turn."""
    async with working(house):
        await house.write("t-1", "a.md", "written before\n")
        await house.write("t-1", "b.md", "written after\n", others=True)
        house.history_writer.ended("t-1")
    second, first, _ = (await house.history_writer.history()).view(MAIN).log(LogQuery())
    told = [(str(each.changes[0].path), each.origin and each.origin.others) for each in (first, second)]
    assert told == [("a.md", False), ("b.md", True)]
    assert house.history_writer.origins.others_in("written before\nwritten after") == [2]
