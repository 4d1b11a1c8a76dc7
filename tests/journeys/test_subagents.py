"""This file checks, in a whole gateway, the helpers that an agent hands tasks to."""

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from adapters.channel import Address, OutboundMessage
from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.app import App
from tests.fakes.model import call, says
from tests.journeys.house import make_home, running
from workspaces.access import AgentId

MAIN = AgentId("main")
CHAT = Address("terminal", "main", "owner")


def spawn(task: str, name: str) -> ToolCall:
    """Return a call that hands a task out."""
    return replace(call("spawn"), arguments=json.dumps({"task": task, "name": name}))


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

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.requests.append(request)
        last = max(i for i, entry in enumerate(request.entries) if isinstance(entry, UserEntry))
        asked = request.entries[last]
        assert isinstance(asked, UserEntry)
        done = sum(isinstance(entry, ResultEntry) for entry in request.entries[last:])
        if asked.text.startswith("spawn"):
            wanted = int(asked.text.split()[1])
            return says("", spawn(self.task, f"h{done}")) if done < wanted else says("On it.")
        return await self._answer(asked.text)

    async def _answer(self, text: str) -> ReplyEntry:
        match text.split(maxsplit=1)[0]:
            case "Helper":
                return says(f"Told: {text}")
            case "wait":
                self.works.set()
                await self.may_end.wait()
            case "loop":
                return ReplyEntry("", (call("list_files", path=f"skills/{len(self.requests)}"),), "team", Usage(9, 1))
            case "break":
                raise ZeroDivisionError
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
        said = await self.app.desk.terminals[MAIN].say(text)
        for row in await self.app.desk.outcomes.of(said):
            await self.app.delivery.finished(row.id)

    async def quiet(self) -> None:
        """Wait until nothing is under way any more, results and what is said of them included."""
        while (report := await self.app.desk.store.report()).inbox_waiting or report.outbox_queued:
            await self.app.lanes.idle()
            await asyncio.gather(
                *(self.app.delivery.finished(row.id) for row in await self.app.desk.store.outbox.unfinished())
            )

    async def counted(self, reason: str) -> int:
        return (await self.app.desk.store.report()).reasons.get(reason, 0)


@asynccontextmanager
async def house(path: Path, task: str, settings: str = "") -> AsyncIterator[House]:
    """Run a gateway whose agent gives helpers that *task*."""
    home = make_home(path)
    home.write(home.config_file, home.config_file.read_text() + settings)
    heard: list[str] = []

    async def listens(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    async with running(home) as app:
        agents = cast("MutableMapping[AgentId, Agent]", app.desk.agents)
        team = Team(task=task)
        agents[MAIN] = replace(agents[MAIN], model=team)
        with app.desk.terminals[MAIN].attach(listens):
            yield House(app, team, heard)


async def test_a_helper_works_beside_and_its_parent_tells_of_the_result_once(tmp_path: Path) -> None:
    """The parent answers at once; the result comes as a message of others' words, and goes to the parent's chat."""
    async with house(tmp_path / "home", "count the boats") as here:
        await here.say("spawn 1")
        await here.quiet()
        (task,) = here.team.of_helpers()
        assert [spec.name for spec in task.tools] == ["read_file", "list_files"]
        assert [entry.text for entry in task.entries if isinstance(entry, UserEntry)] == ["count the boats"]
        told = here.team.requests[-1].entries[-1]
        assert isinstance(told, UserEntry)
        assert told.from_outside
        assert "spawn" not in {spec.name for spec in here.team.requests[-1].tools}
    assert here.heard[0] == "On it."
    (answer,) = here.heard[1:]
    assert answer.startswith("Told: Helper h0-")
    assert answer.endswith("> There are three.")
