"""One life of a gateway in a forked process: it ends by its fate, and hands the world back."""

import asyncio
import os
import pickle
import random
import time
import traceback
from collections.abc import Callable, MutableMapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import structlog
from msgspec import structs

from gateway.agent.agent import Agent
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.config import read_config
from gateway.errors import StoreError
from gateway.home import Home
from gateway.runtime.clock import SystemClock
from gateway.stores.rows import StoreReport
from gateway.stores.sqlite.store import SqliteStore
from tests.crash.running import NoWorker
from tests.journeys.house import ENVIRON
from tests.simulation import virtual_time
from tests.simulation.invariants import check_end
from tests.simulation.loop import SeededLoop
from tests.simulation.model import Secretary
from tests.simulation.platform import SimAdapter, people
from tests.simulation.virtual_time import EPOCH
from tests.simulation.world import LAST_PATIENCE_S, Disk, Doom, World
from workspaces.access import AgentId
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock

if TYPE_CHECKING:
    from _typeshed import HasFileno

MOST_STEPS = 400_000
"""Steps of one life: more would be a loop without an end."""
REST_S = 90.0
"""Virtual seconds of quiet after which the last gateway is stopped."""


class SimClock(SystemClock):
    """The time of the loop, as a date."""

    def __init__(self, loop: SeededLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._loop.time())


class Life:
    """One gateway from start to end, in a process of its own."""

    def __init__(self, world: World, home: Home, pipe: int) -> None:
        self.world = world
        self.home = home
        self._pipe = pipe
        self.loop = SeededLoop(world.loop_choices, world.now, world.disorder)
        self.loop.on_step = self._step
        self.loop.set_exception_handler(self._unhandled)

    def run(self) -> NoReturn:
        """Live; then end this process."""
        world = self.world
        world.begin_life()
        try:
            self.ask_only_the_seed()
            self.loop.run_until_complete(self.live())
            self._check_tasks()
            world.note("the gateway has stopped")
            if world.is_calm:
                check_end(world, self.home, self.loop.run_until_complete(_reported(self.home)))
        except BaseException:  # noqa: BLE001  # whatever it is, it is a finding
            world.fail(traceback.format_exc(limit=-12))
        self.end()

    def end(self) -> NoReturn:
        """Hand the world back and end the process: as a kill would, nothing is cleaned up."""
        data = pickle.dumps(self.world)
        while data:
            data = data[os.write(self._pipe, data) :]
        os._exit(0)

    def ask_only_the_seed(self) -> None:
        world = self.world
        structlog.configure(processors=[self._log])
        random.seed(world.entropy.random())
        os.urandom = random._urandom = world.entropy.randbytes  # type: ignore[attr-defined]
        time.sleep = self.loop.pass_time
        virtual_time.follow(self.loop.time)
        sync = os.fsync

        def fsync(fd: "int | HasFileno") -> None:
            sync(fd)
            facts = os.fstat(fd if isinstance(fd, int) else fd.fileno())
            world.synced[facts.st_ino] = facts.st_size

        os.fsync = fsync

    def _log(self, _logger: object, method: str, event: MutableMapping[str, Any]) -> NoReturn:
        self.world.note(f"log {method} {event['event']} {event.get('exc_info', '')!r:.80}")
        raise structlog.DropEvent

    def _step(self, number: int) -> None:
        world = self.world
        world.now, world.steps = self.loop.time(), world.steps + 1
        if world.fate.doom is Doom.STEP and number == world.fate.at:
            world.mark("a death between two steps")
            self.end()
        if number > MOST_STEPS:
            world.fail("a loop without an end")
            self.end()

    def _unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.world.fail(f"{context.get('message')}: {context.get('exception')!r}")

    def _check_tasks(self) -> None:
        if left := [task.get_name() for task in asyncio.all_tasks(self.loop) if not task.done()]:
            self.world.fail(f"tasks left behind: {sorted(left)}")

    async def live(self) -> None:
        world, stop = self.world, asyncio.Event()
        world.note(f"life {world.lives} begins: {world.fate.doom}")
        adapter = SimAdapter(world, self.end)
        machine = Machine(SimClock(self.loop), Disk(world, self.end))
        writing = self.loop.create_task(people(world, adapter))
        try:
            async with App.open(
                self.home, read_config(self.home.config_file), ENVIRON, channels=True, machine=machine
            ) as app:
                self._simplify(app)
                adapter.on_received = partial(self._look_for_full_queues, app)
                for account in app.accounts:
                    if account.channel == "telegram":
                        account.build = partial(_built, adapter)
                running = self.loop.create_task(app.run(stop))
                ending = self.loop.create_task(self._ended(app, stop))
                await asyncio.wait([running, ending], return_when=asyncio.FIRST_COMPLETED)
                stop.set()
                await ending
                await running
        except* StoreError:
            if world.is_calm:
                raise
            world.mark("a gateway gives up on a failing disk")
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    def _look_for_full_queues(self, app: App) -> None:
        if app.parts.overflow.rests:
            self.world.mark("a queue in memory is full")

    async def _ended(self, app: App, stop: asyncio.Event) -> None:
        """Return when the gateway is to stop."""
        world, patience_s = self.world, None
        if world.fate.doom is Doom.STOP:
            patience_s = world.fate.at
        elif world.is_calm:
            patience_s = max(0.0, world.script[-1].at - world.now) + LAST_PATIENCE_S
        try:
            async with asyncio.timeout(patience_s):
                await self._quiet(app, stop)
        except TimeoutError:
            if app.parts.lanes.standing() or app.parts.delivery.waiting:
                world.mark("a stop in the middle of work")
            if world.is_calm:
                world.fail("not quiet hours after the last message and the last fault")

    async def _quiet(self, app: App, stop: asyncio.Event) -> None:
        """Return once everything was said, answered and sent, and it was quiet for a while."""
        world = self.world
        quiet_since = self.loop.time()
        while not stop.is_set() and self.loop.time() < quiet_since + REST_S:
            await asyncio.sleep(10)
            is_busy = world.said < len(world.script) or world.pending or app.parts.lanes.standing()
            if is_busy or app.parts.delivery.waiting:
                quiet_since = self.loop.time()

    def _simplify(self, app: App) -> None:
        """Give the agents the model of this world, and a memory without a worker."""
        clock = SimClock(self.loop)
        agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
        for name, agent in list(agents.items()):
            memory_clock = MemoryClock(self.loop.time, lambda: clock.now().date())
            memory = MemoryIndex(name, self.home.agent(name).index, [], NoWorker(), agent.run, memory_clock)
            agents[name] = structs.replace(agent, model=Secretary(self.world), memory=memory)


async def _built(adapter: SimAdapter) -> SimAdapter:
    return adapter


async def _reported(home: Home) -> StoreReport:
    store = await SqliteStore.open(home.state_db)
    try:
        return await store.report()
    finally:
        await store.close()


def warm_up(world: World, home: Home) -> None:
    """Let a gateway live in this process, so that forked ones find libraries loaded and tools described."""
    world.begin_life()
    life = Life(world, home, -1)
    life.ask_only_the_seed()
    life.loop.run_until_complete(life.live())
    virtual_time.forget()


def live(world: World, home: Home, prepare: Callable[[], None]) -> World:
    """Let one gateway live in a forked process, after *prepare* in it; return the world as it leaves it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            prepare()
        except BaseException:  # noqa: BLE001  # it must not go on as its parent does
            traceback.print_exc()
            os._exit(1)
        Life(world, home, writer).run()
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not data:
        world.fail(f"the process ended with {status} and said nothing")
        return world
    found: World = pickle.loads(data)
    return found
