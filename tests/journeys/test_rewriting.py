"""With `[memory] rewrite`, a search of the model's also goes by the sub-questions that it makes."""

import json
from pathlib import Path

import pytest

from gateway.control.wire import ChatOrder
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply
from tests.journeys.house import make_home, openai_section, running

QUESTION = "Which instruments do Ann and Ben play?"


async def ignore(_: str, __: bool) -> None:
    """Nobody reads the answer."""


def script(body: Body) -> Reply | str:
    """Search once, make sub-questions when asked to, and then answer."""
    if not body.get("tools"):
        return "Ann cello\nBen horn"
    if body["messages"][-1]["role"] == "tool":
        return "They play."
    return Reply(calls=(Call("memory_search", json.dumps({"query": QUESTION}), "c1"),))


@pytest.mark.parametrize("setting", ["on", "off"])
async def test_a_search_of_the_model_is_rewritten_where_it_is_wanted(tmp_path: Path, setting: str) -> None:
    """One short request between two of the turn's, which holds the question alone; none where it is off."""
    async with OpenAIStub(script) as stub:
        home = make_home(tmp_path / "home", model=openai_section(stub.url))
        config = home.config_file.read_text("utf-8")
        home.write(home.config_file, f'{config}\n[memory]\nrewrite = "{setting}"\n')
        (home.agent("main").workspace / "MEMORY.md").write_text("- Ann has a cello\n", "utf-8")
        async with running(home) as app:
            await app.operator.chat(ChatOrder("what do my friends play?"), ignore)
        rewriting = [body for body in stub.bodies if not body.get("tools")]
    assert len(rewriting) == (1 if setting == "on" else 0)
    for body in rewriting:
        assert [message["content"] for message in body["messages"] if message["role"] != "system"] == [QUESTION]
        assert "cello" not in json.dumps(body)
    found = stub.bodies[-1]["messages"][-1]["content"]
    assert ("also searched for: Ann cello, Ben horn" in found) == (setting == "on")
    assert "Ann has a cello" in found
