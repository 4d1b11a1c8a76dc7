"""Whatever a model elsewhere asks in the owner's own chat: no byte that it is sent depends on text marked `house`."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from adapters.channel import ChatKind, InboundMessage
from gateway.agent.entries import ReplyEntry
from gateway.control.stream_wire import IndexOrder
from tests.fakes.clock import ManualClock
from tests.privacy.contents import WORDS, Secret, items, sentence
from tests.privacy.hostile import Hostile
from tests.privacy.scripted import Request, Script, says
from tests.privacy.test_noninterference import IN_MEMORY, difference
from tests.privacy.world import OWNER, OWNER_CHAT, Heard, World, world
from workspaces.access import Locality

COMMON = Secret(1, 4)
CALLS = 25
"""Of tools, a step."""


def marked(seed: int) -> dict[str, str]:
    """Return files of one world with the mark; where marked lines stand is the same in all, nothing else."""
    rng = random.Random(seed)
    long = rng.randint(1, 9)

    def told() -> str:
        return f"{sentence(rng)} #house"

    return {
        "MEMORY.md": f"# Memory\n\n- the boat is green\n- {told()}\n- the garden needs a shed\n- {told()}\n",
        "USER.md": f"- called Kim\n\n## Health #house\n\n{sentence(rng)}\n\n## Work\n\n- a baker of violins\n",
        "memory/2026-01-05.md": f"- 09:00 the harbour is closed\n- 10:00 {told()}\n- 11:00 the lawyer called\n",
        "memory/2026-01-06-visit.md": f"---\nhouse: true\n---\n\n{items(rng, long)}",
        f"memory/vault/{rng.choice(WORDS)}{rng.randint(1, 99)}.md": items(rng, long),
        f"vault/{rng.choice(WORDS)}{rng.randint(1, 99)}.md": items(rng, long),
    }


@asynccontextmanager
async def two_worlds(clock: ManualClock, house: str = "") -> AsyncIterator[tuple[World, World]]:
    """Give two worlds that differ in marked text alone: in files, and in what the owner said to a model here."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        async with (
            world(Path(folder, "a"), COMMON, clock, marked(1), house) as one,
            world(Path(folder, "b"), COMMON, clock, marked(2), house) as other,
        ):
            for seed, each in enumerate((one, other), 3):
                secret = sentence(random.Random(seed))
                each.model.reader = Locality.HERE
                await _say(each, 0, f"{secret} #house", steady(f"So {secret}."))
                await each.app.operator.follow(IndexOrder())
            yield one, other


async def _say(each: World, number: int, text: str, script: Script) -> Heard:
    said = InboundMessage(OWNER_CHAT, f"own-{number}", OWNER, ChatKind.DIRECT, text, True, each.clock.now())
    return await each.hear(said, script)


def steady(text: str) -> Script:
    """Return a model that always says *text*."""
    return lambda _: says(text)


def alone(model: Hostile) -> Script:
    """Return *model* without subagents: they work beside it, and who is first is left to chance."""

    def script(request: Request) -> ReplyEntry:
        return model(replace(request, tools=tuple(each for each in request.tools if each.name != "spawn")))

    return script


async def compared(
    worlds: Sequence[World], reader: Locality, messages: int, *, is_answering: bool = False
) -> tuple[int, str]:
    """Return how many tools were called, and the first difference between what the models were sent.

    If it *is_answering*, only requests with tools count: a summary by a model here is made of all, and marked.
    """
    wanted = [text for seed in (1, 2) for name, text in marked(seed).items() for text in (name, *text.splitlines()[:4])]
    calls = 0
    for number in range(1, messages + 1):
        rng, heard = random.Random(number), list[Heard]()
        text = rng.choice((sentence(rng), f"what did we decide about the {rng.choice(WORDS)}?", "what is in my notes?"))
        for each in worlds:
            each.model.reader = reader
            model = Hostile(number, f"t{number}", wanted, CALLS)
            heard.append(await _say(each, number, text, alone(model)))
            calls += model.made
        worlds[0].clock.advance(61)
        if is_answering:
            heard = [replace(each, requests=tuple(r for r in each.requests if r.tools)) for each in heard]
        if heard[0].requests != heard[1].requests:
            return calls, difference(*heard)
    return calls, ""


@pytest.mark.parametrize("messages", [6, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.timeout(1_800)
def test_nothing_that_a_model_elsewhere_is_sent_depends_on_marked_text(
    runner: asyncio.Runner, clock: ManualClock, messages: int
) -> None:
    """Prompts, recalled memories, results, errors, counts, orders and scores are the same, byte for byte."""

    async def run() -> tuple[int, str]:
        async with two_worlds(clock) as worlds:
            return await compared(worlds, Locality.ELSEWHERE, messages)

    calls, found = runner.run(run())
    assert not found, found
    assert calls >= messages * CALLS


@pytest.mark.parametrize("messages", [4, pytest.param(40, marks=pytest.mark.nightly)])
@pytest.mark.timeout(1_800)
def test_nothing_that_a_chat_app_carries_depends_on_marked_text(
    runner: asyncio.Runner, clock: ManualClock, messages: int
) -> None:
    """Where that is withheld from chat apps, a model here knows no more than one elsewhere; nor do commands tell it."""

    async def run() -> tuple[int, str]:
        async with two_worlds(clock, "chat_apps = false\n") as worlds:
            calls, found = await compared(worlds, Locality.HERE, messages, is_answering=True)
            for number, order in enumerate([] if found else await worlds[0].orders()):
                for text in (f"/{order}", f"/{order} {_WANTED[number % len(_WANTED)]}", f"/{order} 1"):
                    shown = [await _shown(each, f"{text[1:]}-{number}", text) for each in worlds]
                    found = found or ("" if shown[0] == shown[1] else f"{text}: {shown}")
                    assert all(shown), text
            return calls, found

    calls, found = runner.run(run())
    assert not found, found
    assert calls >= messages * CALLS


_WANTED = ("the boat is green", "violins", "memory/2026-01-06-visit.md", "accept")


async def _shown(each: World, name: str, text: str) -> list[str]:
    """Return what the owner's chat shows after *text*, without times that a home has of its own."""
    sent = len(each.adapter.taken)
    await _say(each, abs(hash(name)), text, steady("So."))
    return [re.sub(r"\b[0-9a-f]{7,12}\b", "#", said.body.text) for said in each.adapter.taken[sent:]]


def test_a_model_here_is_sent_the_difference(runner: asyncio.Runner, clock: ManualClock) -> None:
    """What is compared can differ: on the owner's machine the same questions show it."""

    async def run() -> tuple[int, str]:
        async with two_worlds(clock) as worlds:
            return await compared(worlds, Locality.HERE, 1)

    assert runner.run(run())[1]
