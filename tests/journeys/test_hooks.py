"""Events and decisions of the owner's hooks, in a whole gateway."""

import asyncio
import json
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from adapters.channel import Address, OutboundMessage
from gateway.agent.agent import Agent
from gateway.app.app import App
from gateway.control.status_wire import StatusOrder
from gateway.home import Home
from gateway.hooks import EVENTS
from gateway.sessions.hook_events import WITHHELD
from tests.fakes.model import ScriptedModel
from tests.gateway.hooks.folder import program, put
from tests.journeys.house import make_home, running
from workspaces.access import AgentId

MAIN = AgentId("main")
DOCS = Path(__file__).parent.parent.parent / "docs" / "hooks.md"
HEARS = """
import json, pathlib
from gateway.hooks import EVENTS, on
from gateway.hooks.programs import as_json

def hear(name):
    def heard(payload):
        with pathlib.Path({path!r}).open("a") as file:
            file.write(json.dumps([name, as_json(payload)]) + "\\n")
    return heard

for each in EVENTS:
    globals()["heard_" + each.name] = on(each)(hear(each.name))
"""
FAILS = "from gateway.hooks import {event}, on\n@on({event})\ndef fails(event): raise KeyError('x')\n"


async def said(app: App, *texts: str) -> list[str]:
    """What the owner's terminal shows for *texts*."""
    heard: list[str] = []

    async def listens(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    terminal = app.operator.conversation.terminals[MAIN]
    with terminal.attach(listens):
        for text in texts:
            await terminal.say(text)
            await app.parts.lanes.idle()
            rows = await app.parts.resources.home.store.outbox.unfinished()
            await asyncio.gather(*(app.parts.delivery.finished(row.id) for row in rows))
    return heard


def told(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines():
        name, payload = json.loads(line)
        found.setdefault(name, []).append(payload)
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path / "home")


async def reasons(app: App) -> dict[str, int]:
    return dict((await app.operator.ask(StatusOrder())).reasons)


async def test_a_day_is_heard_from_start_to_stop(home: Home, tmp_path: Path) -> None:
    """Each event where it happens, with what it is about; a summary is none of this day."""
    put(home.hooks, "hears.py", HEARS.format(path=str(tmp_path / "heard")))
    async with running(home) as app:
        await said(app, "remember that the tea is green", "/new", "hello")
    heard = told(tmp_path / "heard")
    assert set(heard) == {event.name for event in EVENTS} - {"before_compaction", "after_compaction"}
    where = {"agent": "main", "session": "main/main", "session_type": "main"}
    assert [each["text"] for each in heard["message_received"]] == ["remember that the tea is green", "/new", "hello"]
    assert heard["message_received"][0]["place"]["channel"] == "terminal"
    assert heard["command:*"] == [{"conversation": where, "name": "new", "arguments": "", "by_owner": True}]
    (calls,) = (heard["before_tool_call"],)
    assert "green" in calls[0]["arguments"]
    assert [each["tool"] for each in heard["after_tool_call"]] == [each["tool"] for each in calls]
    assert [each["outcome"] for each in heard["agent_end"]] == ["answered", "answered"]
    assert heard["session_start"] == [{"conversation": where}] * 2
    assert [each["reason"] for each in heard["session_end"]] == ["new"]
    assert [each["text"] for each in heard["message_sent"]] == [each["text"] for each in heard["message_sending"]]
    assert heard["gateway_start"] == heard["gateway_stop"] == [{"agents": ["main"]}]


async def test_an_answer_is_changed_or_cancelled_before_it_is_stored(home: Home) -> None:
    """By a program; what was cancelled is silence, counted."""
    program(
        home.hooks,
        "message_sending.d/sign",
        'grep -q secret && echo \'{"is_cancelled": true}\' || echo \'{"text": "x"}\'',
    )
    async with running(home) as app:
        assert await said(app, "hello", "remember that the secret is green") == ["x"]
        assert (await reasons(app))["hook_cancelled"] == 1


async def test_an_answer_that_no_hook_could_look_at_is_kept_back(home: Home) -> None:
    """The chat gets one constant sentence, the ledger the name."""
    put(home.hooks, "bad.py", FAILS.format(event="MESSAGE_SENDING"))
    async with running(home) as app:
        assert await said(app, "remember that the tea is green") == [WITHHELD]
        assert (await reasons(app))["hook_failed.bad.py:fails"] == 1


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_no_draft_is_shown_of_an_answer_that_a_hook_looks_at(home: Home, is_looked_at: bool) -> None:
    """What it may change or cancel is nowhere before; without such a hook an answer is shown while it grows."""
    if is_looked_at:
        program(home.hooks, "message_sending.d/looks", "cat > /dev/null")
    drafts: list[str] = []
    async with running(home) as app:
        agents = cast("MutableMapping[AgentId, Agent]", app.parts.resources.agents)
        agents[MAIN] = structs.replace(agents[MAIN], model=ScriptedModel("The tea is green."))
        with app.parts.resources.channels.presence.follow(
            Address("terminal", MAIN, "owner"), lambda _, text: drafts.append(text)
        ):
            assert await said(app, "what is the tea?") == ["The tea is green."]
    assert bool(drafts) is not is_looked_at


async def test_no_model_is_asked_where_a_hook_of_the_prompt_fails(home: Home) -> None:
    """The turn ends in a plain sentence, and the next one is tried anew."""
    put(home.hooks, "bad.py", FAILS.format(event="BEFORE_AGENT_START"))
    async with running(home) as app:
        (sentence,) = await said(app, "hello")
        assert "so I did not answer" in sentence
        assert await said(app, "/whoami") != [sentence]


async def test_hooks_that_look_on_and_fail_cost_a_chat_nothing(home: Home) -> None:
    """All of them at once; each is counted by its name."""
    looking = [event for event in EVENTS if not event.decides and event.for_programs]
    for event in looking:
        program(home.hooks, f"{event.name.replace(':*', '')}.d/bad", "exit 1")
    async with running(home) as app:
        assert len(await said(app, "remember that the tea is green", "/new")) == 2
        await app.parts.resources.hooks.finish(20)
        counted = await reasons(app)
    assert counted["hook_failed.message_received.d/bad"] == 2
    assert counted["hook_failed.command.d/bad"] == 1
    assert "turn_failed" not in counted


async def test_an_owners_compact_is_refused_with_the_hooks_reason(home: Home) -> None:
    """And nothing is summarised."""
    program(home.hooks, "before_compaction.d/no", 'echo \'{"refused": "not before the backup"}\'')
    async with running(home) as app:
        answers = await said(app, *(f"hello {number}" for number in range(5)), "/compact")
        assert answers[-1] == "not summarised now; blocked by the owner's hook: not before the backup"
        assert (await reasons(app))["hook_refused"] == 1


async def test_without_a_hook_nothing_is_built(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn makes no payload and starts no thread for anybody."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was made for nobody")

    for name in ("AgentEnd", "MessageReceived", "MessageSending", "MessageSent", "SessionStart", "SessionRest"):
        monkeypatch.setattr(f"gateway.sessions.hook_events.{name}", never)
    monkeypatch.setattr("gateway.agent.tool_hooks.HookedCalls", never)
    monkeypatch.setattr("gateway.agent.prompt_files.AgentStart", never)
    monkeypatch.setattr("gateway.commands.registry.CommandGiven", never)
    async with running(home) as app:
        assert len(await said(app, "remember that the tea is green", "/new")) == 2


async def test_the_examples_of_the_docs_do_what_they_say(home: Home) -> None:
    """The functions and the program, as they are printed."""
    functions, printed = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    put(home.hooks, "house_rules.py", functions)
    put(home.hooks, "message_sending.d/10-sign", printed, 0o700)
    async with running(home) as app:
        (answer,) = await said(app, "remember that the card is 4111 1111 1111 1111")
        assert "4111" not in answer
        assert "hook_failed" not in str(await reasons(app))
