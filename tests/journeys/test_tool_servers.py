"""Use of another program's tools by a model, in a whole gateway, and its consequences."""

import json
import sys
from pathlib import Path

import pytest

from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import ApprovalOrder
from gateway.errors import StrandlineError
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import make_home, openai_section, running
from tests.zygote import FORKED

ROOT = Path(__file__).parents[2]


def called(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, json.dumps(arguments), f"c_{name}_{abs(hash(str(arguments)))}"),))


async def answer(home_path: Path, section: str, *script: Reply | str) -> tuple[str, list[Body]]:
    """Return what the owner hears, with the gateway's state afterwards, and what the model was asked on the way."""
    steps = iter(script)
    heard: list[str] = []

    async def hear(text: str, _: bool) -> None:
        heard.append(text)

    async with OpenAIStub(lambda _: next(steps)) as stub:
        home = make_home(home_path, model=openai_section(stub.url))
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n{section}\n")
        async with running(home) as app:
            await app.operator.chat(ChatOrder("what does it say?"), hear)
            heard.append(await app.parts.status.brief())
        return "\n".join(heard), stub.bodies


def fake(more: str = "") -> str:
    """A server that runs in the project's folder, whatever folder the gateway starts it in."""
    start = f"{FORKED}import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fakes.tool_server import main; main('')"
    return f"[mcp.fake]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(start)}]\n{more}"


async def test_what_a_tool_server_says_makes_a_turn_ask_before_it_writes_what_lasts(tmp_path: Path) -> None:
    """Its text is others' text: `save_memory` waits for the owner afterwards."""
    script: list[Reply | str] = [
        called("fake_echo", text="keep this"),
        called("save_memory", text="keep this", category="notes"),
        "Done.",
    ]
    said, bodies = await answer(tmp_path / "home", fake(), *script)
    assert "Done.\n" in said
    names = [tool["function"]["name"] for tool in bodies[0]["tools"]]
    assert {"fake_echo", "memory_search"} <= set(names)
    results = [each["content"] for each in bodies[-1]["messages"] if each["role"] == "tool"]
    assert "echo: keep this" in results[0]
    assert "waits for your owner's approval" in results[1]


async def test_a_tool_server_that_dies_in_the_middle_of_a_turn_costs_only_its_answer(tmp_path: Path) -> None:
    """The model hears of it, and the person gets an answer."""
    said, bodies = await answer(tmp_path / "home", fake(), called("fake_die"), "It broke off.")
    assert "It broke off.\n" in said
    assert "fake lost the connection" in bodies[-1]["messages"][-1]["content"]


async def test_a_tool_server_that_is_not_there_holds_up_no_turn(tmp_path: Path) -> None:
    """Its tools are absent, the others are there, and `status` names what is wrong."""
    said, bodies = await answer(tmp_path / "home", '[mcp.gone]\ncommand = ["/nowhere/at-all"]', "Hello.")
    assert "Hello.\n" in said
    assert "- not usable: tool server gone: /nowhere/at-all cannot be started: No such file or directory" in said
    names = [tool["function"]["name"] for tool in bodies[0]["tools"]]
    assert "memory_search" in names
    assert not [name for name in names if name.startswith("gone")]


async def test_a_skill_is_listed_in_the_prompt_and_read_when_it_is_needed(tmp_path: Path) -> None:
    """One that is broken is named in the state of the gateway; a new one waits for the owner's approval."""
    skills = make_home(tmp_path / "home").agent("main").workspace / "skills"
    for name, text in {"boat": "---\nname: boat\ndescription: How to mend a boat\n---\nTar it.\n", "bad": "x"}.items():
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(text, "utf-8")
    script: list[Reply | str] = [
        called("read_file", path="skills/boat/SKILL.md"),
        called("write_file", path="skills/new/SKILL.md", content="---\n"),
        "Tarred.",
    ]
    said, bodies = await answer(tmp_path / "home", "", *script)
    assert "- boat: How to mend a boat (skills/boat/SKILL.md)" in json.dumps(bodies[0]["messages"])
    results = [each["content"] for each in bodies[-1]["messages"] if each["role"] == "tool"]
    assert "Tar it." in results[0]
    assert "waits for your owner's approval" in results[1]
    assert "- not usable: agent main: skills/bad/SKILL.md: it must begin with a line ---" in said


async def test_after_a_strangers_words_a_call_waits_and_is_made_once_approved(tmp_path: Path) -> None:
    """The second call carries what the turn has read: nothing goes out before the owner says so, and then once."""
    heard: list[str] = []

    async def hear(text: str, _: bool) -> None:
        heard.append(text)

    script: list[Step] = [
        called("fake_echo", text="a stranger's words"),
        called("fake_echo", text="the notes"),
        "Done.",
    ]
    steps = iter(script)
    async with OpenAIStub(lambda _: next(steps)) as stub:
        home = make_home(tmp_path / "home", model=openai_section(stub.url))
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n{fake()}\n")
        async with running(home) as app:
            await app.operator.chat(ChatOrder("what does it say?"), hear)
            first, second = (each["content"] for each in stub.bodies[-1]["messages"] if each["role"] == "tool")
            with pytest.raises(StrandlineError, match="approve it in your chat with the agent"):
                await app.operator.ask(ApprovalOrder("approve", number=1))
            await app.operator.chat(ChatOrder("/approve 1"), hear)
            await app.operator.chat(ChatOrder("/approve 1"), hear)
    assert first == "echo: a stranger's words"
    assert "this call waits for your owner's approval as #1" in second
    assert heard[-2] == "fake_echo called, as approved in #1; it answered: echo: the notes."
    assert heard[-1] == "#1, call of fake_echo, was approved already"


async def test_a_trusted_server_is_never_asked_about(tmp_path: Path) -> None:
    """Its owner said so in the settings."""
    script: list[Reply | str] = [called("fake_echo", text="words"), called("fake_echo", text="more"), "Done."]
    _, bodies = await answer(tmp_path / "home", fake("trusted = true\n"), *script)
    results = [each["content"] for each in bodies[-1]["messages"] if each["role"] == "tool"]
    assert results == ["echo: words", "echo: more"]


async def test_a_server_that_lists_other_tools_on_the_next_day_is_told_of(tmp_path: Path) -> None:
    """The same program after a restart: a model reads what it says of them."""
    heard: list[str] = []

    async def hear(text: str, _: bool) -> None:
        heard.append(text)

    flag, fakes = tmp_path / "tomorrow", "tests.fakes.tool_server"
    start = f"{FORKED}import sys, pathlib; sys.path.insert(0, {str(ROOT)!r}); from {fakes} import main; "
    start += f"from {fakes}_of_strangers import server; "
    start += f"main('') if pathlib.Path({str(flag)!r}).exists() else server.run('stdio')"
    async with OpenAIStub(lambda _: "Hello.") as stub:
        home = make_home(tmp_path / "home", model=openai_section(stub.url))
        section = f"[mcp.fake]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(start)}]\n"
        home.write(home.config_file, f"{home.config_file.read_text('utf-8')}\n{section}")
        for told in ([], ["The tool server fake has changed its tools (new: "]):
            async with running(home) as app:
                await app.operator.chat(ChatOrder("hello"), hear)
                rows = await app.parts.resources.home.store.outbox.unfinished()
            texts = [*heard, *(row.outgoing.text for row in rows)]
            assert [text.partition("`")[0] for text in texts if "tool server" in text] == told
            flag.touch()
