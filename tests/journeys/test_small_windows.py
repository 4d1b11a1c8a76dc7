"""A model with a small window holds a long conversation: the fixed part shrinks, and summaries are rare."""

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.control.stream_wire import ChatOrder
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.keeping import SUMMARY
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Step
from tests.journeys.house import make_home, openai_section, running

WORDS = "the boat harbour kids soup garden train ticket brother later school we came told blue cold paper".split()  # noqa: SIM905
FILES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md")
TURNS = [pytest.param(40, id="forty"), pytest.param(100, id="hundred", marks=pytest.mark.nightly)]
IN_TURNS = 10


def words(dice: random.Random, count: int) -> str:
    """Return a sentence without facts."""
    return f"{' '.join(dice.choices(WORDS, k=count)).capitalize()}."


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("window", [8_000, 16_000])
async def test_at_most_one_summary_in_ten_turns(tmp_path: Path, window: int, turns: int) -> None:
    """With five full files and all tools; no request is larger than the window by a cautious count."""
    dice, sizes = random.Random(window), [0]

    def answer(body: Body) -> Step:
        said = [str(message.get("content") or "") for message in body["messages"]]
        if said[0].startswith("Summarise"):
            return SUMMARY
        if any(prompt in text for text in said[-3:] for prompt in (PROMPT, AGAIN)):
            return "NO_REPLY"
        tools = sum(len(json.dumps(tool)) for tool in body.get("tools", []))
        sizes.append(sum(map(len, said)) + tools)
        return words(dice, 50)

    async with OpenAIStub(answer) as provider:
        model = f"{openai_section(provider.url)}\nwindow_tokens = {window}"
        home = make_home(tmp_path / "home", model=model)
        for name in FILES:
            file = home.agent("main").workspace / name
            text = (f"- {words(dice, 14)}\n" for _ in range(150))
            file.write_text(f"{file.read_text('utf-8')}\n{''.join(text)}", "utf-8")

        async def hear(_text: str, _is_answer: bool) -> None:
            """Ignore the answers."""

        async with running(home) as app:
            for _ in range(turns):
                await app.operator.chat(ChatOrder(words(dice, 40)), hear)
        assert provider.problems == []
    lines = next(home.agent("main").sessions.glob("*.jsonl")).read_text("utf-8").splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    summarised = [kinds[:place].count("user") for place, kind in enumerate(kinds) if kind == "summary"]
    assert kinds.count("user") == turns
    assert all(later - earlier >= IN_TURNS for earlier, later in pairwise(summarised))
    assert max(sizes) / 3 <= window
