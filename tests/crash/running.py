"""A whole gateway on a disk that may fail, with a model that follows orders.

Memory's worker is left out: its index is rebuilt from the files and may be lost at any time, and its start takes a
second.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from msgspec import structs

from adapters.channel import Adapter, OutboundMessage
from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.config import read_config
from gateway.home import Home
from gateway.runtime.clock import SystemClock
from gateway.sessions.due import Pause
from gateway.sessions.flush import PROMPT
from gateway.stores.ports import Store
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.store import RedisStore
from gateway.stores.rows import StoreReport
from gateway.stores.sqlite.store import SqliteStore
from tests.crash.faults import Steps, Wired
from tests.crash.platform import Platform
from tests.fakes.model import call, says
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON, OWNER
from workspaces.access import AgentId
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.wire import Frame
from workspaces.workspace import Workspace

CONFIG = f"""
[owner]
time_zone = "Europe/Berlin"
people = ["telegram:{OWNER}", "discord:{OWNER}"]
[agents.main]
[memory]
recall = "off"
watch = "off"
"""
LONGEST_WAIT_S = 0.05
PERIOD_S = 60.0
"""The shortest interval at which a gateway looks for work by itself. What it does then is done at its start, too; as a
step each 50 ms it would only make the number of steps grow with the load of the machine."""


def prepared(folder: Path, platform: Platform) -> Home:
    """Return a home whose agent talks on *platform*."""
    home = Home(folder)
    home.create()
    home.write(home.config_file, CONFIG + platform.config)
    Workspace.create(home.agent("main").workspace, AgentId("main")).folder.close()
    return home


def answer_to(number: int) -> str:
    """Return what the agent answers to message *number*."""
    return f"Done with {number}."


class Secretary:
    """A model that works through its orders: "5 write note" is message 5, and wants a file and a note.

    "5 spawn" hands the task "500" to a helper, whose result is told as "Told of 500.". Asked for notes, it saves one.
    """

    name = "secretary"
    window_tokens = 128_000

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        last = max(i for i, entry in enumerate(request.entries) if isinstance(entry, UserEntry))
        asked = request.entries[last]
        words = asked.text.split() if isinstance(asked, UserEntry) else []
        if words[:1] == ["Subagent"]:
            return says(told_of(int(words[-1].removesuffix("."))))
        if isinstance(asked, UserEntry) and asked.text.startswith(PROMPT) and last == len(request.entries) - 1:
            return says("", call("add_note", text=saved_after(request.entries)))
        if not words or not words[0].isdecimal():
            return says("NO_REPLY")
        number, orders = int(words[0]), words[1:]
        done = sum(isinstance(entry, ResultEntry) for entry in request.entries[last:])
        if done >= len(orders):
            await on_text(answer_to(number))
            return says(answer_to(number))
        wanted = call("add_note", text=note_of(number))
        if orders[done] == "spawn":
            wanted = call("spawn", task=str(task_of(number)))
        if orders[done] == "write":
            wanted = call("write_file", path=file_of(number), content=content_of(number))
        return says("", replace(wanted, id=f"call_{number}_{done}"))  # no id of an earlier life's comes again

    async def close(self) -> None:
        """Nothing to release."""


def task_of(number: int) -> int:
    """Return the number of the task that message *number* hands out."""
    return number * 100


def told_of(task: int) -> str:
    """Return what is said of a helper's result."""
    return f"Told of {task}."


def file_of(number: int) -> str:
    """Return where message *number* wants a file."""
    return f"plans/{number}.md"


def content_of(number: int) -> str:
    """Return what that file holds."""
    return f"# Plan {number}\n\n" + "a line of the plan\n" * 40


def note_of(number: int) -> str:
    """Return what message *number* wants noted."""
    return f"noted-for-{number}."


def saved_after(entries: Sequence[Entry]) -> str:
    """Return what is saved of a conversation: it names the last message of a number."""
    said = (entry.text.split()[:1] for entry in entries if isinstance(entry, UserEntry))
    return f"saved-after-{max(int(words[0]) for words in said if words and words[0].isdecimal())}."


class NoWorker:
    """Memory without its worker: a search looks into the files."""

    is_running = False

    async def wake(self, _folder: Path | None = None) -> None:
        raise MemoryUnavailableError("there is no worker in this test")

    async def call(self, _op: str, _folder: Path, _arguments: Mapping[str, object]) -> Frame:
        raise MemoryUnavailableError("there is no worker in this test")


class HastyClock(SystemClock):
    """The machine's clock; waits for another try are short."""

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        await super().wait(event, seconds if seconds >= PERIOD_S else min(seconds, LONGEST_WAIT_S))


@asynccontextmanager
async def running(home: Home, steps: Steps, stop: asyncio.Event) -> AsyncIterator[App]:
    """Run the gateway of *home* on the disk and the wire that *steps* are, until *stop* is set after the block."""
    machine = Machine(HastyClock(), steps)
    with home.lock("a fault test"):
        async with App.open(home, read_config(home.config_file), ENVIRON, channels=True, machine=machine) as app:
            _simplify(app, home)
            for account in app.accounts:
                account.build = partial(_wired, account.build, steps)
            with app.operator.conversation.terminals[app.operator.agents.default].attach(_listens):
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(app.run(stop))
                    yield app


async def _listens(_: OutboundMessage) -> None:
    """The owner sits at a terminal, where he is told of a disk that is full."""


def _simplify(app: App, home: Home) -> None:
    """Give the agents a model that costs nothing, and a memory without a worker."""
    agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
    for name, agent in list(agents.items()):
        clock = MemoryClock(time.monotonic, date.today)
        memory = MemoryIndex(name, home.agent(name).index, [], NoWorker(), agent.run, clock)
        agents[name] = structs.replace(agent, model=Secretary(), memory=memory)


async def _wired(build: Callable[[], Awaitable[Adapter]], steps: Steps) -> Adapter:
    adapter = await build()
    return adapter if adapter.channel == "terminal" else Wired(adapter, steps)


async def settled(app: App, home: Home, platform: Platform, timeout_s: float = PATIENCE_S) -> None:
    """Wait until all that was said is answered, delivered, and written into the day's notes. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        await platform.is_rid_of_all(timeout_s)
        while (report := await app.parts.resources.home.store.report()).inbox_waiting or report.outbox_queued:
            await app.parts.lanes.idle()
            await asyncio.gather(
                *(
                    app.parts.delivery.finished(row.id)
                    for row in await app.parts.resources.home.store.outbox.unfinished()
                )
            )
        # A gateway that lives longer than this test looks by itself for what an earlier one left unwritten.
        for file in home.agent("main").sessions.glob("*.jsonl"):
            await app.parts.lifecycle.pause_session(SessionKey(AgentId("main"), unquote(file.stem)), Pause.SHUTDOWN)


async def survive(home: Home, platform: Platform) -> StoreReport:
    """Start on what is left, go on with it, and stop; return what `status` says then."""
    stop = asyncio.Event()
    async with running(home, Steps(), stop) as app:
        await settled(app, home, platform)
        stop.set()
    return await reported(home)


async def reported(home: Home) -> StoreReport:
    """Return what the state of *home*, which nobody uses now, says of itself."""
    redis = read_config(home.config_file).redis
    async with AsyncExitStack() as stack:
        store: Store
        if redis.url is None:
            store = await SqliteStore.open(home.state_db)
        else:
            leases = await RedisLeases.join(RedisAddress(redis.url), redis.prefix, "judge", 60, accept_loss=False)
            stack.push_async_callback(leases.leave)
            store = RedisStore(leases, ["main"], lambda _: "main")
        stack.push_async_callback(store.close)
        return await store.report()
