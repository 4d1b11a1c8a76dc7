"""Two agents in one gateway: each has its files, its memory, its sessions, and no way to the other's."""

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.home import Home
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import running
from workspaces.access import PRIVATE, Access, AgentId, SessionType
from workspaces.history import LogQuery
from workspaces.workspace import Workspace

AGENTS = {"main": "heron-four-one", "work": "osprey-seven-two"}
FILES = ("MEMORY.md", "USER.md", "memory/2026-11-20.md", "memory/shared/telegram.home.-100/2026-11-20.md", "plan.md")


class Curious:
    """A model that calls every tool with all that could name the *other* agent, then says all that came back."""

    def __init__(self, other: str) -> None:
        self.other = other
        self.revisions: list[str] = []
        """Ids of the other's changes."""
        self.specs: list[dict[str, Any]] = []

    def __call__(self, body: Body) -> Step:
        told = [message for message in body["messages"] if message["role"] == "tool"]
        if told:
            return "\n".join(str(message["content"]) for message in told)[-3000:]
        self.specs = [tool["function"] for tool in body["tools"]]
        calls = dict.fromkeys(self._calls())
        return Reply(calls=tuple(Call(name, text, f"call_{number}") for number, (name, text) in enumerate(calls)))

    def _calls(self) -> Iterator[tuple[str, str]]:
        for spec in self.specs:
            fields = list(spec["parameters"]["properties"])
            for value in (*self._names(), *self.revisions):
                yield spec["name"], json.dumps(dict.fromkeys(fields, value))
                yield spec["name"], json.dumps({**dict.fromkeys(fields[:1], value), "agent": self.other})
            yield spec["name"], json.dumps(dict.fromkeys(fields[:1], "the secret"))

    def _names(self) -> Iterator[str]:
        yield from (self.other, f"../../{self.other}/sessions/main.jsonl", "sessions/main.jsonl", "MEMORY.md")
        for file in ("MEMORY.md", "plan.md"):
            yield from (f"../{self.other}/workspace/{file}", f"../../{self.other}/workspace/{file}")
        yield AGENTS[self.other].replace("-", " ")


def make_agents(path: Path, providers: dict[str, OpenAIStub]) -> Home:
    """Write a home with an agent for each provider, every private place of which holds its canary."""
    home = Home(path)
    home.create()
    lines = ['[owner]\ntime_zone = "Europe/Berlin"\n[memory]\ntranscripts = true\n']
    lines.append("[limits]\nidentical_calls = 50\ncalls = 10000\nturn_s = 3600\n")
    for agent, provider in providers.items():
        lines.append(
            f'[agents.{agent}]\nmodel = "{agent}"\n[models.{agent}]\nprovider = "openai"\nmodel = "stub-1"\n'
            f'base_url = "{provider.url}"\napi_key_env = "MODEL_KEY"\n'
        )
        root = home.agent(agent).workspace
        Workspace.create(root, AgentId(agent)).folder.close()
        for file in FILES:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(f"- 09:00 the secret is {AGENTS[agent]}\n")
    home.write(home.config_file, "\n".join(lines))
    return home


def _owner(agent: AgentId) -> Access:
    return Access(agent, SessionType.MAIN, PRIVATE, "terminal:0", 0, frozenset())


def _texts_below(folder: Path) -> Iterator[str]:
    """Return what stands in every file, the index and the history too."""
    return (file.read_bytes().decode("latin-1") for file in folder.rglob("*") if file.is_file())


async def _unread(_text: str, _is_answer: bool) -> None:
    """Nobody looks."""


async def test_no_agent_sees_anything_of_another(tmp_path: Path) -> None:
    """Not in a prompt, a result, an error, a search, the history or a transcript, whatever its model asks for."""
    models = {"main": Curious("work"), "work": Curious("main")}
    async with AsyncExitStack() as stack:
        providers = {agent: await stack.enter_async_context(OpenAIStub(models[agent])) for agent in AGENTS}
        home = make_agents(tmp_path / "home", providers)
        async with running(home) as app:
            for each in app.operator.agents:
                await app.operator.follow(IndexOrder(each.id))
                history = await each.history_writer.history()
                known = await each.history_writer.ask(history.view(_owner(each.id)).log, LogQuery())
                models[models[each.id].other].revisions = [commit.id for commit in known]
            for name, canary in AGENTS.items():
                await app.operator.chat(ChatOrder(f"remember {canary}", name), _unread)
        for agent, canary in AGENTS.items():
            (others,) = (text for name, text in AGENTS.items() if name != agent)
            requests = json.dumps(providers[agent].bodies)
            results = [m for body in providers[agent].bodies for m in body["messages"] if m["role"] == "tool"]
            assert len(results) > 200
            assert canary in json.dumps([result["content"] for result in results]), "it reads its own"
            assert others not in requests
            assert all(others not in text for text in _texts_below(home.agent(agent).root))


async def test_no_tool_takes_an_agents_name(tmp_path: Path) -> None:
    """Which agent a tool works for is decided before its arguments are read: no schema has a place for it."""
    async with OpenAIStub(lambda _: "Hello.") as provider:
        async with running(make_agents(tmp_path / "home", {"main": provider})) as app:
            await app.operator.chat(ChatOrder("hello"), _unread)
        specs = {tool["function"]["name"]: tool["function"]["parameters"] for tool in provider.bodies[0]["tools"]}
    assert {"read_file", "memory_search", "add_note", "git_log"} <= set(specs)
    for name, parameters in specs.items():
        assert parameters.keys() <= {"properties", "required", "type", "$defs"}, name
        assert not [field for field in parameters["properties"] if "agent" in field or "session" in field], name
