"""Each request of a conversation begins with all of the one before it, so that a provider's prompt cache holds."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.admission.routing import SessionKey
from gateway.agent.models.messages import NOTE
from gateway.app.app import App
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from gateway.sessions.due import Pause
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import make_home, openai_section, running
from workspaces.access import AgentId

MAIN = SessionKey(AgentId("main"), "main")
KEY_AT = "The spare key of the harbour house hangs behind the clock."
LONG = "\n".join(f"Line {number} of the plan for the harbour house." for number in range(300))
TALK = (
    "Where does the spare key of the harbour house hang?",
    "read the plan",
    "note that the boat is blue",
    "What did we say about the spare key?",
    "read the plan",
    "thanks",
)


class Working:
    """A model that does as it is told, by tools."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, body: Body) -> Step:
        last = body["messages"][-1]
        text = str(last["content"])
        if last["role"] == "tool":
            return "Done."
        if PROMPT in text:
            return self._call("add_note", text=f"Noted at rest {self.number}.")
        if text.endswith("read the plan"):
            return self._call("read_file", path="plan.md")
        if "note that" in text:
            return self._call("add_note", text=text.rpartition("note that ")[2])
        return "I see."

    def _call(self, name: str, **arguments: str) -> Reply:
        self.number += 1
        return Reply(calls=(Call(name, json.dumps(arguments), f"call_{self.number}"),))


def home_at(path: Path, model: OpenAIStub) -> Home:
    home = make_home(path, model=f"{openai_section(model.url)}\nwindow_tokens = 128000")
    workspace = home.path / "agents" / "main" / "workspace"
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    (workspace / "memory" / "2020-03-01.md").write_text(f"# 2020-03-01\n\n- {KEY_AT}\n", "utf-8")
    (workspace / "plan.md").write_text(LONG, "utf-8")
    return home


async def unread(_: str, __: bool) -> None:
    """Nobody reads the answer."""


async def say(app: App, *texts: str) -> None:
    for text in texts:
        await app.operator.chat(ChatOrder(text), unread)


def begin_alike(bodies: Sequence[Body]) -> None:
    """Check that each of *bodies* goes on where the one before ended."""
    for before, after in pairwise(bodies):
        assert after["tools"] == before["tools"]
        assert after["messages"][: len(before["messages"])] == before["messages"]


def asks_for_notes(body: Body) -> bool:
    return any(prompt in str(each["content"]) for each in body["messages"] for prompt in (PROMPT, AGAIN))


async def test_a_request_begins_with_the_one_before_with_tools_notes_a_rest_and_a_restart(tmp_path: Path) -> None:
    """All of it, byte for byte: system prompt, tools, messages, results, and what was brought up for each message."""
    async with OpenAIStub(Working()) as model:
        home = home_at(tmp_path / "home", model)
        async with running(home) as app:
            await say(app, *TALK)
            before = len(model.bodies)
            await app.parts.lifecycle.pause_session(MAIN, Pause.REST)
            assert len(model.bodies) > before, "notes were saved"
            await say(app, "and now?", "read the plan")
        async with running(home) as app:
            await say(app, "hello again", "note that the oars are red")
        assert model.problems == []
    turns = [body for body in model.bodies if not asks_for_notes(body)]
    begin_alike(turns)
    said = [str(each["content"]) for each in turns[-1]["messages"] if each["role"] == "user"]
    assert [text.count(NOTE) for text in said] == [1] * (len(TALK) + 4)
    told = [line for text in said for line in text.split("\n") if line.startswith("> - ")]
    assert len(told) == len({*told}) > 1, "the day's notes reach the model, each line once"
    assert any("the boat is blue" in line for line in told)


@pytest.mark.parametrize("ends", [False, True], ids=["rest", "/new"])
async def test_notes_are_saved_on_the_conversations_own_prefix(tmp_path: Path, ends: bool) -> None:
    """The flush is the last request, its answer, and one instruction; tools and system prompt are the same.

    A command that ends the conversation, and is being carried out, is no part of it.
    """
    async with OpenAIStub(Working()) as model, running(home_at(tmp_path / "home", model)) as app:
        await say(app, *TALK)
        last = model.bodies[-1]
        if ends:
            await say(app, "/new")
        else:
            await app.parts.lifecycle.pause_session(MAIN, Pause.REST)
    flush = next(body for body in model.bodies if asks_for_notes(body))
    assert flush["tools"] == last["tools"]
    assert flush["messages"][: len(last["messages"])] == last["messages"]
    assert [each["role"] for each in flush["messages"][len(last["messages"]) :]] == ["assistant", "user"]
