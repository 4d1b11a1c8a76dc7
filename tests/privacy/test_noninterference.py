"""Whatever is asked in a group, by a guest or by a subagent: no byte that goes out depends on what is private."""

import asyncio
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from adapters.channel import ChatKind, InboundMessage
from tests.fakes.clock import ManualClock
from tests.privacy.contents import WORDS, Secret
from tests.privacy.hostile import Hostile, citations
from tests.privacy.scripted import BREAK, says
from tests.privacy.world import OWNER, OWNER_CHAT, SAM, Heard, World, message, world


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is said where others listen, and what the model makes of it."""

    chat: Literal["group", "guest", "task", "aside"]
    is_owner: bool
    text: str
    """With nothing after its slash it is the command number `seed`, modulo how many there are."""
    seed: int
    calls: int


ANSWERED = {
    *("read_file", "list_files", "write_file", "edit_file", "delete_file", "add_note"),
    *("memory_search", "memory_get", "search_history", "search_memory"),
    *("git_log", "git_show", "git_diff", "git_restore"),
}
"""What a group or guest can do at all: a program in which one of these never works would show little."""
EVENTS = st.builds(
    Event,
    chat=st.sampled_from(["group", "group", "guest", "task", "aside"]),
    is_owner=st.booleans(),
    text=st.one_of(
        st.sampled_from([BREAK, "/", "/ boat", "/ 1", "/ memory/shared/telegram.home.-100/2026-02-28.md"]),
        st.sampled_from(WORDS),
        st.sampled_from(WORDS).map("what did we decide about the {}?".format),
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join),
    ),
    seed=st.integers(0, 2**32),
    calls=st.integers(30, 50),
)
SECRETS = st.builds(Secret, seed=st.integers(0, 2**32), size=st.integers(1, 12))


IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Nothing here is about power failures: waiting for a disk would be most of the time."""


FIXED = settings(
    max_examples=4,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""The same programs on every machine; `make nightly` has seven times as many."""
FIXED_RUN = pytest.param(FIXED, 1_000, id="fixed", marks=pytest.mark.timeout(600))
FULL = settings(FIXED, max_examples=28)
RANDOM = settings(FIXED, max_examples=1, derandomize=False)
FULL_RUN = pytest.param(FULL, 10_000, id="full", marks=[pytest.mark.nightly, pytest.mark.timeout(1_800)])


@dataclass
class Tally:
    """What was tried."""

    calls: int = 0
    results: int = 0
    """Of subagents."""
    answered: Counter[str] = field(default_factory=Counter)
    """By tool: calls that were no error."""


@pytest.mark.parametrize(
    ("programs", "calls"),
    [FIXED_RUN, pytest.param(RANDOM, 0, id="random"), FULL_RUN],
)
def test_nothing_that_goes_out_depends_on_what_is_private(
    runner: asyncio.Runner, clock: ManualClock, programs: settings, calls: int
) -> None:
    """Model requests, replies, errors, counts and order are the same in two gateways that differ in their secrets."""
    tally = Tally()

    @programs
    @given(st.tuples(SECRETS, SECRETS), st.lists(EVENTS, min_size=12, max_size=12))
    def run(secrets: tuple[Secret, Secret], events: list[Event]) -> None:
        runner.run(begin(secrets, events, clock, tally))

    run()
    assert tally.calls >= calls
    assert tally.results >= calls // 500
    if programs is FULL:
        assert tally.answered.keys() >= ANSWERED


def test_the_owner_sees_the_difference(runner: asyncio.Runner, clock: ManualClock) -> None:
    """What is compared can differ: in the owner's own chat the same question shows each world's secrets.

    The notes as a whole are among them, and in no group's prompt.
    """

    async def ask(worlds: Sequence[World]) -> None:
        said = InboundMessage(OWNER_CHAT, "1", OWNER, ChatKind.DIRECT, "hello", True, clock.now())
        one, other = [await each.hear(said, lambda _: says("Hello.")) for each in worlds]
        assert one.sent == other.sent == ()
        assert one.requests != other.requests
        assert all("# Your Notes" in str(each.requests) for each in (one, other))

    async def ask_in_the_group(worlds: Sequence[World]) -> None:
        said = [message(1, "group", SAM, "what about the boat?", each.clock) for each in worlds]
        heard = [await each.hear(text, lambda _: says("Hello.")) for each, text in zip(worlds, said, strict=True)]
        assert heard[0] == heard[1]
        assert heard[0].requests
        assert "# Your Notes" not in str(heard[0].requests)

    async def run() -> None:
        async with begun(Secret(1, 3), Secret(2, 3), clock) as worlds:
            await ask(worlds)
            await ask_in_the_group(worlds)

    runner.run(run())


def test_an_owner_lives_through_all_that_is_to_stay_unseen(runner: asyncio.Runner, clock: ManualClock) -> None:
    """Lines below answers say what was done and what was not, and others' words are noted."""

    async def run() -> None:
        async with begun(Secret(1, 3), Secret(2, 3), clock) as worlds:
            for each in worlds:
                for _ in range(100):
                    await each.live()
                told = "\n".join(said.body.text for said in each.adapter.taken if said.address == OWNER_CHAT)
                assert "— ✓ noted" in told
                assert "✗ nothing was" in told
                assert any(each.origins().others_in(path.read_text()) for path in each.notes.rglob("*.md"))

    runner.run(run())


async def begin(secrets: tuple[Secret, Secret], events: Sequence[Event], clock: ManualClock, tally: Tally) -> None:
    """Begin two worlds and compare them."""
    async with begun(*secrets, clock) as worlds:
        ids = [each for world in worlds for each in await world.ids()]
        wanted = [*(text for secret in secrets for text in secret.texts()), *ids, *citations()]
        await compare(worlds, events, wanted, tally)


@asynccontextmanager
async def begun(red: Secret, blue: Secret, clock: ManualClock) -> AsyncIterator[tuple[World, World]]:
    """Give two worlds that differ in what their owners know."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        async with world(Path(folder, "a"), red, clock) as one, world(Path(folder, "b"), blue, clock) as other:
            yield one, other


async def compare(worlds: Sequence[World], events: Sequence[Event], wanted: Sequence[str], tally: Tally) -> None:
    """Let the same be said in both worlds, while their owners live on."""
    orders, _ = [await world.orders() for world in worlds]
    for number, event in enumerate(events):
        heard: list[Heard] = []
        models = [Hostile(event.seed, f"t{number}", wanted, event.calls) for _ in worlds]
        for each, model in zip(worlds, models, strict=True):
            await each.live()
            text = re.sub("^/(?= |$)", f"/{orders[event.seed % len(orders)]}", event.text)
            said = message(number, event.chat, OWNER if event.is_owner else SAM, text, each.clock)
            heard.append(await each.hear(said, model))
        each.clock.advance(61)
        assert heard[0] == heard[1], f"message {number}: {difference(*heard)}"
        tally.calls += models[0].made
        tally.results += len(heard[0].results)
        results = (each for request in heard[0].requests[-1:] for each in request.messages if each.answers)
        tally.answered.update(each.answers.split()[0] for each in results if not each.text.startswith("Error: "))


def difference(one: Heard, other: Heard) -> str:
    """Return where two worlds first differ, with what stands around it."""
    for name in ("requests", "sent"):
        for number, (a, b) in enumerate(zip(getattr(one, name), getattr(other, name), strict=False)):
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(str(a), str(b), strict=False)) if x != y), 0)
                around = slice(max(at - 600, 0), at + 200)
                return f"{name}[{number}] at {at}:\n{str(a)[around]}\n--- or ---\n{str(b)[around]}"
    return "one has more than the other"
