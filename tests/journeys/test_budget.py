"""Messages to people when a day's budget is spent, in a whole gateway."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from adapters.channel import Address, ChatKind, InboundMessage, OutboundMessage
from gateway.admission.internal_channels import NOBODY, job_address
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.config import read_config
from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from tests.fakes.clock import ManualClock
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Reply
from tests.journeys.house import ENVIRON, make_home, openai_section
from workspaces.access import AgentId

MAIN = AgentId("main")
OWNER = Address("terminal", "main", "cli")
PRICED = "price_in = 2.0\nprice_out = 10.0"


def home_with(path: Path, url: str, budget: str) -> Home:
    home = make_home(path, model=f"{openai_section(url)}\n{PRICED}")
    home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n[agents.main.budget]\n{budget}\n")
    return home


@asynccontextmanager
async def running(home: Home, clock: ManualClock) -> AsyncIterator[App]:
    config, machine, stop = read_config(home.config_file), Machine(clock=clock), asyncio.Event()
    with home.lock("a journey"):
        async with (
            App.open(home, config, ENVIRON, channels=False, machine=machine) as app,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(app.run(stop))
            try:
                yield app
            finally:
                stop.set()


async def says(app: App, text: str) -> list[str]:
    heard: list[str] = []

    async def hear(said: str, is_answer: bool) -> None:
        heard.append(said)

    async with asyncio.timeout(PATIENCE_S):
        await app.operator.chat(ChatOrder(text), hear)
    return heard


async def test_the_owner_is_told_once_what_stops_it_and_the_next_day_goes_on(tmp_path: Path) -> None:
    """Later messages of the day ask no model and are not answered again; a restart changes nothing of it."""
    clock = ManualClock()
    async with OpenAIStub(lambda _: Reply("Hi.", input_tokens=2_500)) as model:
        home = home_with(tmp_path / "home", model.url, "tokens_a_day = 8000")
        async with running(home, clock) as app:
            heard = [await says(app, f"message {n}") for n in range(6)]
            told = [each for each in heard if "budget" in "".join(each)]
            assert len(told) == 1
            assert "[agents.main.budget] tokens_a_day" in told[0][0]
            asked = len(model.bodies)
            assert 0 < asked < 6
            reasons = (await app.operator.ask(StatusOrder())).reasons
            assert reasons["budget.chat"] == 6 - asked
            (silence,) = (await says(app, "/why silence"))[0].splitlines()
            assert f"terminal:0: {5 - asked} times, because the day's budget is spent" in silence
        async with running(home, clock) as app:
            assert await says(app, "again") == []
            assert len(model.bodies) == asked
            clock.advance(86_400)
            assert await says(app, "good morning") == ["Hi."]


async def test_a_budget_of_nothing_lets_nothing_run_and_says_so(tmp_path: Path) -> None:
    """Commands still work: they ask no model."""
    async with OpenAIStub(lambda _: "Hi.") as model:
        async with running(home_with(tmp_path / "home", model.url, "money_a_day = 0"), ManualClock()) as app:
            (said,) = await says(app, "hello")
            assert "[agents.main.budget] money_a_day is 0" in said
            (status,) = await says(app, "/status")
            assert "money_a_day" not in status
            assert "$0.00 of $0.00" in status
        assert model.bodies == []


async def test_a_job_has_a_budget_of_its_own(tmp_path: Path) -> None:
    """What stops jobs leaves the chat alone, and the owner reads it where jobs answer."""
    heard: list[str] = []

    async def hear(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    async with OpenAIStub(lambda _: "Hi.") as model:
        home = home_with(tmp_path / "home", model.url, "causes = { cron = { tokens_a_day = 0 } }")
        async with running(home, ManualClock()) as app:
            with app.operator.conversation.terminals[MAIN].attach(hear):
                for address in (job_address(MAIN, "tea"), job_address(MAIN, "coffee", in_main=True)):
                    at = datetime.now(UTC)
                    job = InboundMessage(address, "slot", NOBODY, ChatKind.DIRECT, "go", True, at, answers_to=OWNER)
                    await app.parts.resources.home.entrance.enter(job)
                await app.parts.lanes.idle()
                rows = await app.parts.resources.home.store.outbox.unfinished()
                await asyncio.gather(*(app.parts.delivery.finished(row.id) for row in rows))
            assert len(heard) == 2
            assert all("budget.causes.cron] tokens_a_day is 0" in each for each in heard)
            assert model.bodies == []
            assert await says(app, "hello") == ["Hi."]


async def test_what_was_spent_is_shown_wherever_the_owner_asks(tmp_path: Path) -> None:
    """In `/status`, in `/context`, and in what `strandline status --json` and the metrics are made of."""
    async with OpenAIStub(lambda _: "Hi.") as model:
        home = home_with(
            tmp_path / "home", model.url, "money_a_day = 1.5\ncauses = { flush = { tokens_a_day = 9000 } }"
        )
        async with running(home, ManualClock()) as app:
            await says(app, "hello")
            (agent,) = (await app.operator.ask(StatusOrder())).agents
            rows = {row.cause: row for row in agent.spending}
            assert rows["all"].tokens == rows["chat"].tokens > 0
            assert rows["all"].money == rows["chat"].money > 0
            assert (rows["all"].money_a_day, rows["chat"].money_a_day) == (1.5, None)
            assert (rows["flush"].tokens, rows["flush"].tokens_a_day) == (0, 9000)
            (status,) = await says(app, "/status")
            assert "`main` spent today: all: 18 tokens, $0.0001 of $1.50; chat: " in status
            (context,) = await says(app, "/context")
            assert "- cost so far: $0.0" in context
