"""`python -m bench.costs`: CPU time, memory and disk of a message, an agent and a chunk, for the paper on many agents.

It takes some two minutes. `--write` puts the table between the marks of `docs/measurements/scale.md`.
"""

import argparse
import asyncio
import os
import platform
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from bench.crowd import Crowd, Pace
from bench.fleet import Around, Fleet, running
from bench.judgement import repeated
from bench.loopback import Recorder, SteadyModel
from bench.made_notes import TODAY, questions
from bench.observed import processor_ms, sample, worker_of
from bench.search import AGENT, OWNER, in_place, write_notes
from gateway.home import Home
from gateway.runtime.clock import SystemClock
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.store import RedisStore
from gateway.stores.rows import Outgoing, TurnCommit
from tests.fakes import redis_server
from tests.journeys.processes import Gateway
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.workspace import Workspace

_SETTLE_S = 1.5
"""After a start or an answer: commits of a history come a moment later."""
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Size of the measurement."""

    singles: int = 60
    """Messages one after the other."""
    burst: int = 300
    chats: int = 30
    agents: int = 100
    """Idle agents, beside the first."""
    stored: int = 1_000
    """Messages in Redis."""
    indexes: int = 4
    chunks: int = 1_400
    searches: int = 60


USUAL = Sample()
INDEX_CHUNKS = 140
"""Ten days of notes of 14 lines: the index of a young agent."""
PAPER = Path(__file__).parents[1] / "docs" / "measurements" / "scale.md"


async def weigh(size: Sample = USUAL) -> str:
    """Measure everything, one after the other; return a Markdown table below its date and machine."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    begun = f"{datetime.now(UTC):%Y-%m-%d}, {machine}, load average {os.getloadavg()[0]:.1f} before:"
    rows = [
        *await _messages(size),
        await _redis(size.stored),
        *await asyncio.to_thread(_agents, size.agents),
        *await _chunks(size),
    ]
    head = "| what | processor | memory | disk | else |\n|---|---|---|---|---|"
    return "\n".join([begun, "", head, *rows])


def _kb(size: float) -> str:
    return f"{size / 1000:.1f} kB"


def _disk(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


# --- a message


async def _messages(size: Sample) -> list[str]:
    """Send messages one by one, then a burst, to one gateway with its own state and an instant model."""
    with tempfile.TemporaryDirectory(prefix="strandline-weigh-") as name:
        async with Recorder() as bot, SteadyModel(repeated, 0) as model:
            pace = Pace(size.burst, 0, size.chats)
            async with running(Path(name), Around(bot.url, model.url, pace.all_chats), 1) as fleet:
                await bot.wait_for_polls(1, _PATIENCE_S)
                return await _weighed(size, bot, fleet, Path(name) / "home")


async def _weighed(size: Sample, bot: Recorder, fleet: Fleet, folder: Path) -> list[str]:
    (pid,) = fleet.pids()
    await _told(Pace(size.chats, 0, size.chats), bot)  # warm: every chat has a session
    await asyncio.sleep(_SETTLE_S)
    one = Pace(1, 0, 1)
    before = _left(folder)
    singles = [await _spent(pid, one, bot) for _ in range(size.singles)]
    used = processor_ms(pid)
    await _told(Pace(size.burst, 0, size.chats), bot)
    burst_ms = processor_ms(pid) - used
    await asyncio.sleep(_SETTLE_S)
    after, told = _left(folder), size.singles + size.burst
    transcript, state, history, commits = (
        (now - then) / told for then, now in zip(astuple(before), astuple(after), strict=True)
    )
    processor = f"{fmean(singles):.1f} ms (95 of 100: {sorted(singles)[int(0.95 * len(singles))]:.1f})"
    disk = f"{_kb(transcript)} transcript, {_kb(history)} history, {_kb(state)} `state.db`"
    return [
        f"| a message, one after the other | {processor} | | {disk} | {commits:.2f} commits |",
        f"| a message of a burst | {burst_ms / size.burst:.1f} ms | | | |",
    ]


async def _told(pace: Pace, bot: Recorder) -> Crowd:
    """Send the messages of *pace*, and return once all are answered."""
    bot.sent.clear()
    crowd = Crowd(pace, bot)
    await crowd.talk()
    if not await crowd.was_answered(_PATIENCE_S):
        raise SystemExit(f"a message was not answered within {_PATIENCE_S:g} seconds: nothing can be said of its cost")
    return crowd


async def _spent(pid: int, pace: Pace, bot: Recorder) -> float:
    before = processor_ms(pid)
    await _told(pace, bot)
    await asyncio.sleep(0.05)  # the receipt of the answer is written after the platform has it
    return processor_ms(pid) - before


@dataclass(frozen=True, slots=True)
class _Left:
    """Disk usage, in bytes."""

    transcripts: int
    state: int
    history: int
    commits: int


def _left(folder: Path) -> _Left:
    agent = Home(folder).agent("main")
    return _Left(
        sum(file.stat().st_size for file in agent.sessions.rglob("*.jsonl")),
        _pages(folder / "state.db"),
        _disk(agent.history),
        _commits(agent.history),
    )


def _pages(database: Path) -> int:
    """Return its size without the write-ahead log, which never shrinks."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as read:
        (count,), (size,) = (read.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(count * size)


def _commits(history: Path) -> int:
    if not history.exists():
        return 0
    command = ["git", "--git-dir", str(history), "rev-list", "--all", "--count"]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


# --- a message in Redis


async def _redis(messages: int) -> str:
    """Measure Redis' CPU time and memory per message: four operations, 64 at once."""
    kind = next((kind for kind in ("redis", "valkey") if redis_server.program(kind)), None)
    if kind is None:
        raise SystemExit("a message in Redis is weighed too, and no Redis or Valkey server is installed here")
    with redis_server.running(kind, "--maxmemory-policy", "noeviction") as redis:
        leases = await RedisLeases.join(RedisAddress(redis.url), "weigh", "alone", lease_s=60, accept_loss=False)
        await leases.claim(["agent:main"])
        store = RedisStore(leases, ["main"], lambda _: "main", clock=SystemClock())
        await _pass(store, range(64))
        before = _info(redis.tell("INFO"))
        for first in range(64, 64 + messages, 64):
            await _pass(store, range(first, min(first + 64, 64 + messages)))
        after = _info(redis.tell("INFO"))
        await store.close()
        await leases.leave()
    cpu_s, memory = ((now - then) / messages for then, now in zip(before, after, strict=True))
    return f"| a message in Redis | {1000 * cpu_s:.2f} ms | {_kb(memory)} until it is pruned | | |"


async def _pass(store: RedisStore, numbers: Sequence[int]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in numbers:
            tasks.create_task(_through(store, number))


async def _through(store: RedisStore, number: int) -> None:
    """Pass one message of some 60 characters and its answer through the store."""
    address = Address("fake", "home", f"chat{number % 30}")
    text = f"What did we decide about the roof of the boat house, {number}?"
    said = datetime.now(UTC)
    message = InboundMessage(address, str(number), Sender("7", "Owner"), ChatKind.DIRECT, text, True, said)
    row = await store.inbox.append(message)
    if row is None:
        raise AssertionError(f"message {number} was taken for one that came before")
    (out,) = await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(address, f"An answer. {text}")]))
    await store.outbox.begin_part(out.id, 0, said)
    await store.outbox.part_sent(out.id, 0, f"m{number}", is_last=True)


def _info(text: object) -> tuple[float, float]:
    """Return CPU seconds and bytes from the output of `INFO`, a mapping or lines."""
    if not isinstance(text, dict):
        text = dict(line.split(":", 1) for line in str(text).splitlines() if ":" in line)
    return float(text["used_cpu_user"]) + float(text["used_cpu_sys"]), float(text["used_memory"])


# --- an idle agent


def _agents(more: int) -> list[str]:
    """Start a gateway with one agent, and one with many."""
    with tempfile.TemporaryDirectory(prefix="strandline-weigh-") as name:
        one, many = (_at_rest(Path(name) / f"home{number}", number) for number in (1, 1 + more))
    memory, _, files, threads, disk, start_ms = (
        (other - this) / more for this, other in zip(astuple(one), astuple(many), strict=True)
    )
    handles = f"{files:.1f} file handles, {threads:.1f} threads"
    return [
        f"| a gateway with one agent, no platform | | {one.resident_mb:.0f} MB | | |",
        f"| each agent more, at rest | {start_ms:.0f} ms at a start | {memory:.2f} MB | {_kb(disk)} | {handles} |",
        f"| the memory worker, no index open | | {one.worker_mb:.0f} MB | | |",
    ]


@dataclass(frozen=True, slots=True)
class _Resting:
    resident_mb: float
    worker_mb: float
    files: float
    threads: float
    disk: float
    start_ms: float


def _at_rest(folder: Path, agents: int) -> _Resting:
    home = Home(folder)
    home.create()
    home.write(home.config_file, "".join(f"[agents.a{number}]\n" for number in range(agents)))
    gateway = Gateway(home, folder.with_suffix(".log"))
    gateway.start()  # the first start creates the workspaces; later ones are the usual case
    gateway.stop()
    home.agent("a0").workspace.joinpath("MEMORY.md").write_text("- The roof needs paint.\n")  # for the memory worker
    with _started(gateway) as pid:
        start_ms = processor_ms(pid)
        time.sleep(2 * _SETTLE_S)  # the memory worker loads
        seen, worker = sample(pid), worker_of(pid)
        below = sample(worker) if worker else None
        if seen is None or below is None:
            raise SystemExit("the gateway or its memory worker ended while it was weighed")
        disk = _disk(home.agents)
        return _Resting(seen.resident_mb, below.resident_mb, seen.files, seen.threads, disk, start_ms)


@contextmanager
def _started(gateway: Gateway) -> Iterator[int]:
    gateway.start()
    try:
        if gateway.process is None:
            raise AssertionError("a gateway that has started is a process")
        yield gateway.process.pid
    finally:
        gateway.stop()


# --- a chunk


async def _chunks(size: Sample) -> list[str]:
    """Index small indexes and a large one, and search; memory is the worker's."""
    with tempfile.TemporaryDirectory(prefix="strandline-weigh-") as name:
        async with _indexes(Path(name)) as (worker, fill):
            first = await fill("first", 14)  # loads the model
            await _searched(first, 20)
            before = _resident(worker)
            small = [await fill(f"small{number}", INDEX_CHUNKS) for number in range(size.indexes)]
            for each in small:
                await _searched(each, 3)
            after_small = _resident(worker)
            used = _both(worker)
            large = await fill("large", size.chunks)
            filled_ms = _both(worker) - used
            await _searched(large, 3)
            index_mb, large_mb = (after_small - before) / size.indexes, _resident(worker) - after_small
            used = _both(worker)
            await _searched(large, size.searches)
            search_ms = (_both(worker) - used) / size.searches
            index_disk, large_disk = (_disk(Path(name) / each / "index") for each in ("small0", "large"))
    more = size.chunks - INDEX_CHUNKS
    chunk_ms, chunk_kb = filled_ms / size.chunks, 1000 * max(0.0, large_mb - index_mb) / more
    disk = _kb((large_disk - index_disk) / more)
    return [
        f"| each index open, {INDEX_CHUNKS} chunks | | {index_mb:.1f} MB | {_kb(index_disk)} | |",
        f"| each chunk more | {chunk_ms:.1f} ms, embedding included | {chunk_kb:.1f} kB while open | {disk} | |",
        f"| a search | {search_ms:.1f} ms | | | |",
    ]


class _Fill:
    """Creates indexes of generated notes in folders below one."""

    def __init__(self, folder: Path, worker: WorkerClient) -> None:
        self._folder, self._worker = folder, worker

    async def __call__(self, name: str, chunks: int) -> MemoryIndex:
        home = self._folder / name
        write_notes(home / "workspace", chunks)
        workspace = Workspace.open(home / "workspace", AGENT)
        clock = MemoryClock(time.monotonic, lambda: TODAY)
        sources = [WorkspaceNotes(workspace.folder)]
        made = MemoryIndex(AGENT, home / "index", sources, self._worker, in_place, clock)
        await made.sync()
        return made


@asynccontextmanager
async def _indexes(folder: Path) -> AsyncIterator[tuple[WorkerClient, _Fill]]:
    async with AsyncExitStack() as stack:
        worker = await stack.enter_async_context(WorkerClient(WorkerSettings()))
        yield worker, _Fill(folder, worker)


async def _searched(made: MemoryIndex, times: int) -> None:
    for question in questions(times):
        await made.search(Query(question), OWNER)


def _resident(worker: WorkerClient) -> float:
    seen = sample(worker.pid) if worker.pid else None
    return seen.resident_mb if seen else 0.0


def _both(worker: WorkerClient) -> float:
    """Return milliseconds of this process and of the worker."""
    return processor_ms(os.getpid()) + (processor_ms(worker.pid) if worker.pid else 0.0)


def renewed(paper: str, table: str) -> str:
    """Return *paper* with *table* between the marks of the costs. Raises KeyError if it has none."""
    before, mark, rest = paper.partition("<!-- costs -->\n")
    _, end, after = rest.partition("\n<!-- /costs -->")
    if not mark or not end:
        raise KeyError("costs")
    return before + mark + table + end + after


def main() -> None:
    """Measure, print the table, and put it into the paper if requested."""
    parser = argparse.ArgumentParser(prog="bench.costs")
    parser.add_argument("--write", action="store_true", help="update docs/measurements/scale.md")
    is_written = parser.parse_args().write
    table = asyncio.run(weigh())
    print(table)
    if is_written:
        PAPER.write_text(renewed(PAPER.read_text("utf-8"), table), "utf-8")


if __name__ == "__main__":
    main()
