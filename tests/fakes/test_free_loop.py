"""The watch over the event loop."""

import asyncio
import time
from pathlib import Path

import pytest

from gateway.home import Home
from tests.fakes.free_loop import DELIBERATE, ROOT, free_loop


@pytest.fixture(autouse=True)
def unblocked_loop() -> None:
    """Watch nothing beside what the tests watch."""


async def test_a_blocking_call_of_ours_is_named_at_the_end(tmp_path: Path) -> None:
    """With the calls that led there; it is done all the same."""
    home, watch = Home(tmp_path / "home"), free_loop()
    watch.__enter__()
    asyncio.get_running_loop().call_soon(home.create)
    await asyncio.sleep(0)
    with pytest.raises(AssertionError, match=r"os\.mkdir in gateway/home\.py:\d+ _make < gateway/home\.py:\d+ create"):
        watch.__exit__(None, None, None)
    assert home.agents.is_dir()


async def test_a_test_may_block_its_own_loop(tmp_path: Path) -> None:
    """By itself, by a function of ours that it calls, and by one of ours on a thread."""
    with free_loop():
        time.sleep(0.001)  # noqa: ASYNC251 — what is tested
        home = Home(tmp_path / "home")
        home.create()
        await asyncio.to_thread(home.write, home.config_file, "")
        assert home.config_file.read_text("utf-8") == ""


def test_what_may_block_is_there() -> None:
    """A function of ours that was moved or renamed does not stay in the list."""
    ours = [(ROOT / file, name) for file, name in DELIBERATE if file.startswith(("adapters", "gateway", "workspaces"))]
    assert [each for each in ours if f"def {each[1]}(" not in each[0].read_text("utf-8")] == []
