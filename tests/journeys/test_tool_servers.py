"""This file checks, in a whole gateway, that a model uses another program's tools, and what follows from that."""

import json
import sys
from pathlib import Path

import pytest

from gateway.agent.mcp import server
from gateway.control.wire import ChatOrder
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply
from tests.journeys.house import make_home, openai_section, running

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in Python takes seconds to start on a busy machine."""
    monkeypatch.setattr(server, "PATIENCE_S", 30)


def called(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, json.dumps(arguments), f"c_{name}"),))


async def answer(home_path: Path, section: str, *script: Reply | str) -> tuple[str, list[Body]]:
    """Return what the owner hears, and what the model was asked on the way."""
    steps = iter(script)
    heard: list[str] = []

    async def hear(text: str, _: bool) -> None:
        heard.append(text)

    async with OpenAIStub(lambda _: next(steps)) as stub:
        home = make_home(home_path, model=openai_section(stub.url))
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n{section}\n")
        async with running(home) as app:
            await app.desk.chat(ChatOrder("what does it say?"), hear)
        return heard[-1], stub.bodies


def fake(more: str = "") -> str:
    """A server that runs in the project's folder, whatever folder the gateway starts it in."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fakes.tool_server import main; main('')"
    return f"[mcp.fake]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(start)}]\n{more}"


async def test_what_a_tool_server_says_makes_a_turn_ask_before_it_writes_what_lasts(tmp_path: Path) -> None:
    """Its text is others' text: `save_memory` waits for the owner afterwards."""
    script = [called("fake_echo", text="keep this"), called("save_memory", text="keep this", category="notes"), "Done."]
    said, bodies = await answer(tmp_path / "home", fake(), *script)
    assert said == "Done."
    names = [tool["function"]["name"] for tool in bodies[0]["tools"]]
    assert {"fake_echo", "memory_search"} <= set(names)
    results = [each["content"] for each in bodies[-1]["messages"] if each["role"] == "tool"]
    assert "echo: keep this" in results[0]
    assert "waits for your owner's approval" in results[1]


async def test_a_tool_server_that_dies_in_the_middle_of_a_turn_costs_only_its_answer(tmp_path: Path) -> None:
    """The model hears of it, and the person gets an answer."""
    said, bodies = await answer(tmp_path / "home", fake(), called("fake_die"), "It broke off.")
    assert said == "It broke off."
    assert "fake broke off" in bodies[-1]["messages"][-1]["content"]


async def test_a_tool_server_that_is_not_there_holds_up_no_turn(tmp_path: Path) -> None:
    """Its tools are absent, the others are there, and `status` names what is wrong."""
    said, bodies = await answer(tmp_path / "home", '[mcp.gone]\ncommand = ["/nowhere/at-all"]', "Hello.")
    assert said == "Hello."
    names = [tool["function"]["name"] for tool in bodies[0]["tools"]]
    assert "memory_search" in names
    assert not [name for name in names if name.startswith("gone")]
