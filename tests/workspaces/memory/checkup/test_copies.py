"""Copies of instructions among notes."""

import pytest

from tests.workspaces.memory.checkup.notes import BY_OWNER, lasting
from workspaces.memory.checkup.copies import Instruction, Instructions, copies

INSTRUCTIONS = Instructions(
    [
        Instruction(
            "AGENTS.md",
            "# Work\n\n- Run the test suite before every commit and paste the last line of its output.\n"
            "- Something happened, was decided, or somebody says so:\n  `add_note` at once, before you answer.\n",
        ),
        Instruction("TOOLS.md", "The office server is called oak and listens for ssh on port 2222."),
    ]
)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Run the test suite before every commit and paste the last line of its output.", "AGENTS.md"),
        ("The agent should run the test suite before every commit and paste the last line", "AGENTS.md"),
        ("Rule: paste the last line of the output, and run the test suite before each commit", "AGENTS.md"),
        ("Something happened, was decided, or somebody says so: add_note at once", "AGENTS.md"),
        ("The office server oak listens for ssh on port 2222", "TOOLS.md"),
        ("The office server is called oak and listens for ssh on port 22.", ""),
        ("The test suite of the school failed before the last exam.", ""),
        ("Run before lunch.", ""),
        ("Prefers small pull requests.", ""),
    ],
)
def test_a_copy_is_known_by_its_words(line: str, name: str) -> None:
    """Word for word, with a lead, or reworded; another number and everyday talk are none."""
    found = list(copies(lasting(line), INSTRUCTIONS))
    assert [each.reason for each in found] == ([f"{name} says it already"] if name else [])


def test_what_the_owner_wrote_is_no_copy() -> None:
    """They may say it in two places."""
    line = "Run the test suite before every commit and paste the last line of its output."
    assert list(copies(lasting(line, source=BY_OWNER), INSTRUCTIONS)) == []
