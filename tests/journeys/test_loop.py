"""Responsiveness of the gateway's event loop during indexing and searching."""

import asyncio
import time
from pathlib import Path

import pytest
from blockbuster import BlockingError, blockbuster_ctx

import gateway.app.operator  # noqa: F401  # or the first order loads it, in the loop that is watched
from bench.made_notes import daily_notes, questions
from gateway.app.app import App
from gateway.control.stream_wire import IndexOrder
from tests.fakes.loop_probe import LoopProbe
from tests.journeys.house import make_home, running
from tests.workspaces.turns import AGENT, MAIN
from workspaces.memory.query import Query
from workspaces.memory.source_index import JUST_BEGUN_S

OURS = ["gateway", "workspaces", "adapters"]
LONGEST_S = 0.02
"""What one callback may take."""


async def _busy_with(app: App, entries: int, notes: Path) -> int:
    """Index *entries* lines; until that is done, search; return how many searches were answered."""
    memory = app.operator.agents.named(AGENT).memory
    await memory.sync()  # the worker is there
    answered = 0
    with LoopProbe() as probe, blockbuster_ctx(OURS):
        await asyncio.to_thread(_write, notes, entries)
        indexing = asyncio.ensure_future(app.operator.follow(IndexOrder("main"), _told))
        while not indexing.done():
            for question in questions(3):
                await memory.search(Query(question), MAIN)
                answered += 1
        await indexing
    assert (await memory.status()).entries >= entries  # the watch may have been there first
    assert probe.callbacks > 100
    assert probe.longest_s < LONGEST_S, probe.culprit
    return answered


def _told(done: int, total: int) -> None:
    """Take word of progress."""


def _write(notes: Path, entries: int) -> None:
    (notes / "memory").mkdir(exist_ok=True)
    for day, text in daily_notes(entries):
        (notes / "memory" / f"{day}.md").write_text(text)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no search wait for the indexing that it is to be answered beside."""
    monkeypatch.setattr("workspaces.memory.source_index.JUST_BEGUN_S", JUST_BEGUN_S)


async def test_the_loop_is_free_while_notes_are_indexed_and_searched(impatient: None, tmp_path: Path) -> None:
    """No callback takes 20 ms of the processor, nothing of ours blocks, and searches are answered meanwhile."""
    home = make_home(tmp_path / "home")
    async with running(home) as app:
        assert await _busy_with(app, 420, home.agent("main").workspace) > 0


@pytest.mark.nightly
@pytest.mark.timeout(1200)
async def test_the_loop_is_free_while_ten_thousand_are_indexed(impatient: None, tmp_path: Path) -> None:
    """The same at the size that the goal names."""
    home = make_home(tmp_path / "home")
    async with running(home) as app:
        assert await _busy_with(app, 10_000, home.agent("main").workspace) > 10


async def test_a_loop_that_is_kept_busy_or_put_to_sleep_is_noticed() -> None:
    """The watch itself works: processor time is measured, and a sleep is refused."""
    with LoopProbe() as probe:
        await asyncio.sleep(0)
        assert probe.longest_s < LONGEST_S
        until = time.thread_time() + 2 * LONGEST_S
        while time.thread_time() < until:
            pass
        await asyncio.sleep(0)
    assert probe.longest_s >= 2 * LONGEST_S
    with blockbuster_ctx(), pytest.raises(BlockingError):
        time.sleep(0.001)  # noqa: ASYNC251 — what is tested
