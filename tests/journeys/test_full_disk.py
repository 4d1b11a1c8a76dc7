"""An agent whose disk is full says so to its owner, loses nothing, and goes on."""

import asyncio
from pathlib import Path

import pytest

from gateway.control.stream_wire import ChatOrder
from tests.fakes.disk import files_end_at
from tests.fakes.patience import PATIENCE_S
from tests.journeys.house import make_home, running
from tests.workspaces.turns import MAIN
from workspaces.errors import WorkspaceUnusableError


async def test_the_owner_is_told_at_his_terminal(tmp_path: Path) -> None:
    """Once for many refused writes, in words that name the agent; afterwards the agent notes what it is told."""
    home = make_home(tmp_path / "home")
    said: list[str] = []

    async def hear(text: str, _: bool) -> None:
        said.append(text)

    async with running(home) as app:
        agent = app.operator.agents.named(None)
        await agent.history_writer.ready()
        seen = agent.workspace.read("MEMORY.md", MAIN)
        with files_end_at(10):
            for _ in range(3):
                with pytest.raises(WorkspaceUnusableError):
                    agent.workspace.write("MEMORY.md", "long enough", MAIN, seen)
        async with asyncio.timeout(PATIENCE_S):
            while not any("trouble" in text for text in said):
                await app.operator.chat(ChatOrder("remember that the boat is called Ondine"), hear)
    (told,) = [text for text in said if "trouble" in text]
    assert told.endswith(
        "Agent main has trouble with its files: MEMORY.md cannot be written: File too large. It continues "
        "automatically once that is fixed."
    )
    (day,) = (home.agent("main").workspace / "memory").glob("*.md")
    assert "Ondine" in day.read_text("utf-8")
    assert (home.agent("main").workspace / "MEMORY.md").read_text("utf-8") == seen.whole
