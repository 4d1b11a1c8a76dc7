"""A chat that is stuck holds up nobody else, and loses nothing that is said in it meanwhile."""

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import cast

from msgspec import structs

from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry
from gateway.agent.models.port import ModelRequest, OnText
from tests.crash import judge
from tests.crash.faults import Steps
from tests.crash.platform import telegram
from tests.crash.running import Secretary, answer_to, prepared, running, survive
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import OWNER
from workspaces.access import AgentId

STUCK = judge.Told(OWNER, "main", tuple((number, "") for number in range(1, 101)))
QUICK = judge.Told(-1, "group:telegram.home.-1", tuple((number, "") for number in range(201, 221)))


class Hesitant(Secretary):
    """Answers the first message only when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        said = await super().reply(request, on_text)
        if said.text == answer_to(1):
            await self.may_answer.wait()
        return said


async def test_a_stuck_chat_beside_a_quick_one(tmp_path: Path) -> None:
    """A hundred messages wait behind one that hangs; twenty that came after them, elsewhere, are answered first."""
    async with telegram(groups=1) as platform:
        home, model, stop = prepared(tmp_path / "home", platform), Hesitant(), asyncio.Event()
        async with running(home, Steps(), stop) as app:
            agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
            agents[app.operator.agents.default] = structs.replace(agents[app.operator.agents.default], model=model)
            STUCK.say(platform)
            QUICK.say(platform)
            await platform.has_shown({answer_to(number) for number, _ in QUICK.messages}, PATIENCE_S)
            assert judge.answers(platform, STUCK) == []
            model.may_answer.set()
            await platform.has_shown({answer_to(number) for number, _ in STUCK.messages}, PATIENCE_S)
            stop.set()
        await survive(home, platform)
        assert [judge.doubles(platform, told) for told in (STUCK, QUICK)] == [0, 0]
        judge.check_transcript(home, STUCK)
