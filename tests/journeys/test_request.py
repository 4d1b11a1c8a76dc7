"""What a model is sent for the smallest message stays small, with every tool of the owner's own chat in it."""

import json
from pathlib import Path

from gateway.control.stream_wire import ChatOrder
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import make_home, openai_section, running

MOST_BYTES = 7_000


async def ignore(_: str, __: bool) -> None:
    """Nobody reads the answer."""


async def test_hello_costs_little(tmp_path: Path) -> None:
    """The whole request of a new home: prompt files, tools, message; the history tools are there from the first."""
    async with OpenAIStub(lambda _: "Hi.") as model:
        async with running(make_home(tmp_path / "home", model=openai_section(model.url))) as app:
            await app.operator.chat(ChatOrder("hello"), ignore)
        request = model.bodies[0]
    tools = {tool["function"]["name"] for tool in request["tools"]}
    assert {"git_log", "git_restore", "save_memory", "update_memory", "schedule", "spawn"} <= tools
    size = len(json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode())
    assert 2_000 < size <= MOST_BYTES, size
