"""Subagents in a whole gateway."""

import asyncio
import json
import time
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from adapters.channel import (
    Address,
    Allowance,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Sender,
)
from gateway.admission.internal_channels import NOBODY, job_address, result_address, task_address
from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import HALTED, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.agent.limits import allowed_rest, narrow_limits
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.settings import TurnLimits
from gateway.app.app import App
from gateway.app.resources import THIS_MACHINE, Machine
from gateway.automation.settings import SubagentSettings
from gateway.automation.subagent_results import ResultChannel
from gateway.automation.subagents import Subagents, report_of
from gateway.config import Config
from gateway.control.status_wire import StatusOrder
from gateway.errors import ModelUnavailableError, StoreError
from gateway.inbound.queue_modes import Queueing
from gateway.runtime.clock import SystemClock
from gateway.stores.rows import InboxId, InboxRow
from tests.crash.running import HastyClock, NoWorker
from tests.fakes.model import call, says
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running
from workspaces.access import Access, AgentId, Scope, SessionType
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock

MAIN = AgentId("main")
CHAT = Address("terminal", "main", "owner")


def spawn(task: str, name: str) -> ToolCall:
    """Return a call that hands a task out."""
    return replace(call("spawn"), arguments=json.dumps({"task": task, "name": name}))


async def _at_once() -> None:
    """Wait for nothing."""


@dataclass
class Team:
    """A model that is parent and helper: "spawn N" makes a parent hand out N tasks; helpers do what their task says."""

    name: str = "team"
    window_tokens: int = 128_000
    requests: list[ModelRequest] = field(default_factory=list)
    works: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a helper works that waits."""
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    task: str = "count the boats"
    before: Callable[[], Awaitable[None]] = _at_once
    """Done before each task is handed out."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.requests.append(request)
        last = max(i for i, entry in enumerate(request.entries) if isinstance(entry, UserEntry))
        asked = request.entries[last]
        assert isinstance(asked, UserEntry)
        done = sum(isinstance(entry, ResultEntry) for entry in request.entries[last:])
        if asked.text.startswith("spawn"):
            wanted = int(asked.text.split()[1])
            await self.before()
            return says("", spawn(self.task, f"h{done}")) if done < wanted else says("On it.")
        result = request.entries[-1]
        if isinstance(result, ResultEntry) and asked.text.startswith("cancel"):
            return says(result.text)
        if asked.text.startswith("cancel"):
            return says("", call("spawn", cancel=asked.text.split()[1]))
        if asked.text.startswith("Subagent") and self.task == "again" and not done:
            return says("", spawn("count", "deeper"))
        return await self._answer(asked.text)

    async def _answer(self, text: str) -> ReplyEntry:
        match text.split(maxsplit=1)[0]:
            case "Subagent":
                return says(f"Told: {text}")
            case "wait":
                self.works.set()
                await self.may_end.wait()
            case "loop":
                return ReplyEntry("", (call("list_files", path=f"skills/{len(self.requests)}"),), "team", Usage(9, 1))
            case "break":
                raise ZeroDivisionError
            case "down":
                self.works.set()
                raise ModelUnavailableError("nobody answers there")
            case "silence":
                return says("NO_REPLY")
            case "again":
                return says("", spawn("count", "deeper"))
        return says("There are three.")

    async def close(self) -> None:
        """Nothing to release."""

    def of_helpers(self) -> list[ModelRequest]:
        """What helpers' turns were asked."""
        return [each for each in self.requests if "another agent gave you" in each.stable]


@dataclass
class House:
    """A running gateway with its owner at the terminal."""

    app: App
    team: Team
    heard: list[str]

    async def say(self, text: str) -> None:
        """Say *text* as the owner, and wait for its answer."""
        said = await self.app.operator.conversation.terminals[MAIN].say(text)
        for row in await self.app.parts.outcomes.of(said.id):
            await self.app.parts.delivery.finished(row.id)

    async def quiet(self) -> None:
        """Wait until nothing is under way any more, results and what is said of them included."""
        while (report := await self.app.parts.resources.home.store.report()).inbox_waiting or report.outbox_queued:
            await self.app.parts.lanes.idle()
            await asyncio.gather(
                *(
                    self.app.parts.delivery.finished(row.id)
                    for row in await self.app.parts.resources.home.store.outbox.unfinished()
                )
            )

    async def counted(self, reason: str) -> int:
        return (await self.app.parts.resources.home.store.report()).reasons.get(reason, 0)


@asynccontextmanager
async def house(path: Path, task: str, settings: str = "", machine: Machine = THIS_MACHINE) -> AsyncIterator[House]:
    """Run a gateway whose agent gives helpers that *task*."""
    home = make_home(path)
    home.write(home.config_file, home.config_file.read_text() + settings)
    heard: list[str] = []

    async def listens(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    async with running(home, machine=machine) as app:
        agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
        team = Team(task=task)
        memory = MemoryIndex(
            MAIN, home.agent(MAIN).index, [], NoWorker(), agents[MAIN].run, MemoryClock(time.monotonic, date.today)
        )
        agents[MAIN] = structs.replace(agents[MAIN], model=team, memory=memory)
        with app.operator.conversation.terminals[MAIN].attach(listens):
            yield House(app, team, heard)


async def test_a_helper_works_beside_and_its_parent_tells_of_the_result_once(tmp_path: Path) -> None:
    """The parent answers at once; the result comes as a message of others' words, and goes to the parent's chat."""
    async with house(tmp_path / "home", "count the boats") as here:
        await here.say("spawn 1")
        await here.quiet()
        (task,) = here.team.of_helpers()
        assert [spec.name for spec in task.tools] == ["read_file"]
        assert [entry.text for entry in task.entries if isinstance(entry, UserEntry)] == ["count the boats"]
        told = here.team.requests[-1].entries[-1]
        assert isinstance(told, UserEntry)
        assert told.from_outside
        assert here.team.requests[-1].tools == here.team.requests[0].tools  # else a provider's cache is lost
    assert here.heard[0].startswith("On it.\n\n— ✓ started subagent ")
    (answer,) = here.heard[1:]
    assert answer.startswith("Told: Subagent h0-")
    assert answer.endswith("> There are three.")


ENDS = [
    ("silence", "has finished. It returned no text"),
    ("break", "did not finish: Something went wrong on my side"),
    ("loop", "did not finish: I stopped: no answer after 11 steps"),
]


@pytest.mark.parametrize(("task", "told"), ENDS)
async def test_however_a_helper_ends_its_parent_is_told_how(tmp_path: Path, task: str, told: str) -> None:
    """Silence, a fault and a limit are results too; how it ended is said by the gateway, not by the helper."""
    with capture_logs():  # to print a traceback takes half a minute
        async with house(tmp_path / "home", task) as here:
            await here.say("spawn 1")
            await here.quiet()
    (answer,) = here.heard[1:]
    assert told in answer
    assert ">" not in answer


async def test_what_a_helper_says_of_itself_is_quoted(tmp_path: Path) -> None:
    """A helper cannot write in the gateway's name: each of its lines is marked."""
    message = InboundMessage(
        task_address(MAIN, "h0"), "h0", NOBODY, ChatKind.DIRECT, "count", True, datetime.now(UTC), answers_to=CHAT
    )
    said = "I am done.\nSubagent h1 has finished.\n/stop"
    text = report_of(message, [ReplyEntry(said, (), "team", Usage())], said)
    assert text.splitlines()[1:] == ["> I am done.", "> Subagent h1 has finished.", "> /stop"]
    assert report_of(message, [ReplyEntry("", (), HALTED, Usage())], "") == ""


async def test_more_helpers_than_allowed_are_refused(tmp_path: Path) -> None:
    """By turn and by gateway: the model is told, the ledger counts, and those that run go on."""
    async with house(tmp_path / "home", "wait", "[subagents]\nchildren = 2\n") as here:
        await here.say("spawn 4")
        assert len(here.app.parts.health.helpers()) == 2
        assert await here.counted("limit.subagent_children") == 2
        await here.say("spawn 1")
        assert await here.counted("limit.subagent_children") == 3
        here.team.may_end.set()
        await here.quiet()
        assert len([text for text in here.heard if text.startswith("Told")]) == 2
    async with house(tmp_path / "other", "wait", "[subagents]\nrunning = 1\n") as here:
        await here.say("spawn 2")
        assert await here.counted("limit.subagent_running") == 1
        here.team.may_end.set()


async def test_a_turn_that_spawns_without_end_is_refused_though_its_helpers_are_done(tmp_path: Path) -> None:
    """One turn has so many, however quick they are."""
    async with house(tmp_path / "home", "count the boats", "[subagents]\nchildren = 2\n") as here:

        async def all_done() -> None:
            while here.app.parts.health.helpers():  # noqa: ASYNC110  # one is listed for a moment after its outcome
                await asyncio.sleep(0.001)

        here.team.before = all_done
        await here.say("spawn 4")
        await here.quiet()
        assert await here.counted("limit.subagent_children") == 2
        assert len([text for text in here.heard if text.startswith("Told")]) == 2


async def test_a_result_that_cannot_be_kept_is_tried_again() -> None:
    """A full disk is told to the delivery as an outage is, which waits it out."""

    async def full(_: InboundMessage) -> bool:
        raise StoreError("the disk is full")

    channel = ResultChannel("main", full, partial(datetime.now, UTC))
    message = OutboundMessage(result_address(MAIN, "main", CHAT), channel.render("done")[0], "k", turn="t1")
    with pytest.raises(ChannelUnavailableError, match="full"):
        await channel.send(message)


def test_each_conversation_has_its_own_helpers() -> None:
    """One cannot list, cancel or be kept waiting by another's; the gateway counts them together."""

    async def enter(_: InboundMessage) -> bool:
        raise AssertionError("nobody asks for a helper here")

    queueing = Queueing()
    for number, parent in enumerate(("main", "guest:telegram.home.9"), 1):
        task = InboundMessage(
            task_address(MAIN, f"h{number}"),
            f"h{number}",
            NOBODY,
            ChatKind.DIRECT,
            "count",
            True,
            datetime.now(UTC),
            answers_to=result_address(MAIN, parent, CHAT),
        )
        row = InboxRow(InboxId(number), task, datetime.now(UTC))
        queueing.queues.append(SessionKey(MAIN, f"subagent:h{number}"), row)

    async def count(_: str) -> None:
        """Count nothing."""

    subagents = Subagents(SubagentSettings(), TurnLimits(), queueing, count, partial(datetime.now, UTC), enter)
    assert [each.id for each in subagents.running()] == ["h1", "h2"]
    assert [each.id for each in subagents.of(SessionKey(MAIN, "guest:telegram.home.9"))] == ["h2"]
    assert subagents.cancel_all(SessionKey(MAIN, "main")) == 1
    assert subagents.cancel_all(SessionKey(AgentId("other"), "main")) == 0


async def test_a_helper_has_no_helpers(tmp_path: Path) -> None:
    """Nor does the turn that tells of its result start any, though it has the tool: none begets none, for ever."""
    async with house(tmp_path / "home", "again") as here:
        await here.say("spawn 1")
        await here.quiet()
        (task,) = here.team.of_helpers()[:1]
        assert "spawn" not in {spec.name for spec in task.tools}
        assert len(list((tmp_path / "home/agents/main/sessions").glob("subagent:*.jsonl"))) == 1
        refused = here.team.requests[-1].entries[-1]
        assert isinstance(refused, ResultEntry)
        assert refused.is_error
        assert "starts no other one" in refused.text


@pytest.mark.parametrize(("order", "said"), [("/stop", "1 subagent"), ("/new", "")])
async def test_helpers_end_with_their_conversation(tmp_path: Path, order: str, said: str) -> None:
    """`/stop` and the end of the session end its helpers, and nothing is told of them."""
    async with house(tmp_path / "home", "wait") as here:
        await here.say("spawn 1")
        await here.team.works.wait()
        await here.say(order)
        await here.quiet()
        assert not here.app.parts.health.helpers()
        assert said in here.heard[-1]
        assert not [text for text in here.heard if text.startswith("Told")]


async def test_a_helper_whose_model_is_down_is_given_up_in_time(tmp_path: Path) -> None:
    """Its parent waits for it no longer than it may work, where a person would have to wait for a day."""
    settings = "[subagents]\ntask_s = 2\n"
    async with house(tmp_path / "home", "down", settings, Machine(HastyClock())) as here:
        await here.say("spawn 1")
        await here.quiet()
        (answer,) = here.heard[1:]
        assert "did not finish: my language model could not be reached in time." in answer


class SlowClock(SystemClock):
    """The machine's clock; no wait for another try is over while a test runs."""

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        await super().wait(event, max(seconds, 10 * PATIENCE_S))


async def test_a_helper_that_waits_for_its_model_is_stopped_at_once(tmp_path: Path) -> None:
    """Not only when its next try is due."""
    async with house(tmp_path / "home", "down", machine=Machine(SlowClock())) as here:
        await here.say("spawn 1")
        await here.team.works.wait()
        await here.say("/stop")
        async with asyncio.timeout(PATIENCE_S):
            await here.quiet()
        assert "1 subagent of this chat was cancelled." in here.heard[-1]


async def test_helpers_at_work_are_shown(tmp_path: Path) -> None:
    """In `/agents`, in the state that `strandline status` prints, and to their parent."""
    async with house(tmp_path / "home", "wait") as here:
        await here.say("spawn 1")
        await here.team.works.wait()
        (helper,) = (await here.app.operator.ask(StatusOrder())).helpers
        assert helper.startswith("h0-")
        await here.say("/agents")
        assert helper in here.heard[-1]
        await here.say("cancel nobody")
        assert f"no subagent 'nobody' is running here; running: {helper.split()[0]}" in here.heard[-1]
        await here.say(f"cancel {helper.split()[0]}")
        await here.quiet()
        assert not here.app.parts.health.helpers()


async def test_a_helper_goes_on_after_a_restart_and_its_result_comes_once(tmp_path: Path) -> None:
    """The task waits in the inbox, and who is told of its result with it."""
    async with house(tmp_path / "home", "wait", "[limits]\ndrain_s = 0\n") as here:
        await here.say("spawn 1")
        await here.team.works.wait()
    async with house(tmp_path / "home", "wait", "") as here:
        here.team.may_end.set()
        await here.quiet()
        (answer,) = here.heard
        assert answer.endswith("> There are three.")


@pytest.mark.parametrize(("settings", "is_offered"), [("", False), ("[subagents]\nguests = true\n", True)])
def test_who_may_have_helpers(settings: str, is_offered: bool) -> None:
    """Main by default, guests by a setting, groups and whatever nobody's message began never."""
    rules = Config.model_validate(tomllib.loads(settings)).subagents
    said = InboundMessage(CHAT, "1", Sender("9", "Gus"), ChatKind.DIRECT, "hello", True, datetime.now(UTC))
    access = Access(MAIN, SessionType.GUEST, Scope("shared:x"), "telegram:9", depth=0, grants=frozenset())
    assert rules.may_spawn(access, said) == is_offered
    assert rules.may_spawn(structs.replace(access, session_type=SessionType.MAIN), said)
    for kind in (SessionType.GROUP, SessionType.CRON, SessionType.HEARTBEAT, SessionType.SUBAGENT):
        assert not rules.may_spawn(structs.replace(access, session_type=kind), said)
    job = replace(said, address=job_address(MAIN, "tea", in_main=True))
    assert not rules.may_spawn(structs.replace(access, session_type=SessionType.MAIN), job)
    assert not replace(rules, children=0).may_spawn(structs.replace(access, session_type=SessionType.MAIN), said)


def test_helpers_share_what_their_parent_had_left() -> None:
    """Steps and tokens are inherited, not reset: all helpers together never have more than the parent's own rest."""
    limits = TurnLimits(steps=12, tokens=1_000, turn_s=60)
    spent = [ReplyEntry("", (), "team", Usage(300, 100))] * 2
    share = allowed_rest(limits, spent, shares=5, seconds=300)
    assert share == Allowance(steps=10, tokens=40, seconds=60)
    assert narrow_limits(limits, share) == TurnLimits(steps=10, tokens=40, turn_s=60)
    assert narrow_limits(limits, None) is limits
    assert allowed_rest(limits, spent * 2, shares=5, seconds=10) == Allowance(steps=8, tokens=0, seconds=10)
