"""What a first message is spared: patterns that read it are compiled soon after a start."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.app import app
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running

COMPILED = """
import asyncio, re
from datetime import date

from gateway.agent.models.offline_intents import ordered_text
from gateway.agent.person_requests import request_in
from gateway.agent.recall import asks_about_the_past
from gateway.agent.recall_gate import calls_for_memories
from gateway.turns.rehearsal import rehearse

compiled, compile_ = [], re.compile
re.compile = lambda *given: compiled.append(given) or compile_(*given)
{begin}
del compiled[:]
for text in ("Good morning!", "When is the dentist next week?", "Please note that the rent is 900 euros."):
    request_in(text), ordered_text(text), calls_for_memories(text), asks_about_the_past(text, date(2026, 3, 1))
print(len(compiled))
"""


@pytest.mark.parametrize(("begin", "least", "most"), [("pass", 30, 200), ("asyncio.run(rehearse())", 0, 20)])
def test_after_a_rehearsal_a_message_is_read_with_hardly_a_pattern_to_compile(
    begin: str, least: int, most: int
) -> None:
    """An invented message meets nearly all patterns that a real one needs."""
    program = [sys.executable, "-c", COMPILED.format(begin=begin)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert least <= int(done.stdout) <= most


async def test_a_gateway_rehearses_once_it_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own work has begun by then, and no message waits for it."""
    begun = asyncio.Event()

    async def rehearse() -> None:
        begun.set()

    monkeypatch.setattr(app, "rehearse", rehearse)
    async with running(make_home(tmp_path / "home")):
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
