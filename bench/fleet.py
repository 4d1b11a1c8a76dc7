"""Gateways of a load, run like an owner's: one with its own state, or several on one Redis."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.faults import Faults, Servers, servers
from bench.judgement import answered_in, asked_in
from gateway.home import AgentHome, Home
from tests.fakes import redis_server
from tests.journeys.house import OWNER, openai_section
from tests.journeys.processes import Gateway
from workspaces.access import AgentId
from workspaces.workspace import Workspace

_SEVERAL = 6
"""Agents of several gateways: as many for each of one, two and three."""
_LEASE_S = 2.0
_LEASE_BACKED_S = 10.0
"""Longer than a failover takes."""
_POLL_TIMEOUT_S = 5
_SHARED_WITHIN_S = 40.0
_LOOK_EVERY_S = 0.1
_INDEXED_WITHIN_S = 120.0
SEED = 20
"""Decides the order of random faults."""


@dataclass(frozen=True, slots=True)
class Around:
    """Servers used by the gateways."""

    bot: str
    model: str
    chats: Sequence[int]
    """Groups are negative numbers, the owner's own chat is `OWNER`."""
    window_tokens: int = 32_000
    """Of the model; the default is the gateway's assumption for a custom endpoint."""


class Fleet:
    """Gateways that can be killed."""

    def __init__(self, gateways: Sequence[Gateway], kept: Servers | None = None) -> None:
        """*kept* are servers that fail too."""
        self._gateways = gateways
        self.faults = Faults(gateways, kept, random.Random(SEED)) if kept else None
        self.ended = 0
        """How often a gateway ended by itself."""

    def start(self) -> None:
        """Start all, and return once they are ready and each has its share of the agents."""
        with ThreadPoolExecutor(len(self._gateways)) as together:
            list(together.map(Gateway.start, self._gateways))
        deadline = time.monotonic() + _SHARED_WITHIN_S
        while len(self._gateways) > 1 and self._shares() != {_SEVERAL // len(self._gateways)}:
            assert time.monotonic() < deadline, "the agents were not shared out evenly"
            time.sleep(_LOOK_EVERY_S)

    def revive(self) -> None:
        """Start what ended by itself, as a service manager does, and count it."""
        for gateway in self._gateways:
            if gateway.process and gateway.process.poll() is not None:
                self.ended += 1
                gateway.start()

    def crash(self, which: int) -> None:
        """Kill one as in a power failure, and start it again; where servers fail too, let anything fail."""
        self.revive()
        if self.faults:
            self.faults.strike()
            return
        gateway = self._gateways[which % len(self._gateways)]
        gateway.kill()
        gateway.start()

    def update(self, step: int) -> None:
        """Restart one part in order, the next one at the next *step*."""
        assert self.faults
        self.revive()
        self.faults.update(step)

    def stop(self) -> list[int]:
        """Stop all; return their exit statuses."""
        return [gateway.stop() for gateway in self._gateways]

    def end(self) -> None:
        """Kill remaining processes, however the run ended."""
        for gateway in self._gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.kill()

    def pids(self) -> list[int]:
        """Return the ids of processes that may be alive."""
        return [gateway.process.pid for gateway in self._gateways if gateway.process]

    @property
    def gateway(self) -> Gateway:
        """The first of them."""
        return self._gateways[0]

    @property
    def agent(self) -> AgentHome:
        """The folders of the only agent of a single gateway."""
        return self._gateways[0].home.agent("main")

    def unsure(self) -> Counter[int]:
        """Return the number of sends listed as unsure, by chat."""
        deadline = time.monotonic() + _SHARED_WITHIN_S
        while self._shares() == {0} and time.monotonic() < deadline:  # one starts over
            time.sleep(_LOOK_EVERY_S)
        listed = {(each["address"], each["part"], each["at"]) for state in self._states() for each in state["unsure"]}
        return Counter(int(address.rpartition(".")[2]) for address, _, _ in listed)

    def processed(self) -> tuple[Counter[int], Counter[int]]:
        """Return how often each message, and an answer to it, occurs in a conversation."""
        asked: Counter[int] = Counter()
        answered: Counter[int] = Counter()
        for file in self._gateways[0].home.agents.glob("*/sessions/*.jsonl"):
            for line in map(json.loads, file.read_text().splitlines()):
                match line["type"]:
                    case "user":
                        asked.update(asked_in(line["entry"]["text"]))
                    case "reply":
                        answered.update(answered_in(line["entry"]["text"]))
        return asked, answered

    def unindexed(self, messages: int) -> int:
        """Return how many of *messages* questions some Qdrant node lacks after a while; none without a node."""
        nodes = self.faults.servers.qdrant if self.faults else []
        deadline = time.monotonic() + _INDEXED_WITHIN_S
        while nodes and self.faults:
            missing = max(len({*range(messages)} - found) for found in self.faults.servers.indexed())
            if not missing or time.monotonic() > deadline:
                return missing
            time.sleep(_LOOK_EVERY_S)
        return 0

    def _shares(self) -> set[int]:
        """Return each gateway's number of agents; a restarting one has none."""
        try:
            return {len(state["agents"]) if state["ready"] else 0 for state in self._states()}
        except OSError:
            return {0}

    def _states(self) -> list[dict[str, Any]]:
        return [gateway.status() for gateway in self._gateways]


@asynccontextmanager
async def running(
    folder: Path, around: Around, gateways: int, *, on_redis: bool = False, is_backed: bool = False
) -> AsyncIterator[Fleet]:
    """Run *gateways* while the block runs; more than one share a Redis, a single one may have it too.

    *is_backed*: Redis has a replica and a sentinel, the index is on three Qdrant nodes, and all of them may fail.
    """
    with _prepared(folder, around, gateways, on_redis or gateways > 1, is_backed) as (homes, kept):
        fleet = Fleet([Gateway(home, folder / f"{home.path.name}.log") for home in homes], kept)
        try:
            await asyncio.to_thread(fleet.start)
            yield fleet
        finally:
            await asyncio.to_thread(fleet.end)


@contextmanager
def _prepared(
    folder: Path, around: Around, gateways: int, on_redis: bool, is_backed: bool
) -> Iterator[tuple[list[Home], Servers | None]]:
    if not on_redis and not is_backed:
        yield [_make(Home(folder / "home"), _config(around, ["main"]))], None
        return
    kind = next((kind for kind in ("redis", "valkey") if redis_server.program(kind)), None)
    if kind is None:
        raise SystemExit("several gateways need a Redis or Valkey server, and none is installed here")
    with ExitStack() as stack:
        kept = stack.enter_context(servers(kind)) if is_backed else None
        redis = kept.redis if kept else stack.enter_context(redis_server.running(kind, *redis_server.KEEPS_ALL))
        store = f'[redis]\nurl = "{redis.url}"\nlease_s = {_LEASE_BACKED_S if kept else _LEASE_S}\n'
        store += kept.sections() if kept else ""
        names = [f"agent{number}" for number in range(_SEVERAL)]
        yield _sharing(folder, _config(around, names) + store, gateways), kept


def _sharing(folder: Path, config: str, gateways: int) -> list[Home]:
    """Create homes with agents in one shared folder."""
    agents = folder / "agents"
    agents.mkdir()
    homes = [Home(folder / f"home{number}") for number in range(gateways)]
    for home in homes:
        home.path.mkdir()
        home.agents.symlink_to(agents)
    return [_make(home, config) for home in homes]


def _make(home: Home, config: str) -> Home:
    home.create()
    home.write(home.config_file, config)
    for line in config.splitlines():
        if line.startswith("[agents."):
            agent = line.removeprefix("[agents.").rstrip("]")
            if not home.agent(agent).workspace.exists():
                Workspace.create(home.agent(agent).workspace, AgentId(agent)).folder.close()
    return home


def _config(around: Around, agents: Sequence[str]) -> str:
    groups = ", ".join(f'"{chat}" = {{ mention = false }}' for chat in around.chats if chat != OWNER)
    sections = [
        f'[owner]\ntime_zone = "Europe/Berlin"\npeople = ["telegram:{OWNER}"]\n',
        *(f'[agents.{agent}]\nmodel = "stub"\n' for agent in agents),
        f'[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{around.bot}"',
        f"poll_timeout_s = {_POLL_TIMEOUT_S}\ngroups = {{ {groups} }}\n",
        f"[models.stub]\n{openai_section(around.model)}\nwindow_tokens = {around.window_tokens}\n",
    ]
    if len(agents) > 1:
        for number, chat in enumerate(around.chats):
            agent = agents[number % len(agents)]
            sections.append(f'[[bindings]]\nagent = "{agent}"\nchannel = "telegram"\nchat = "{chat}"\n')
    return "\n".join(sections)
