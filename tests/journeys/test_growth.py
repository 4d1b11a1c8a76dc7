"""What a message costs does not grow with what it has nothing to do with, and never faster than its subject.

Costs are counted, not timed: our own functions entered by one message in the owner's chat.
"""

import asyncio
from pathlib import Path

from bench.counts import Probe, counted
from bench.lived import Around, small_home, write_conversations
from bench.made_notes import daily_notes
from bench.messages import SAYINGS
from gateway.home import Home
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import instant
from tests.journeys.house import OWNER, running

WARM, COUNTED = 3, 7
TURNS = 5
WITHOUT_MODEL = '[memory.embeddings]\nprovider = "none"\n'
"""What is counted is of this process, vectors are made in another: they would be four fifths of the test's time."""
NOISE = 1.12
"""Tolerance: a commit of the history or a second look may fall into a message."""


async def cost(folder: Path, *, agents: int = 1, chats: int = 1, days: int = 2, turns: int = TURNS) -> float:
    """Return the functions that a message enters at least, in a home of that extent."""
    async with BotApi() as bot, OpenAIStub(instant) as model:
        around = Around(bot.url, model.url)
        made = await asyncio.to_thread(small_home, folder, around, agents, settings=WITHOUT_MODEL)
        _fill(made.home, chats, days, turns)
        probe = Probe()
        with probe.installed():
            async with running(made.home) as app:
                await bot.wait_for_polls(1)
                await asyncio.gather(*(each.memory.sync() for each in app.operator.agents))  # else it is counted too
                texts = [SAYINGS[number % len(SAYINGS)] for number in range(WARM + COUNTED)]
                seen = [(await counted(probe, bot, text))["functions"] for text in texts]
    return min(seen[WARM:])  # what else goes on meanwhile only adds


def _fill(home: Home, chats: int, days: int, turns: int) -> None:
    agent = home.agent("main")
    for day, text in list(daily_notes(14 * (days + 1)))[-days:]:
        (agent.workspace / "memory" / f"{day}.md").write_text(text, "utf-8")
    write_conversations(agent, [OWNER, *(-1000 - number for number in range(1, chats))], turns)


async def test_a_message_costs_the_same_in_a_larger_home_and_grows_no_faster_than_its_conversation(
    tmp_path: Path,
) -> None:
    """Other agents, other conversations and older days are none of its business; all of its own goes to the model."""
    usual = await cost(tmp_path / "usual")
    larger = await cost(tmp_path / "larger", agents=8, chats=40, days=40)
    longer = await cost(tmp_path / "longer", turns=16 * TURNS)
    assert larger <= NOISE * usual, (usual, larger)
    assert longer <= 2 * usual, (usual, longer)
