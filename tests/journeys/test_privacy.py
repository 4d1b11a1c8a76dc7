"""What a group's turn sends to its model, when that model tries everything to see what is private."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.control.stream_wire import IndexOrder
from tests.fakes.botapi import BotApi
from tests.fakes.model import HOSTILE_NUMBERS, HOSTILE_TEXTS
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import GROUP, OWNER, make_home, openai_section, running

CANARIES = {
    "MEMORY.md": "- the vault opens with heron-four-one\n",
    "USER.md": "Born on heron-four-two.\n",
    "HEARTBEAT.md": "- [ ] ask about heron-four-three\n",
    "memory/2026-11-20.md": "# 2026-11-20\n\n- 09:00 the diagnosis is heron-four-four\n",
    "memory/2026-11-21-slug.md": "- 10:00 salary talk: heron-four-five\n",
    "memory/shared/telegram.home.-200/2026-11-21.md": "- 11:00 the other group's heron-four-six\n",
    "private/plan.md": "heron-four-seven\n",
}
OWN_NOTE = "memory/shared/telegram.home.-100/2026-11-21.md"


def hostile(body: Body) -> Step:
    """Call every tool that is offered with everything, then say all that came back."""
    told = [message for message in body["messages"] if message["role"] == "tool"]
    if told:
        return "\n".join(str(message["content"]) for message in told)[-3000:]
    made = dict.fromkeys(_made(body["tools"]))
    return Reply(calls=tuple(Call(name, arguments, f"call_{number}") for number, (name, arguments) in enumerate(made)))


def _made(tools: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield tool names with arguments, as JSON; some come twice."""
    texts = [text for text in HOSTILE_TEXTS if len(text) < 1_000]  # a reply has a limit, and this one is long already
    values: tuple[object, ...] = (*texts, *CANARIES, "heron", "what is the diagnosis?", *HOSTILE_NUMBERS)
    for tool in tools:
        fields = list(tool["function"]["parameters"]["properties"])
        for value in values:
            yield tool["function"]["name"], json.dumps(dict.fromkeys(fields, value))
            for field in fields:
                yield tool["function"]["name"], json.dumps({field: value})
    yield "bash", json.dumps({"command": "cat MEMORY.md"})


async def test_nothing_private_reaches_a_groups_model_or_chat(tmp_path: Path) -> None:
    """Not in the prompt, not in any tool's result or error, not in a search, not in the reply; its own notes do."""
    async with BotApi() as bot, OpenAIStub(hostile) as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        home.write(home.config_file, home.config_file.read_text() + "\n[limits]\ncalls = 10000\nturn_s = 3600\n")
        workspace = home.agent("main").workspace
        for name, text in {**CANARIES, OWN_NOTE: "- 12:00 this group's own kingfisher\n"}.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text)
        before = {name: (workspace / name).read_bytes() for name in CANARIES}
        async with running(home) as app:
            await app.operator.follow(IndexOrder())
            bot.says(GROUP, "@strand_bot hello", user_id=OWNER, chat_type="supergroup")
            (reply, *_) = await bot.wait_for_sent(1, 300)
        requests = json.dumps(provider.bodies, ensure_ascii=False)
        results = [message for message in provider.bodies[-1]["messages"] if message["role"] == "tool"]
        assert len(results) > 300, reply.text
        assert "kingfisher" in requests
        assert "heron-four" not in requests
        assert "heron-four" not in reply.text
        assert {name: (workspace / name).read_bytes() for name in CANARIES} == before
