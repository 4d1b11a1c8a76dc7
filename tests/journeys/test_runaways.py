"""A model that runs away in one chat is stopped by its own limit, and other chats do not notice."""

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry, ToolCall, Usage, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.errors import ModelFloodError
from tests.crash.faults import Steps
from tests.crash.platform import Platform, telegram
from tests.crash.running import Secretary, answer_to, prepared, running
from tests.fakes.model import call, says
from tests.journeys.house import OWNER
from workspaces.access import AgentId

QUICK = -1
LIMITS = """
[limits]
steps = 6
tokens = 5000
calls = 8
turn_s = 0.5
"""
WAYS = {
    "steps": "turn_steps",
    "tokens": "turn_tokens",
    "time": "turn_time",
    "repeats": "turn_repeats",
    "circle": "turn_circle",
    "calls": "turn_calls",
    "output": "turn_output",
}
"""What the model does when it is asked to run away so, and the limit that it meets."""


class Runaway(Secretary):
    """Runs away as the latest message says, and does what a `Secretary` does for every other one."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        last = max(i for i, entry in enumerate(request.entries) if isinstance(entry, UserEntry))
        asked = request.entries[last]
        words = asked.text.split() if isinstance(asked, UserEntry) else []
        if words[:1] != ["run"]:
            return await super().reply(request, on_text)
        step = sum(isinstance(entry, ReplyEntry) for entry in request.entries[last:])
        return await self._away(words[1], step)

    async def _away(self, way: str, step: int) -> ReplyEntry:
        match way:
            case "time":
                await asyncio.Event().wait()
            case "output":
                raise ModelFloodError(400_000)
            case "tokens":
                return says("", _look(step), usage=Usage(2_000, 1_000))
            case "calls":
                return says("", *map(_look, range(9)))
            case "repeats":
                return says("", _look(0))
            case "circle":
                return says("", _look(step % 2))
        return says("", _look(step))


def _look(number: int) -> ToolCall:
    return call("read_file", path=f"{number}.md")


async def quick_answers(platform: Platform, first: int, last: int) -> list[float]:
    """Say something, wait for the answer, and again; return how long each took, in seconds."""
    took = []
    for number in range(first, last):
        began = time.perf_counter()
        platform.says(str(number), QUICK)
        await platform.has_shown({answer_to(number)}, 20)
        took.append(time.perf_counter() - began)
    return sorted(took)


def p95(took: list[float]) -> float:
    return took[int(len(took) * 0.95) - 1]


async def test_every_way_to_run_away_has_its_own_end_and_hurts_nobody_else(tmp_path: Path) -> None:
    """Each is told in one sentence and counted under its code; meanwhile a group is answered as fast as before."""
    stop = asyncio.Event()
    async with telegram(groups=1) as platform:
        home = prepared(tmp_path / "home", platform)
        home.write(home.config_file, home.config_file.read_text("utf-8") + LIMITS)
        async with running(home, Steps(), stop) as app:
            agents = cast("MutableMapping[AgentId, Agent]", app.desk.agents)
            agents[app.desk.default_agent] = replace(agents[app.desk.default_agent], model=Runaway())
            alone = p95(await quick_answers(platform, 100, 120))
            for way in [*WAYS] * 2:
                platform.says(f"run {way}", OWNER)
            beside = p95(await quick_answers(platform, 200, 220))
            platform.says("300", OWNER)  # its chat goes on, after all that came before
            await platform.has_shown({answer_to(300)}, 30)
            reasons = (await app.desk.status()).reasons
            stop.set()
    stopped = [text for text in platform.shown(OWNER) if text.startswith("I stopped: ")]
    assert len(stopped) == 2 * len(WAYS)
    assert {code: reasons.get(f"limit.{code}") for code in WAYS.values()} == dict.fromkeys(WAYS.values(), 2)
    print(f"p95 {alone:.3f} s alone, {beside:.3f} s beside")
    assert beside < max(3 * alone, 0.5)
