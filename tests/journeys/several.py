"""Three gateways with shared state in Redis, judged by the Bot API server's own record."""

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from redis import Redis

from gateway.cluster.membership import member_name
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import KEEPS_ALL, USUAL, RedisServer, running
from tests.fakes.redis_several import until
from tests.journeys.house import openai_section
from tests.journeys.processes import GATEWAY, Gateway, post, server, state
from workspaces.access import AgentId
from workspaces.workspace import Workspace

CHATS = {f"agent{n}": 7 + n for n in range(6)}
"""Each person talks to an agent of their own."""
LEASE_S = 4.0


def make_homes(folder: Path, url: str, bot: str, model: str) -> list[Home]:
    """Make three homes with one configuration, whose agents lie in one folder."""
    people = [f"telegram:{chat}" for chat in CHATS.values()]
    config = [
        f'[owner]\ntime_zone = "UTC"\npeople = {json.dumps(people)}\n',
        f'[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{bot}"\npoll_timeout_s = 2\n',
        f'[redis]\nurl = "{url}"\nlease_s = {LEASE_S}\n[memory.embeddings]\nprovider = "none"\n',
        f"[models.stub]\n{openai_section(f'{model}/v1')}\n[limits]\ndrain_s = 2\n",
    ]
    for agent, chat in CHATS.items():
        config.append(f'[agents.{agent}]\nmodel = "stub"\n')
        config.append(f'[[bindings]]\nagent = "{agent}"\nperson = "telegram:{chat}"\n')
    homes = [Home(folder / f"home{n}") for n in range(3)]
    agents = folder / "agents"
    agents.mkdir()
    for home in homes:
        home.path.mkdir()
        home.agents.symlink_to(agents)
        home.create()
        home.write(home.config_file, "\n".join(config))
    for agent in CHATS:
        Workspace.create(homes[0].agent(agent).workspace, AgentId(agent)).folder.close()
    return homes


@dataclass(frozen=True)
class Kept:
    """Where the gateways' state is."""

    url: str
    """As the gateways' settings have it."""
    history_writer: Callable[[], RedisServer]
    """Tells which server takes writes now."""

    def settle_and_kill(self, replica: RedisServer) -> None:
        """Kill the server that takes writes once *replica* has all that was confirmed: replication promises nothing."""
        server = self.history_writer()
        server.tell("CLIENT", "PAUSE", 10_000, "WRITE")

        def has_all() -> bool:
            offsets = [each.tell("INFO", "replication") for each in (server, replica)]
            return bool(offsets[0]["master_repl_offset"] == offsets[1]["slave_repl_offset"])

        until(has_all)
        server.kill()


@contextmanager
def single() -> Iterator[Kept]:
    """Keep the state in one server."""
    with running(USUAL, *KEEPS_ALL) as redis:
        yield Kept(redis.url, lambda: redis)


class Watchers:
    """What stands in Redis, read from outside."""

    def __init__(self, kept: Kept) -> None:
        self._client = Redis.from_url(kept.history_writer().url, decode_responses=True, protocol=2)

    def agents(self) -> dict[str, list[str]]:
        """Return which agents each lease holds."""
        found: dict[str, list[str]] = {}
        owners: dict[str, str] = self._client.hgetall("{strandline}:owners")  # type: ignore[assignment]
        for name, owner in owners.items():
            if name.startswith("agent:"):
                found.setdefault(owner, []).append(name.removeprefix("agent:"))
        return found

    def waiting(self, agents: list[str]) -> int:
        """Return how many messages these agents have still to answer."""
        return sum(int(self._client.xlen(f"{{strandline}}:inbox:{agent}")) for agent in agents)

    def unsure(self) -> Counter[str]:
        """Return, for each chat, how many sends are listed of which nobody knows whether they arrived."""
        entries: list[str] = self._client.lrange("{strandline}:unsure", 0, -1)  # type: ignore[assignment]
        return Counter(str(json.loads(json.loads(entry)[1])[2]) for entry in entries)

    def unsent(self) -> int:
        """Return how many replies are not delivered yet."""
        return int(self._client.zcard("{strandline}:unfinished"))

    def until_shared(self, gateways: int) -> None:
        """Wait until so many gateways have the same number of agents each."""
        deadline = time.monotonic() + PATIENCE_S
        while sorted(map(len, self.agents().values())) != [len(CHATS) // gateways] * gateways:
            assert time.monotonic() < deadline, self.agents()
            time.sleep(0.05)


@contextmanager
def three(homes: list[Home], kept: Kept, program: Sequence[str]) -> Iterator[list[Gateway]]:
    """Run three gateways until each has its third of the agents."""
    gateways = [Gateway(home, home.path.with_suffix(".log"), program) for home in homes]
    try:
        with ThreadPoolExecutor(len(gateways)) as together:
            list(together.map(Gateway.start, gateways))
        Watchers(kept).until_shared(3)
        yield gateways
    finally:
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.send_signal(signal.SIGCONT)
                gateway.process.kill()
                gateway.process.wait(PATIENCE_S)


def held_by(gateway: Gateway, watchers: Watchers) -> list[str]:
    """Return the agents that hang on the lease of *gateway*."""
    name = member_name(gateway.home)
    return [agent for owner, agents in watchers.agents().items() if owner.startswith(f"{name}#") for agent in agents]


@dataclass(frozen=True)
class Trial:
    """Three gateways at work on a burst of messages, and what judges them."""

    kept: Kept
    bot: str
    gateways: list[Gateway]
    burst: int

    def say_all(self) -> None:
        """Let everybody say everything, as fast as it is taken."""
        for number in range(self.burst):
            for chat in CHATS.values():
                post(f"{self.bot}/control/says", {"chat": chat, "text": f"message {number}"})

    def has_work(self, gateway: Gateway | None = None) -> bool:
        """Say whether *gateway*, or any, has messages to answer."""
        watchers = Watchers(self.kept)
        return watchers.waiting(held_by(gateway, watchers) if gateway else list(CHATS)) > 0

    def until_at_work(self, gateway: Gateway | None = None) -> None:
        """Wait until *gateway*, or any, has messages to answer: its lease may be lost for a while, the poller slow."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.has_work(gateway):
            assert len(state(self.bot)["sent"]) < len(CHATS) * self.burst, "all was answered before anybody was hit"
            assert time.monotonic() < deadline, "who is to be hit had nothing to do"
            time.sleep(0.02)

    def judge(self, fault: str, doubled_at_most: int) -> None:
        """Everybody got every answer, in order; twice only what was on its way, and that is listed."""
        everything = len(CHATS) * self.burst
        state(self.bot, sent=everything)
        watchers, deadline = Watchers(self.kept), time.monotonic() + PATIENCE_S
        while self.has_work() or watchers.unsent():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        sent, unsure, doubled = state(self.bot)["sent"], watchers.unsure(), 0
        for chat in CHATS.values():
            texts = [message["text"] for message in sent if message["chat"] == chat]
            assert [text for text, _ in groupby(texts)] == [f"You said: message {n}" for n in range(self.burst)]
            assert len(texts) - self.burst <= unsure[str(chat)]
            doubled += len(texts) - self.burst
        print(f"{fault}: {everything} messages, {doubled} replies doubled, {unsure.total()} sends unsure")
        assert doubled <= doubled_at_most


@contextmanager
def trial(folder: Path, kept: Kept, burst: int, program: Sequence[str] = GATEWAY) -> Iterator[Trial]:
    """Run three gateways on one state, and let everybody write to them."""
    with (
        server("botapi", folder, "--record", str(folder / "telegram.jsonl")) as bot,
        server("openai_stub", folder) as model,
        three(make_homes(folder, kept.url, bot, model), kept, program) as gateways,
    ):
        made = Trial(kept, bot, gateways, burst)
        made.say_all()
        yield made


HELD = len(CHATS) // 3
"""Agents that a gateway looks after: so many replies may be on their way when it is hit."""
