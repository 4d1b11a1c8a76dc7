"""Homes with a past."""

import time
from datetime import UTC
from pathlib import Path

from bench.lived import write_conversations
from gateway.home import Home
from gateway.transcripts.memory_source import TranscriptNotes
from tests.journeys.house import OWNER
from workspaces.access import AgentId


def test_conversations_of_a_lived_home_are_at_rest(tmp_path: Path) -> None:
    """A start of it finds nothing to index anew: a first search would wait for that, and be measured with it."""
    agent = Home(tmp_path).agent("main")
    write_conversations(agent, [OWNER, -1001], 2)

    def stamps(at: float) -> dict[str, str]:
        return TranscriptNotes(AgentId("main"), agent.sessions, UTC, lambda: at).stamps()

    assert stamps(time.time()) == stamps(time.time() + 60)
