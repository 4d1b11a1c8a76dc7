"""Jobs come due while gateways are killed at random moments; the Bot API server's own record judges."""

import asyncio
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.app.app import App
from gateway.config import read_config
from gateway.home import Home
from gateway.stores.jobs import Job, JobRun, JobSpec, RunState
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import ENVIRON, OWNER, make_home, openai_section
from tests.journeys.processes import Gateway, post, server, state
from tests.journeys.several import CHATS, HELD, LEASE_S, Watchers, make_homes, single

LEAD = timedelta(seconds=3)
"""Until the first slot; those that come before there is a gateway are run late."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Jobs of some agents, which come one after the other, and again after so many minutes."""

    agents: Sequence[str]
    jobs: int
    gap: timedelta
    minutes: int = 600
    rounds: int = 1
    """How many slots of each job are waited for."""

    @property
    def span(self) -> timedelta:
        """Return how long after each slot of a job its next one comes."""
        return timedelta(minutes=self.minutes)

    async def make(self, home: Home) -> None:
        """Keep the jobs in the store of *home*, as somebody would have who planned each in good time."""
        async with App.open(home, read_config(home.config_file), ENVIRON, channels=False) as app:
            begin = datetime.now(UTC) + LEAD
            for number in range(self.jobs):
                first = begin + number * self.gap
                agent = self.agents[number % len(self.agents)]
                spec = JobSpec(agent, f"every {self.minutes}m", "UTC", f"job {number}.", first - self.span)
                assert await app.parts.resources.home.store.jobs.add(spec, first, self.jobs) is not None

    async def histories(self, home: Home) -> list[tuple[Job, Sequence[JobRun]]]:
        """Return each job with what became of its slots, the first of them first."""
        async with App.open(home, read_config(home.config_file), ENVIRON, channels=False) as app:
            jobs = app.parts.resources.home.store.jobs
            return [(job, list(reversed(await jobs.history(job.id)))) for job in await jobs.all()]

    def sent(self, bot: str) -> Counter[int]:
        """Return how often each job's answer was taken by the platform."""
        texts = [message["text"] for message in state(bot)["sent"]]
        return Counter(int(found[1]) for text in texts if (found := re.search(r"job (\d+)\.\s*$", text)))

    def until_all_were_sent(self, bot: str) -> None:
        """Wait until every job answered as often as is waited for, as long as a further answer comes in time."""
        sent, deadline = self.sent(bot), time.monotonic() + PATIENCE_S
        while len(sent) < self.jobs or min(sent.values()) < self.rounds:
            assert time.monotonic() < deadline, sent
            time.sleep(0.1)
            if (now := self.sent(bot)) != sent:
                sent, deadline = now, time.monotonic() + PATIENCE_S

    def judge(self, home: Home, bot: str, unsure: int, doubled_at_most: int) -> str:
        """Fail unless each slot was run once and its answer came, twice only where that is written down."""
        sent, doubled, slots = self.sent(bot), 0, 0
        histories = asyncio.run(self.histories(home))
        assert len(histories) == self.jobs
        for job, runs in histories:
            begun = job.spec.begun_at
            assert [run.slot for run in runs] == [begun + number * self.span for number in range(1, len(runs) + 1)]
            delivered = [run for run in runs if run.state is RunState.DELIVERED]
            assert delivered == runs[: len(delivered)]
            assert len(runs) - len(delivered) <= (self.rounds > 1), (
                "only the slot that the end cut off is not delivered"
            )
            mine = sent[int(job.spec.prompt.removeprefix("job ").removesuffix("."))]
            assert mine >= len(delivered) >= self.rounds
            doubled, slots = doubled + max(0, mine - len(runs)), slots + len(runs)
        assert doubled <= unsure <= doubled_at_most
        return f"{slots} slots, each run once; {doubled} answers twice, {unsure} sends unsure"


def kill_at_random(gateways: Sequence[Gateway], bot: str, kills: int, plan: Plan) -> None:
    """Kill one gateway after the other, each at a random moment of its work, and start it again."""
    seed = time.time_ns()
    chance = random.Random(seed)
    print(f"seed {seed}")
    total = plan.jobs * plan.rounds
    for number in range(kills):
        state(bot, sent=int(total * (number + chance.random()) / (kills + 1)))
        time.sleep(chance.uniform(0, 0.3))
        victim = gateways[number % len(gateways)]
        victim.kill()
        victim.start()


@contextmanager
def together(folder: Path, homes: Sequence[Home]) -> Iterator[list[Gateway]]:
    """Run gateways while the block runs, from when all are ready."""
    gateways = [Gateway(home, folder / f"{home.path.name}.log") for home in homes]
    try:
        with ThreadPoolExecutor(len(gateways)) as starting:
            list(starting.map(Gateway.start, gateways))
        yield gateways
    finally:
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.send_signal(signal.SIGKILL)
                gateway.process.wait(PATIENCE_S)


def survive(folder: Path, plan: Plan, kills: int) -> str:
    """Run the jobs of *plan* by one gateway that is killed so often; return the verdict."""
    record = folder / "telegram.jsonl"
    with server("botapi", folder, "--record", str(record)) as bot, server("openai_stub", folder) as model:
        home = make_home(folder / "home", bot, openai_section(f"{model}/v1"))
        post(f"{bot}/control/says", {"chat": OWNER, "text": "hello"})  # no bot may write first
        asyncio.run(plan.make(home))
        with together(folder, [home]) as (gateway,):
            kill_at_random([gateway], bot, kills, plan)
            plan.until_all_were_sent(bot)
            status = until_idle(gateway)
            assert gateway.stop() == 0
        return f"{kills} kills, {plan.judge(home, bot, len(status['unsure']), kills)}"


def until_idle(gateway: Gateway) -> Any:
    """Return what its status says once nothing waits."""
    deadline = time.monotonic() + PATIENCE_S
    while (status := gateway.status())["inbox_waiting"] or status["outbox_queued"]:
        assert time.monotonic() < deadline, status
        time.sleep(0.1)
    return status


def test_each_slot_comes_once_whenever_the_gateway_is_killed(tmp_path: Path) -> None:
    """A job is due several times a second; a kill comes at any step from a slot to what the platform was told."""
    print(survive(tmp_path, Plan(["main"], jobs=24, gap=timedelta(seconds=0.3)), kills=3))


@pytest.mark.nightly
def test_each_slot_comes_once_over_sixty_kills(tmp_path: Path) -> None:
    """For some minutes, in which every job comes again each minute."""
    print(survive(tmp_path, Plan(["main"], jobs=40, gap=timedelta(seconds=1.5), minutes=1, rounds=4), kills=60))


def survive_together(folder: Path, plan: Plan, kills: int) -> str:
    """The same by three gateways on one Redis, whose agents change hands at each kill."""
    with (
        single() as kept,
        server("botapi", folder, "--record", str(folder / "telegram.jsonl")) as bot,
        server("openai_stub", folder) as model,
    ):
        homes = make_homes(folder, kept.url, bot, model)
        asyncio.run(plan.make(homes[0]))
        for chat in CHATS.values():
            post(f"{bot}/control/says", {"chat": chat, "text": "hello"})
        with together(folder, homes) as gateways:
            kill_at_random(gateways, bot, kills, plan)
            plan.until_all_were_sent(bot)
            watchers, deadline = Watchers(kept), time.monotonic() + PATIENCE_S
            while watchers.waiting([*CHATS]) or watchers.unsent():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            unsure = watchers.unsure().total()
            assert [gateway.stop() for gateway in gateways] == [0] * len(gateways)
        time.sleep(LEASE_S)  # who left in haste may not have said so
        return f"{kills} kills, {plan.judge(homes[0], bot, unsure, kills * HELD)}"


def test_each_slot_comes_once_though_agents_change_hands(tmp_path: Path) -> None:
    """A gateway of three is killed, and its agents' jobs are run by whoever takes them over."""
    print(survive_together(tmp_path, Plan([*CHATS], jobs=24, gap=timedelta(seconds=0.3)), kills=2))


@pytest.mark.nightly
def test_each_slot_comes_once_over_thirty_changes_of_hands(tmp_path: Path) -> None:
    """For some minutes, in which every job comes again each minute."""
    print(
        survive_together(tmp_path, Plan([*CHATS], jobs=36, gap=timedelta(seconds=1.6), minutes=1, rounds=4), kills=30)
    )
