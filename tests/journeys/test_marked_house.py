"""Text with the mark `house` reaches no provider elsewhere, whatever path it might take; real clients on loopback."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gateway.app.app import App
from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.home import Home
from tests.fakes.anthropic_stub import AnthropicStub
from tests.fakes.cohere_stub import CohereStub
from tests.fakes.embedding_stub import EmbeddingStub
from tests.fakes.google_stub import GoogleStub
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.patience import PATIENCE_S
from tests.fakes.provider_stub import Body, Call, ProviderStub, Refusal, Reply, Script, Step
from tests.journeys.house import anthropic_section, cohere_section, google_section, make_home, openai_section
from tests.journeys.test_what_you_tell import started

CANARY = "heron-four"
MARKED = {
    "MEMORY.md": "# Memory\n\n- likes tea\n- the vault opens with heron-four-1 #house\n- the cat is Minka\n",
    "USER.md": "- called Kim\n\n## Health #house\n\n- the diagnosis is heron-four-2\n\n## Work\n\n- a baker\n",
    "memory/2026-11-20.md": "- 09:00 the salary is heron-four-3 #house\n- 10:00 the vault was painted green\n",
    "memory/2026-11-21-doctor.md": "---\nhouse: true\n---\n\n- 10:00 the doctor said heron-four-4\n",
    "memory/private/heron-four-9.md": "- the will names heron-four-5\n",
    "private/plan.md": "the plan is heron-four-6\n",
    "private/heron-four-8.md": "- heron-four-7\n",
}
SECTIONS: dict[type[ProviderStub], Callable[[str], str]] = {
    OpenAIStub: openai_section,
    CohereStub: cohere_section,
    AnthropicStub: anthropic_section,
    GoogleStub: google_section,
}


class TriesEverything:
    """A model that calls every offered tool with everything that could lead to a canary, and repeats what it got."""

    def __init__(self) -> None:
        self._ids = count()

    def __call__(self, body: Body) -> Step:
        told = [message for message in body["messages"] if message["role"] == "tool"]
        if told or not body.get("tools"):
            return "\n".join(str(message["content"]) for message in told)[-3000:] or "Summary: all is well."
        made = dict.fromkeys(self._made(body["tools"]))
        return Reply(calls=tuple(Call(name, given, f"call_{next(self._ids)}") for name, given in made))

    def _made(self, tools: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        named = (name for name in MARKED if CANARY not in name)  # what it asks for itself, it is sent again
        values = (*named, "memory", "private", ".", "what is the diagnosis", "vault", "salary", "will doctor plan")
        for tool in tools:
            name = tool["function"]["name"]
            if name in {"spawn", "schedule", "summarize_conversation", "delete_file", "write_file"}:
                continue
            for value in values:
                yield name, json.dumps(dict.fromkeys(tool["function"]["parameters"]["properties"], value))
                for each in tool["function"]["parameters"].get("required", []):
                    yield name, json.dumps({each: value})


@dataclass
class Rig:
    """A home with a model and an embedder elsewhere, and a model on the owner's machine."""

    home: Home
    far: ProviderStub
    near: OpenAIStub
    embeddings: EmbeddingStub
    app: App = field(init=False)

    async def say(self, text: str) -> str:
        """Return all of the answer to the owner's *text*."""
        shown: list[str] = []

        async def show(part: str, _: bool) -> None:
            shown.append(part)

        await self.app.operator.chat(ChatOrder(text), show)
        return "\n".join(shown)

    def leaks(self) -> list[str]:
        """Return each canary that a provider elsewhere was sent, with the text around it."""
        sent = self.sent()
        return [sent[max(each.start() - 100, 0) : each.end() + 40] for each in re.finditer(CANARY, sent)]

    def sent(self) -> str:
        """Return everything that any provider elsewhere was sent."""
        return json.dumps([self.far.raw, self.embeddings.bodies], ensure_ascii=False)

    def text(self, path: str) -> str:
        return (self.home.agent("main").workspace / path).read_text("utf-8")


@asynccontextmanager
async def rig(
    folder: Path,
    far: Script,
    near: Script = lambda _: "I see.",
    *,
    kind: type[ProviderStub] = OpenAIStub,
    chain: tuple[str, ...] = ("stub",),
) -> AsyncIterator[Rig]:
    """Yield a running gateway whose main agent asks the models of *chain*: `stub` is elsewhere, `near` is not."""
    async with kind(far) as elsewhere, OpenAIStub(near) as here:
        with EmbeddingStub() as embeddings:
            home = make_home(folder / "home", model=SECTIONS[kind](elsewhere.url))
            far_hosts = [each.split("//")[1].split("/")[0] for each in (elsewhere.url, embeddings.url)]
            text = home.config_file.read_text("utf-8").replace(
                'model = "stub"\n', f'model = "{chain[0]}"\nfallbacks = {json.dumps(chain[1:])}\n', 1
            )
            more = f"""
[models.near]
{openai_section(here.url)}
[house]
folders = ["private", "memory/private"]
elsewhere = {json.dumps(far_hosts)}
[limits]
calls = 10000
turn_s = 3600
[memory.embeddings]
provider = "cohere"
model = "words"
dimension = 16
base_url = "{embeddings.url}"
api_key_env = "MODEL_KEY"
may_leave = "everything"
[memory.rerank]
enabled = true
base_url = "{embeddings.url}"
api_key_env = "MODEL_KEY"
may_leave = "everything"
"""
            home.write(home.config_file, text + more)
            for name, content in MARKED.items():
                place = home.agent("main").workspace / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content, "utf-8")
            made = Rig(home, elsewhere, here, embeddings)
            async with started(home) as terminal:
                made.app = terminal.app
                await terminal.app.operator.follow(IndexOrder())
                async with asyncio.timeout(PATIENCE_S):  # a provider embeds a moment later
                    while "search_document" not in made.sent():  # noqa: ASYNC110  # another process sends it
                        await asyncio.sleep(0.02)
                yield made


@pytest.mark.parametrize("kind", SECTIONS)
async def test_a_model_elsewhere_that_tries_everything_gets_nothing(tmp_path: Path, kind: type[ProviderStub]) -> None:
    """Not by the prompt, a tool, an error, a name or a search, nor does a provider of embeddings; the rest is there."""
    async with rig(tmp_path, TriesEverything(), kind=kind) as made:
        answer = await made.say("What was painted green, and what is the diagnosis?")
        results = [each for each in made.far.bodies[-1]["messages"] if each["role"] == "tool"]
        assert len(results) > 40, answer
        assert made.leaks() == []
        assert "painted green" in json.dumps(made.far.raw)
        assert "Minka" in json.dumps(made.far.raw)
        assert "baker" in json.dumps(made.far.raw)
        assert "marked `house`" in answer
        assert "/model near" in answer
        assert all(made.text(name) == text for name, text in MARKED.items() if name != "MEMORY.md")
        assert "heron-four-1 #house" in made.text("MEMORY.md")


async def test_a_model_on_the_owners_machine_answers_and_what_it_says_stays(tmp_path: Path) -> None:
    """It is shown all of it; the conversation is withheld from the next model, as are notes, summaries and names."""

    def tells(body: Body) -> Step:
        asked = str(body["messages"][-1]["content"])
        if "diagnosis" in asked and body.get("tools"):
            return "The diagnosis is heron-four-2, and that of 2025 was heron-four-9."
        return "I see."

    async with rig(tmp_path, TriesEverything(), tells) as made:
        say = made.say
        await say("/model near")
        assert "heron-four-2" in await say("What is the diagnosis?")
        assert "heron-four-1" in json.dumps(made.near.raw)
        await say("/model stub")
        assert "marked `house`" in await say("And what did you just tell me?")
        assert "withheld: marked house" in json.dumps(made.far.raw)
        await say("/compact")
        await say("/new")
        await say("Good morning! What is the diagnosis of 2025?")
        assert made.leaks() == []
        noted = [line for path in _notes(made) for line in path.read_text().splitlines() if "heron-four-9" in line]
        assert noted
        assert all(line.endswith("#house") for line in noted)


async def test_a_chain_asks_again_for_each_model(tmp_path: Path) -> None:
    """Where the model here fails, the one elsewhere is sent a request without any of it."""
    async with rig(tmp_path, lambda _: "Hello from afar.", lambda _: Refusal(401), chain=("near", "stub")) as made:
        assert "from afar" in await made.say("What is the diagnosis?")
        assert CANARY in json.dumps(made.near.raw)
        assert made.leaks() == []
        assert "Minka" in made.sent()


async def test_in_a_marked_chat_only_a_model_here_is_asked(tmp_path: Path) -> None:
    """The owner is told so at once, and how a model on their machine answers; it does, and nothing left."""
    async with rig(tmp_path, lambda _: "Hello from afar.") as made:
        say = made.say
        await say("/house on")
        before = len(made.far.raw)
        answer = await say("My pin is heron-four-seventy, do you hear? And when did I say so?")
        assert "I may not read this here" in answer
        assert "/model near" in answer
        await say("/model near")
        assert await say("My pin is heron-four-seventy, do you hear? And when did I say so?") == "I see."
        await say("/model default")
        await say("/new")
        assert "I may not read this here" in await say("hello?")
        await say("/house off")
        await say("/new")
        assert await say("hello?") == "Hello from afar."
        assert len(made.far.raw) > before
        assert made.leaks() == []


async def test_the_focus_of_a_summary_stays_where_its_message_does(tmp_path: Path) -> None:
    """A model elsewhere summarises the rest without one."""
    async with rig(tmp_path, lambda _: "Hello from afar.") as made:
        say = made.say
        await say("hello")
        assert "The focus is marked `house`" in await say("/compact heron-four-eighty-two #house")
        await say("/house on")
        assert "The focus is marked `house`" in await say("/summarize heron-four-eighty-one")
        assert "marked" not in await say("/compact")
        assert made.leaks() == []


async def test_a_marked_message_is_asked_of_a_model_here_alone(tmp_path: Path) -> None:
    """A tag in one message withholds that message, also from the fall-back, and no other."""
    async with rig(tmp_path, lambda _: "Hello from afar.", chain=("stub", "near")) as made:
        say = made.say
        assert await say("the safe has heron-four-eighty #house") == "I see."
        assert "Hello from afar." in await say("and hello")
        assert made.leaks() == []


async def test_what_a_model_here_writes_carries_the_mark(tmp_path: Path) -> None:
    """Notes, files, jobs and tasks of a turn that had such text in view; a model elsewhere never learns of them."""
    ids = count()
    wanted: list[tuple[str, dict[str, object]]] = [
        ("add_note", {"text": "told about heron-four-20"}),
        ("save_memory", {"text": "vault of heron-four-21", "category": "notes"}),
        ("write_file", {"path": "letter.md", "content": "# Letter\n\nheron-four-22\n"}),
        ("write_file", {"path": "letter.txt", "content": "heron-four-23\n"}),
        ("schedule", {"when": "in 120m", "what": "ask about heron-four-24"}),
    ]

    def writes(body: Body) -> Step:
        if body["messages"][-1]["role"] == "tool" or not body.get("tools"):
            return "Done."
        return Reply(calls=tuple(Call(name, json.dumps(given), f"c{next(ids)}") for name, given in wanted))

    async with rig(tmp_path, TriesEverything(), writes) as made:
        say = made.say
        await say("/model near")
        assert "Done." in await say("Write it all down")
        assert "heron-four-21 #house" in made.text("MEMORY.md")
        assert made.text("letter.md").startswith("---\nhouse: true\n---\n")
        assert not (made.home.agent("main").workspace / "letter.txt").exists()
        noted = [line for path in _notes(made) for line in path.read_text().splitlines() if "heron-four-20" in line]
        assert noted
        assert all(line.endswith("#house") for line in noted)
        assert "heron-four-24 #house" in await say("/cron")
        await say("/new")
        await say("/model stub")
        await say("letter.md, vault, told about?")
        assert made.leaks() == []


async def test_what_commands_and_buttons_store_of_a_marked_chat_carries_the_mark(tmp_path: Path) -> None:
    """Also when a button is pressed after the chat's mark has ended: it repeats the words of a marked message."""
    async with rig(tmp_path, TriesEverything()) as made:
        say = made.say
        await say("/model near")
        await say("/remember it is secret")
        await say("/house on")
        assert (await say("/correct heron-four-31")).startswith("Corrected in")
        await say("/remember heron-four-30")
        await say("/cron add in 2h: ask about heron-four-32")
        shown = [await say(f"{order} heron-four-33") for order in ("remember that it is", "remind me in 3h to take")]
        await say("/house off")
        for answer in shown:
            await say(re.findall(r"/fulfil [0-9a-f]{16}", answer)[-1])
        assert [line for line in made.text("MEMORY.md").splitlines() if "heron-four-3" in line] == [
            "- heron-four-31 #house",
            "- heron-four-30 #house",
            "- it is heron-four-33 #house",
        ]
        assert (await say("/cron")).count("#house") == 2
        await say("/model stub")
        for job in (1, 2):
            await say(f"/cron run {job}")
        await say("/new")
        await say("vault, it is?")
        assert made.leaks() == []


async def test_marked_text_that_was_removed_is_not_read_elsewhere_from_the_history(tmp_path: Path) -> None:
    """Not its line in a change, nor by a search of an earlier day."""
    ids = count()

    def looks_back(body: Body) -> Step:
        last = body["messages"][-1]
        if last["role"] != "tool":
            calls: list[tuple[str, dict[str, object]]] = [
                ("search_history", {"query": "vault", "as_of": "2026-11-20"}),
                ("git_log", {}),
            ]
        elif calls := [
            ("git_show", {"revision": found, "path": "memory/2026-11-21-doctor.md"})
            for found in re.findall(r"^[0-9a-f]{10}", str(last["content"]), re.M)
        ]:
            pass
        else:
            return "Nothing there."
        return Reply(calls=tuple(Call(name, json.dumps(given), f"c{next(ids)}") for name, given in calls))

    async with rig(tmp_path, looks_back) as made:
        await made.say("hello")
        workspace = made.home.agent("main").workspace
        for name in MARKED:
            (workspace / name).unlink()
        await made.say("hello")
        await made.app.operator.follow(IndexOrder())
        await made.say("/new")
        await made.say("What did I remove?")
        assert made.leaks() == []


def _notes(made: Rig) -> Iterator[Path]:
    yield from (made.home.agent("main").workspace / "memory").glob("*.md")
