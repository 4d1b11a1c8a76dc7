"""`strandline docs`: the pages that the program's messages name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.docs import pages
from tests.fakes.screen import on_screen
from tests.gateway.cli.terminal import Terminal
from tests.journeys.prompt import ROOT, prompt

PRODUCT = ("adapters", "gateway", "strandline", "workspaces")
NAMED = re.compile(r"strandline docs ([a-z-]+)")


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the product's texts but docstrings."""
    for file in (file for part in PRODUCT for file in (ROOT / part).rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield file, node.value


def test_each_page_that_a_message_names_can_be_read_wherever_it_is_installed() -> None:
    """By the command that shows it: a wheel holds no path of the checkout."""
    named = [page for _, text in texts() for page in NAMED.findall(text)]
    assert len(named) >= 6
    assert set(named) <= pages().keys()
    assert [(file, text) for file, text in texts() if re.search(r"\bdocs/[a-z-]+\.md", text)] == []


def test_the_pages_are_listed_with_their_titles_and_shown(terminal: Terminal) -> None:
    """Without a home; into a pipe a page goes as it is written."""
    listed = terminal("docs").out.splitlines()
    assert "memory           How memory works" in listed
    assert {line.split()[0] for line in listed} == {
        file.stem for file in (ROOT / "docs").glob("*.md") if file.stem != "README"
    }
    for name in ("memory", "memory.md", "docs/memory.md"):
        assert terminal("docs", name).out == (ROOT / "docs" / "memory.md").read_text("utf-8")
    assert not terminal.home.exists


@pytest.mark.parametrize(("wrong", "near"), [("memry", "did you mean memory?"), ("nothing", "?"), ("../x", "known")])
def test_a_page_that_does_not_exist_is_one_line_with_the_nearest(terminal: Terminal, wrong: str, near: str) -> None:
    """Nothing else than a page is opened."""
    outcome = terminal("docs", wrong)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert near in outcome.err


@pytest.mark.parametrize("pager", ["cat", "/nowhere/pager"])
async def test_a_terminal_shows_a_page_drawn_in_the_pager(pager: str) -> None:
    """Without a pager too; words in a narrow column are whole."""
    async with prompt("docs", "privacy", environ={"PAGER": pager}) as shown:
        raw = await shown.ends()
    screen = on_screen(raw)
    assert "\x1b[1" in raw
    assert "| Who" not in screen
    assert "…" not in screen.partition("your own")[0]
