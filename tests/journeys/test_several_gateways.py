"""Three gateways on one Redis, which are killed, stopped and robbed of it; the Bot API server's own record judges."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from redis import Redis

from gateway.home import Home
from gateway.share import member_name
from tests.fakes.redis_server import RedisServer, program, running
from tests.journeys.house import openai_section
from tests.journeys.processes import Gateway, post, server, state
from workspaces.access import AgentId
from workspaces.workspace import Workspace

CHATS = {f"agent{n}": 7 + n for n in range(6)}
"""Each person talks to an agent of their own."""
LEASE_S = 2.0


def make_homes(folder: Path, redis: RedisServer, bot: str, model: str) -> list[Home]:
    """Make three homes with one configuration, whose agents lie in one folder."""
    people = [f"telegram:{chat}" for chat in CHATS.values()]
    config = [
        f'[owner]\ntime_zone = "UTC"\npeople = {json.dumps(people)}\n',
        f'[channels.telegram.home]\ntoken_env = "BOT_TOKEN"\nbase_url = "{bot}"\npoll_timeout_s = 2\n',
        f'[redis]\nurl = "{redis.url}"\nlease_s = {LEASE_S}\n[memory.embeddings]\nprovider = "none"\n',
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


class Watchers:
    """What stands in Redis, read from outside."""

    def __init__(self, redis: RedisServer) -> None:
        self._client = Redis.from_url(redis.url, decode_responses=True, protocol=2)

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
        deadline = time.monotonic() + 40
        while sorted(map(len, self.agents().values())) != [len(CHATS) // gateways] * gateways:
            assert time.monotonic() < deadline, self.agents()
            time.sleep(0.05)


@contextmanager
def three(folder: Path, redis: RedisServer, bot: str, model: str) -> Iterator[list[Gateway]]:
    """Run three gateways until each has its third of the agents."""
    gateways = [Gateway(home, folder / f"{home.path.name}.log") for home in make_homes(folder, redis, bot, model)]
    try:
        with ThreadPoolExecutor(len(gateways)) as together:
            list(together.map(Gateway.start, gateways))
        Watchers(redis).until_shared(3)
        yield gateways
    finally:
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.send_signal(signal.SIGCONT)
                gateway.process.kill()
                gateway.process.wait(10)


def held_by(gateway: Gateway, watchers: Watchers) -> list[str]:
    """Return the agents that hang on the lease of *gateway*."""
    name = member_name(gateway.home)
    return [agent for owner, agents in watchers.agents().items() if owner.startswith(f"{name}#") for agent in agents]


@dataclass(frozen=True)
class Trial:
    """Three gateways at work on a burst of messages, and what judges them."""

    redis: RedisServer
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
        watchers = Watchers(self.redis)
        return watchers.waiting(held_by(gateway, watchers) if gateway else list(CHATS)) > 0

    def until_at_work(self, gateway: Gateway) -> None:
        """Wait until *gateway* has messages to answer: on a busy machine it may have lost its lease for a while."""
        deadline = time.monotonic() + 30
        while not self.has_work(gateway):
            assert self.has_work(), "who is to be hit had nothing to do"
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def judge(self, fault: str, doubled_at_most: int) -> None:
        """Everybody got every answer, in order; twice only what was on its way, and that is listed."""
        everything = len(CHATS) * self.burst
        state(self.bot, timeout_s=90, sent=everything)
        watchers, deadline = Watchers(self.redis), time.monotonic() + 20
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
def trial(folder: Path, burst: int) -> Iterator[Trial]:
    """Run three gateways on one Redis, and let everybody write to them."""
    if (kind := next((kind for kind in ("redis", "valkey") if program(kind)), None)) is None:
        pytest.skip("no Redis or Valkey server is installed here")
    with (
        running(kind) as redis,
        server("botapi", folder, "--record", str(folder / "telegram.jsonl")) as bot,
        server("openai_stub", folder) as model,
        three(folder, redis, bot, model) as gateways,
    ):
        made = Trial(redis, bot, gateways, burst)
        made.say_all()
        yield made


HELD = len(CHATS) // 3
"""Agents that a gateway looks after: so many replies may be on their way when it is hit."""


@pytest.mark.timeout(150)
def test_messages_come_through_a_kill_a_pause_and_a_restart_of_redis(tmp_path: Path) -> None:
    """Each is answered once, in the order of its chat; whoever was hit had messages to answer."""
    with trial(tmp_path, burst=20) as made:
        _, killed, paused = made.gateways
        state(made.bot, sent=5)
        made.until_at_work(killed)
        killed.kill()
        state(made.bot, sent=12)
        made.until_at_work(paused)
        assert paused.process is not None
        paused.process.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_S + 1)  # its lease runs out, and nobody but it can get at its agents' folders
        paused.process.send_signal(signal.SIGCONT)
        assert made.has_work(), "Redis was restarted when all was done"
        made.redis.kill()
        made.redis.start()
        made.judge("a kill, a pause, a restart of Redis", doubled_at_most=2 * HELD + len(CHATS))


def stand_still(made: Trial, seconds: float) -> None:
    """Let Redis stand still when every gateway has messages to answer."""
    for gateway in made.gateways:
        made.until_at_work(gateway)
    made.redis.signal(signal.SIGSTOP)
    time.sleep(seconds)
    made.redis.signal(signal.SIGCONT)


@pytest.mark.timeout(150)
def test_messages_come_through_a_redis_that_stands_still_for_longer_than_a_lease(tmp_path: Path) -> None:
    """Every lease runs out; afterwards all three go on, under new fences."""
    with trial(tmp_path, burst=20) as made:
        fences = set(Watchers(made.redis).agents())
        state(made.bot, sent=5)
        stand_still(made, 2 * LEASE_S)
        made.judge(f"Redis stood still for {2 * LEASE_S:g} s", doubled_at_most=len(CHATS))
        assert fences.isdisjoint(Watchers(made.redis).agents())


@pytest.mark.nightly
def test_messages_come_through_a_redis_that_stands_still_for_half_a_minute(tmp_path: Path) -> None:
    """The same, for as long as a start waits for its server."""
    with trial(tmp_path, burst=40) as made:
        state(made.bot, sent=20)
        stand_still(made, 30)
        made.judge("Redis stood still for 30 s", doubled_at_most=len(CHATS))


@pytest.mark.nightly
def test_messages_come_through_ten_kills(tmp_path: Path) -> None:
    """One gateway after the other is killed and started again while messages come."""
    with trial(tmp_path, burst=60) as made:
        kills = 0
        for number in range(10):
            state(made.bot, sent=5 + 20 * number)
            victim = made.gateways[number % 3]
            if made.has_work(victim):
                kills += 1
            victim.kill()
            victim.start()
        assert kills >= 5, "most of those that were killed had nothing to do"
        made.judge(f"ten kills, {kills} of them at work", doubled_at_most=10 * HELD)
