"""How full a window is, and with what."""

from datetime import UTC, datetime

from gateway.agent.entries import UserEntry
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.window.count import Scale
from gateway.agent.window.shown import VisibleHistory
from gateway.agent.window.use import window_use
from workspaces.bootstrap import BootstrapFile

FILES = [BootstrapFile("AGENTS.md", "a" * 100), BootstrapFile("MEMORY.md", "m" * 30), BootstrapFile("memory/d.md", "d")]
STABLE = "rules" + "".join(file.text for file in FILES)
REQUEST = ModelRequest(STABLE, [UserEntry("hello", datetime.now(UTC), "", "1")], [ToolSpec("tool", "does", {})])


def test_each_part_has_its_share_and_nothing_is_counted_twice() -> None:
    """Own words, files, memory, tools and conversation add up to the request."""
    use = window_use(REQUEST, FILES, VisibleHistory(list(REQUEST.entries)), 1_000, Scale(1.0))
    assert (use.instructions, use.files, use.memory, use.tools, use.conversation) == (5, 100, 31, 10, 5)
    assert use.total == REQUEST.characters
    assert use.share == use.total / 1_000


def test_a_file_that_the_prompt_leaves_out_takes_nothing() -> None:
    """A blank form is only named, and today's notes stand in the note of the turn: no part is below zero."""
    files = [*FILES, BootstrapFile("USER.md", "u" * 500), BootstrapFile("memory/today.md", "t" * 500)]
    use = window_use(REQUEST, files, VisibleHistory(list(REQUEST.entries)), 1_000, Scale(1.0))
    assert (use.instructions, use.files, use.memory) == (5, 100, 31)
