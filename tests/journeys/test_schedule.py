"""Jobs run at their times with recorded results, in a whole gateway."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.channel import OutboundMessage
from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.config import read_config
from gateway.control.cron_wire import CronOrder, JobsStatus
from gateway.control.status_wire import StatusOrder
from gateway.home import Home
from gateway.stores.jobs import JobId
from gateway.web.page_mirror import page_messages
from tests.fakes.clock import ManualClock
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import ENVIRON, make_home, openai_section
from workspaces.access import AgentId

MAIN = AgentId("main")
# The gateway tidies by the machine's own clock: what is done in the past would be forgotten at once.
NOON = datetime(2036, 3, 1, 12, tzinfo=UTC)
TEA = CronOrder("add", when="at 2036-03-01 13:20", what="remember that the tea is ready")


@asynccontextmanager
async def opened(home: Home, clock: ManualClock, *, channels: bool) -> AsyncIterator[App]:
    config = read_config(home.config_file)
    async with App.open(home, config, ENVIRON, channels=channels, machine=Machine(clock)) as app:
        yield app


@asynccontextmanager
async def running(home: Home, clock: ManualClock) -> AsyncIterator[App]:
    """Run the gateway while the block runs."""
    stop = asyncio.Event()
    async with opened(home, clock, channels=True) as app, asyncio.TaskGroup() as tasks:
        tasks.create_task(app.run(stop))
        async with asyncio.timeout(PATIENCE_S):
            while not app.parts.health.ready:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0)
        try:
            yield app
        finally:
            stop.set()


@asynccontextmanager
async def with_model(
    path: Path, clock: ManualClock, answer: Callable[[Body], Step], settings: str = ""
) -> AsyncIterator[App]:
    """Run the gateway of a new home whose model gives *answer*, while the block runs."""
    async with OpenAIStub(answer) as model:
        home = make_home(path, model=openai_section(model.url))
        home.write(home.config_file, home.config_file.read_text("utf-8") + settings)
        with home.lock("a journey"):
            async with running(home, clock) as app:
                yield app


async def after(app: App, clock: ManualClock, seconds: float) -> list[str]:
    """What the owner's terminal shows of what came due in so many seconds."""
    heard: list[str] = []

    async def listens(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    with app.operator.conversation.terminals[MAIN].attach(listens):
        clock.advance(seconds)
        await app.parts.job_runner.look()
        await app.parts.lanes.idle()
        rows = await app.parts.resources.home.store.outbox.unfinished()
        await asyncio.gather(*(app.parts.delivery.finished(row.id) for row in rows))
    return heard


async def told(app: App, order: CronOrder) -> list[str]:
    answer = await app.operator.ask(order)
    return [*(job.line for job in answer.jobs), *(run.line for run in answer.runs)]


async def test_a_reminder_comes_at_its_minute_once_whatever_starts_between(tmp_path: Path) -> None:
    """Planned at the command line while no gateway runs; its history names the turn; nothing comes after it."""
    home, clock = make_home(tmp_path / "home"), ManualClock(NOON)
    with home.lock("a journey"):
        async with opened(home, clock, channels=False) as app:
            assert (await app.operator.ask(TEA)).outcome == "job 1 added; next Sat 2036-03-01 13:20"
        async with running(home, clock) as app:
            assert await after(app, clock, 1199) == []
        async with running(home, clock) as app:
            assert len(await after(app, clock, 1)) == 1
            assert await after(app, clock, 3600) == []
        async with opened(home, clock, channels=False) as app:
            (run,) = await told(app, CronOrder("history", number=1))
            assert re.fullmatch(r"2036-03-01 13:20 delivered \(turn t\d+\)", run)
            line = "1. at 2036-03-01 13:20: remember that the tea is ready; done"
            assert await told(app, CronOrder("list")) == [line]


async def test_the_status_says_when_the_next_job_comes_and_which_fail(tmp_path: Path) -> None:
    """By `/status`, and at the command line without a gateway too; a span from now is listed as its moment."""
    home, clock = make_home(tmp_path / "home"), ManualClock(NOON)
    with home.lock("a journey"):
        async with opened(home, clock, channels=False) as app:
            for when in ("in 20m", "every 2h", "at 2036-03-02 09:00"):
                await app.operator.ask(CronOrder("add", when=when, what="look"))
            assert (await told(app, CronOrder("list")))[0] == "1. at 2036-03-01 13:20: look; next Sat 2036-03-01 13:20"
            assert (await app.operator.ask(StatusOrder())).agents[0].jobs == JobsStatus(3, NOON + timedelta(minutes=20))
            await app.parts.job_runner.job_schedule.disable(JobId(3))
            assert (await app.operator.ask(StatusOrder())).agents[0].jobs == JobsStatus(
                2, NOON + timedelta(minutes=20), stopped=1
            )
            assert "jobs: 2 scheduled, the next 2036-03-01 13:20, 1 stopped" in await app.parts.status.brief()


@pytest.mark.parametrize("remembers", [False, True])
async def test_a_job_knows_of_its_earlier_times_only_if_it_is_to(tmp_path: Path, remembers: bool) -> None:
    """By default the second request holds nothing of the first answer: no time costs more than the one before."""
    asked: list[str] = []

    def answer(body: Body) -> Step:
        if body["messages"][-1]["role"] == "tool":
            return "I told them, which nobody is shown."
        asked.append(json.dumps(body["messages"]))
        return Reply(calls=(Call("notify", json.dumps({"text": f"Look number {len(asked)}."}), f"c{len(asked)}"),))

    clock = ManualClock(NOON)
    settings = f"[schedule]\nremembers = {str(remembers).lower()}\n"
    async with with_model(tmp_path / "home", clock, answer, settings) as app:
        await app.operator.ask(CronOrder("add", when="every 2h", what="look after the oven"))
        assert await after(app, clock, 7200) == ["Look number 1."]
        assert await after(app, clock, 7200) == ["Look number 2."]
        job = await app.parts.resources.sessions.open(SessionKey(MAIN, "cron:1"))
    assert job._is_alone is not remembers
    assert ("Look number 1." in asked[1]) is remembers
    assert "look after the oven" in asked[1]


@pytest.mark.parametrize("in_main", [False, True])
async def test_what_a_job_writes_without_notify_is_shown_to_nobody(tmp_path: Path, in_main: bool) -> None:
    """In a session of its own and in the owner's, on their page too; it counts as silent, and the ledger says why."""
    clock = ManualClock(NOON)
    async with with_model(tmp_path / "home", clock, lambda _: "I looked around, and here is my report.") as app:
        await app.operator.ask(CronOrder("add", when="every 2h", what="look after the oven", in_main=in_main))
        assert await after(app, clock, 7200) == []
        assert " silent" in (await told(app, CronOrder("history", number=1)))[0]
        (silence,) = await app.parts.resources.home.store.silences.latest()
        talk = await app.parts.resources.sessions.open(SessionKey(MAIN, "main" if in_main else "cron:1"))
    assert (silence.address.channel, silence.reason, silence.times) == ("clock", "unasked_prose", 1)
    assert any(
        "here is my report" in record.entry.text for record in talk.records if isinstance(record.entry, ReplyEntry)
    )
    assert list(page_messages(talk.records)) == []


@pytest.mark.parametrize("in_main", [False, True])
async def test_a_reminder_reaches_its_owner_without_notify(tmp_path: Path, in_main: bool) -> None:
    """In the model's plain words, and it counts as delivered."""
    clock = ManualClock(NOON)
    async with with_model(tmp_path / "home", clock, lambda _: "Time to stretch!") as app:
        await app.operator.ask(CronOrder("add", when="in 1m", what="stretch", in_main=in_main))
        assert await after(app, clock, 60) == ["Time to stretch!"]
        assert " delivered" in (await told(app, CronOrder("history", number=1)))[0]


async def test_what_is_run_without_a_gateway_waits_for_one(tmp_path: Path) -> None:
    """A command answers nothing by itself."""
    home, clock = make_home(tmp_path / "home"), ManualClock(NOON)
    with home.lock("a journey"):
        async with opened(home, clock, channels=False) as app:
            await app.operator.ask(TEA)
            said = (await app.operator.ask(CronOrder("run", number=1))).outcome
            assert said == "job 1 runs once the gateway runs; its answer arrives on terminal"
            assert await told(app, CronOrder("history", number=1)) == ["2036-03-01 13:00 running"]
        async with running(home, clock) as app:
            assert len(await after(app, clock, 0)) == 1
