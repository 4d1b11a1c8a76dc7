"""The work that the views cost: git's runs, files listed, texts parsed. Seconds are measured by `bench --only page`."""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gateway.control import notes
from gateway.control.wire import HistoryOrder, SearchOrder
from tests.gateway.web.browsing import Browser
from tests.gateway.web.house import House
from tests.gateway.web.test_memory_pages import put, workspace
from workspaces import forget
from workspaces.access import AgentId
from workspaces.history.git_command import Git
from workspaces.history.line_changes import LineChanges
from workspaces.memory import search

VIEWS = (
    *("memory", "memory/days", "memory/day?day=2026-01-01", "memory/files", "memory/shared", "memory/search?q=boat"),
    *("memory/line?cite=MEMORY.md%23L4-L4", "memory/edit?path=MEMORY.md", "memory/checkup", "history"),
    *("history?topic=memory", "history?q=boat", "history?path=MEMORY.md", "history/change?revision={revision}"),
    *("work", "work/approvals", "work/jobs", "work/conversations", "work/health"),
)
COUNTED: tuple[tuple[str, Any, str, int], ...] = (
    ("git", Git, "_start", 2),
    ("lists", notes, "_rows", 1),
    ("languages", search, "foreign_notice", 0),
    ("parses", forget, "entries_of", 1),
    ("changes", LineChanges, "_read", 1),
)
"""What is counted, where, and the most of it in one view. A run of git costs 5 ms, a list of 400 files 5, a text of a
thousand notes 60 to parse, and telling the languages of all notes 50.
"""


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found: Counter[str] = Counter()

    def counting(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def count(*given: Any, **named: Any) -> Any:
            found[name] += 1
            return inner(*given, **named)

        return count

    for name, owner, method, _ in COUNTED:
        monkeypatch.setattr(owner, method, counting(name, getattr(owner, method)))
    return found


async def grow(house: House, first: int, end: int) -> None:
    """Give the agent one long-term note, one day and one change for each number."""
    writer = house.app.parts.resources.agents[AgentId("main")].history_writer
    for number in range(first, end):
        put(house, f"memory/2026-{1 + number // 28:02}-{1 + number % 28:02}.md", f"- 09:00 The boat, {number} times.\n")
        lines = "".join(f"- Note {each} about the boat.\n" for each in range(number + 1))
        put(house, "MEMORY.md", f"# Notes\n\n{lines}")
        await writer.catch_up()


async def measured(house: House, browser: Browser, costs: Counter[str]) -> dict[str, Counter[str]]:
    """Return the costs of each view."""
    revision = (await house.app.operator.ask(HistoryOrder("log", "main", "MEMORY.md"))).commits[0].revision
    await house.app.operator.ask(SearchOrder("boat", "main"))
    found = {}
    for view in VIEWS:
        costs.clear()
        notes._known_notes.cache_clear()
        response = await browser.http.get(f"/agents/main/{view.format(revision=revision)}")
        assert response.status_code == 200, (view, response.text)
        found[view] = Counter(costs)
    return found


async def test_a_view_costs_the_same_with_many_notes_and_changes(
    house: House, browser: Browser, costs: Counter[str]
) -> None:
    """Ten times the days, notes and changes: no view runs git, lists files or parses a text more often."""
    await grow(house, 0, 3)
    few = await measured(house, browser, costs)
    await grow(house, 3, 30)
    assert len([*(workspace(house) / "memory").glob("*.md")]) == 30
    many = await measured(house, browser, costs)
    assert many == few
    for name, _, _, most in COUNTED:
        assert {view: cost[name] for view, cost in many.items() if cost[name] > most} == {}
    assert many["memory"]["parses"] == many["history?q=boat"]["changes"] == 1
