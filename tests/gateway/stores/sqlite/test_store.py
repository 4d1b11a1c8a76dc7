"""What the SQLite store does beyond the contract: share commits, refuse strange files, survive full disks and kills."""

import asyncio
import errno
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.runtime.threads import Threads
from gateway.stores.ports import RowStateError, Store
from gateway.stores.retention import Retention
from gateway.stores.rows import InboxRow, Outgoing, TurnCommit
from gateway.stores.spending import Spend
from gateway.stores.sqlite.group_commit import GroupCommit
from gateway.stores.sqlite.schema import CACHE_KB, STEPS, VERSION, open_database
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import message
from tests.fakes.clock import ManualClock
from tests.fakes.disk import fill, small_disk
from tests.zygote import FORKED
from workspaces.fault_points import unchecked

TODAY = date(2026, 11, 22)


class Steps:
    """A checkpoint that counts its steps, and fails at those that a test names."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.failing: dict[str, OSError] = {}

    def __call__(self, step: str, size: int, /) -> int:
        self.seen.append(step)
        if step in self.failing:
            raise self.failing[step]
        return size


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
async def store(path: Path, steps: Steps) -> AsyncIterator[Store]:
    store = await SqliteStore.open(path, checkpoint=steps)
    yield store
    await store.close()


@pytest.fixture
def thread() -> Iterator[Threads]:
    thread = Threads("state")
    yield thread
    thread.close()


async def append(store: Store, *ids: object) -> list[InboxRow | None]:
    return list(await asyncio.gather(*(store.inbox.append(message("hello", id=str(each))) for each in ids)))


async def test_operations_that_wait_together_share_a_commit(store: Store, steps: Steps) -> None:
    """Fifty messages at once cost one commit."""
    assert all(await append(store, *range(50)))
    assert steps.seen == ["store.begin", "store.commit"]


@pytest.fixture
def endless_ride(store: Store) -> None:
    """What nobody waits for is never stored for its own sake."""
    assert isinstance(store, SqliteStore)
    store.commits.longest_ride_s = 3600.0


@pytest.mark.usefixtures("endless_ride")
async def test_what_nobody_waits_for_shares_the_next_commit(store: Store, steps: Steps) -> None:
    """It is stored before what was asked for later, and costs no commit of its own."""
    await store.spending.correct("main", TODAY, "chat", Spend(1))
    await asyncio.sleep(0)  # a commit of its own would begin
    await asyncio.sleep(0)
    assert steps.seen == []
    assert await store.spending.on("main", TODAY) == {"chat": Spend(1)}
    assert steps.seen == ["store.begin", "store.commit"]


async def test_what_nobody_waits_for_is_stored_soon_though_nobody_comes(store: SqliteStore, path: Path) -> None:
    """It goes by itself when it has waited long enough."""
    is_stored = asyncio.Event()
    store.measure(lambda _: is_stored.set())
    await store.spending.correct("main", TODAY, "chat", Spend(1))
    await asyncio.wait_for(is_stored.wait(), 30)
    with closing(sqlite3.connect(path)) as other, other:
        assert other.execute("SELECT input FROM spending").fetchall() == [(1,)]
    other.close()


@pytest.mark.usefixtures("endless_ride")
async def test_what_nobody_waits_for_fails_without_a_word(store: Store, steps: Steps) -> None:
    """A disk that is full refuses what shares its commit, and the ledger tells of it afterwards."""
    steps.failing["store.commit"] = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    await store.spending.correct("main", TODAY, "chat", Spend(1))
    with pytest.raises(StoreError, match="full"):
        await append(store, 1)
    steps.failing.clear()
    assert await store.spending.on("main", TODAY) == {}
    assert "store_trouble" in (await store.report()).reasons


async def test_a_caller_goes_on_only_when_its_commit_is_done(store: Store, path: Path, steps: Steps) -> None:
    """What another connection can see when the caller resumes is there."""
    await append(store, 1)
    with closing(sqlite3.connect(path)) as other, other:
        assert other.execute("SELECT count(*) FROM inbox").fetchone() == (1,)
    other.close()


async def test_an_operation_cancelled_before_it_began_is_not_done(store: Store) -> None:
    """The batch that a cancelled caller waits for leaves it out; its neighbours go on."""
    first, second, third = (asyncio.ensure_future(store.inbox.append(message("x", id=str(n)))) for n in range(3))
    await asyncio.sleep(0)  # lets them call the store
    second.cancel()
    await asyncio.gather(first, third)
    assert [row.message.id for row in await store.inbox.waiting()] == ["0", "2"]


@pytest.mark.parametrize("step", ["store.begin", "store.commit"])
@pytest.mark.parametrize(("code", "said"), [(errno.ENOSPC, "full"), (errno.EIO, "fails")])
async def test_a_failing_disk_refuses_and_recovers(store: Store, steps: Steps, step: str, code: int, said: str) -> None:
    """While the disk fails nothing is stored and each caller is told; afterwards the same message is taken."""
    steps.failing[step] = OSError(code, os.strerror(code))
    outcomes = await asyncio.gather(*(append(store, n) for n in range(3)), return_exceptions=True)
    assert all(isinstance(each, StoreError) and said in str(each) and "state.db" in str(each) for each in outcomes)
    steps.failing.clear()
    assert await store.inbox.waiting() == []
    assert all(await append(store, 0, 1, 2))


async def test_a_full_database_refuses_whole_and_recovers(path: Path, thread: Threads) -> None:
    """SQLite's own "full" rolls back the whole transaction: those that fit are stored all the same, the rest whole."""
    connection = await thread(open_database, path)
    commits = GroupCommit(path, connection, thread, unchecked)
    store = SqliteStore(commits, ManualClock(), Retention())
    pages = await commits.run(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    await commits.run(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 4}").fetchall())
    big = [message("x" * (20_000 if n == 1 else 20), id=str(n)) for n in range(3)]
    outcomes = await asyncio.gather(*(store.inbox.append(each) for each in big), return_exceptions=True)
    assert [type(each) for each in outcomes] == [InboxRow, StoreError, InboxRow]
    assert "full" in str(outcomes[1])
    assert [row.message.id for row in await store.inbox.waiting()] == ["0", "2"]
    await commits.run(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchall())
    assert await store.inbox.append(big[1]) is not None
    await store.close()


def test_no_more_of_the_file_is_kept_in_memory_than_is_said(path: Path) -> None:
    """A negative size is one in kilobytes, however large the pages are."""
    connection = open_database(path)
    assert connection.execute("PRAGMA cache_size").fetchone() == (-CACHE_KB,)
    connection.close()


async def test_a_defect_in_an_operation_reaches_its_caller(path: Path, thread: Threads) -> None:
    """An exception that no store raises is neither swallowed nor half stored, and the writer goes on."""
    connection = await thread(open_database, path)
    commits = GroupCommit(path, connection, thread, unchecked)

    def defective(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO kv VALUES ('half', 'done')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await commits.run(defective)
    assert await commits.run(lambda db: db.execute("SELECT * FROM kv").fetchall()) == []
    await commits.close()


async def test_files_are_for_their_owner_only(store: Store, path: Path) -> None:
    """The state and SQLite's companions beside it are 0600, the folder 0700."""
    await append(store, 1)
    assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def untouched(path: Path) -> dict[str, bytes]:
    """Return what lies beside *path*; reading a database may leave an empty log and shared memory behind."""
    found = {each.name: each.read_bytes() for each in path.parent.iterdir() if not each.name.endswith("-shm")}
    return {name: content for name, content in found.items() if content}


def put_back(path: Path, files: dict[str, bytes]) -> None:
    """Make the folder of *path* hold *files*."""
    path.parent.mkdir(exist_ok=True)
    for name, content in files.items():
        path.with_name(name).write_bytes(content)


def overwrite(path: Path, at: int) -> None:
    """Put a page of noise into the file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(1).randbytes(4096))


async def abandoned(path: Path) -> None:
    """Leave a state behind as a killed process does: with work in the write-ahead log."""
    script = (
        "import os, sqlite3, sys; from pathlib import Path; from gateway.stores.sqlite.schema import open_database\n"
        "db = open_database(Path(sys.argv[1])); db.execute(\"INSERT INTO kv VALUES ('a', 'b')\"); os._exit(0)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(path))
    assert await process.wait() == 0
    assert path.with_name("state.db-wal").stat().st_size


async def test_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    """A database that a later version wrote, its log included, is byte for byte what it was."""
    await abandoned(path)
    with closing(sqlite3.connect(path)) as later, later:
        later.execute(f"PRAGMA user_version = {VERSION + 1}")
        later.execute("CREATE TABLE novelty (x)")
        copies = untouched(path)  # before closing: the log still holds the change
    later.close()
    put_back(path, copies)
    with pytest.raises(StoreError, match=r"state\.db was written by a newer version"):
        await SqliteStore.open(path)
    assert untouched(path) == copies


async def test_another_programs_database_is_refused(path: Path) -> None:
    """A database with tables but without our mark is not taken over."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE bookmarks (x)")
    other.close()
    before = untouched(path)
    with pytest.raises(StoreError, match="another program"):
        await SqliteStore.open(path)
    assert untouched(path) == before


async def test_a_database_on_a_full_disk_says_so(tmp_path: Path) -> None:
    """SQLite has no room for its shared memory, and calls that an I/O error: the disk is not broken."""
    with small_disk(tmp_path / "disk"):
        path = tmp_path / "disk" / "state.db"
        await (await SqliteStore.open(path)).close()
        fill(path.parent)
        with pytest.raises(StoreError, match=r"the disk that holds .*state\.db is full; .* try again"):
            await SqliteStore.open(path)


@pytest.mark.parametrize("place", ["head", "middle"])
async def test_a_damaged_database_is_refused_with_advice(path: Path, place: str) -> None:
    """The sentence names the file and says what to do; the file is left as it is."""
    store = await SqliteStore.open(path)
    await append(store, *range(200))
    await store.close()
    overwrite(path, at=0 if place == "head" else 4096 * 3)
    before = untouched(path)
    with pytest.raises(
        StoreError,
        match=r"state\.db is damaged .* backup; or move it away.* jobs, approvals and the list of guests are lost",
    ):
        await SqliteStore.open(path)
    assert untouched(path) == before


async def test_damage_that_makes_no_text_is_told_like_other_damage(path: Path) -> None:
    """SQLite quotes what it cannot read, in bytes that are no UTF-8."""
    await (await SqliteStore.open(path)).close()
    damaged = {name: content.replace(b"STRICT", b"S\xd4RICT", 1) for name, content in untouched(path).items()}
    put_back(path, damaged)
    with pytest.raises(StoreError, match=r"state\.db is damaged"):
        await SqliteStore.open(path)
    assert untouched(path) == damaged


async def test_an_empty_file_becomes_a_state(path: Path) -> None:
    """A crash between making the file and its tables leaves an empty file; it is used."""
    put_back(path, {path.name: b""})
    store = await SqliteStore.open(path)
    assert await store.inbox.waiting() == []
    await store.close()


async def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    """A path that cannot be a file gives a StoreError, not a traceback of SQLite's."""
    with pytest.raises(StoreError, match=str(tmp_path)):
        await SqliteStore.open(tmp_path)


WORKER = """
import asyncio, json, sys
from pathlib import Path
from gateway.stores.rows import Outgoing, TurnCommit
from gateway.stores.sqlite.store import SqliteStore
from gateway.runtime.threads import Threads
from strandline.testing.adapter import message

def say(*fact): print(json.dumps(fact), flush=True)

async def chat(store, name, first):
    for n in range(first, 10**6):
        row = await store.inbox.append(message("hello", chat=name, id=str(n)))
        say("accepted", name, n)
        if n % 2:
            await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(row.message.address, str(n))]))
            say("answered", name, n)

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    say("ready")
    async with asyncio.TaskGroup() as tasks:
        for name in "abcd":
            tasks.create_task(chat(store, name, int(sys.argv[2])))

asyncio.run(main())
"""


async def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    """Ten times killed at a random moment of steady work: nothing acknowledged is lost, doubled or out of order."""
    moments = random.Random(7)
    accepted: list[tuple[str, int]] = []
    answered: list[tuple[str, int]] = []
    for round_ in range(10):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FORKED + WORKER, str(path), str(round_ * 100_000), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout
        facts = 0
        until = moments.randrange(1, 400)
        async for line in process.stdout:
            facts += 1
            if facts == until:
                process.send_signal(signal.SIGKILL)
            try:
                fact, *about = json.loads(line)
            except ValueError:  # the pipe holds the beginning of the fact that the kill cut
                continue
            if fact != "ready":
                (accepted if fact == "accepted" else answered).append((about[0], about[1]))
        assert await process.wait() == -signal.SIGKILL
    assert len(accepted) > 200
    await judge(path, accepted, answered)


async def judge(path: Path, accepted: list[tuple[str, int]], answered: list[tuple[str, int]]) -> None:
    store = await SqliteStore.open(path)
    waiting = [(row.message.address.chat, int(row.message.id)) for row in await store.inbox.waiting()]
    replies = [(row.outgoing.address.chat, int(row.outgoing.text)) for row in await store.outbox.unfinished()]
    await store.close()
    assert set(answered) <= set(replies)
    assert set(accepted) <= {*waiting, *replies}
    assert not set(waiting) & set(replies)
    for found in (waiting, replies):
        assert len(found) == len(set(found))
        for chat in "abcd":
            of_chat = [n for name, n in found if name == chat]
            assert of_chat == sorted(of_chat)


async def test_a_refused_change_rolls_back_alone(store: Store) -> None:
    """A batch with a refused operation is run again one by one; the others' writes are stored once."""
    row = (await append(store, 1))[0]
    assert row is not None
    commit = TurnCommit(row.turn_id, [row.id], [Outgoing(row.message.address, "answer")])
    (reply,) = await store.commit_turn(commit)
    outcomes = await asyncio.gather(
        store.count("a"), store.count("b"), store.outbox.finish(reply.id), store.outbox.finish(reply.id),
        store.count("b"), return_exceptions=True,
    )  # fmt: skip
    assert [type(each) for each in outcomes if each] == [RowStateError]
    assert (await store.report()).reasons == {"a": 1, "b": 2}


async def test_an_older_database_is_upgraded_with_all_that_is_in_it(path: Path) -> None:
    """A state of the first version is taken over: its rows are there, and what is new works."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old, old:
        for statement in STEPS[0]:
            old.execute(statement)
        old.execute("INSERT INTO kv VALUES ('key', 'kept')")
        old.execute("PRAGMA user_version = 1")
    old.close()
    for _ in range(2):
        store = await SqliteStore.open(path)
        assert (await store.get("key"), await store.changes.waiting()) == ("kept", [])
        await store.close()
    with closing(sqlite3.connect(path)) as new, new:
        assert new.execute("PRAGMA user_version").fetchone() == (VERSION,)
    new.close()
