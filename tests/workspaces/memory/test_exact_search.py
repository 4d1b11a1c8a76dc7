"""Exact search: literal, newest first, for readers with access."""

from datetime import date
from pathlib import Path

import pytest

from tests.fakes.memory import HandlerWorker, run_here
from tests.fakes.notes import IndexedNotes
from tests.workspaces.turns import CRON, GROUP, MAIN, OTHER, OWN, SUBAGENT
from workspaces.access import Access
from workspaces.memory import exact_search
from workspaces.memory.exact_search import DEADLINE_S, ExactQuery, ExactRefusedError, ExactResult, find_exact


class Home(IndexedNotes):
    """Notes without an index: none is needed."""

    def __init__(self, home: Path) -> None:
        self.worker = HandlerWorker(None)
        super().__init__(home, self.worker)

    async def find(self, text: str, access: Access = MAIN) -> list[str]:
        return [match.citation for match in (await self.index.find_exact(ExactQuery(text), access)).matches]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_lines_are_found_newest_first_with_their_neighbours(home: Home) -> None:
    """By day, later lines first; what has no day holds now; the worker is not asked."""
    home.write("memory/2026-03-01.md", "# Day\n- Tea at nine\n- rest\n- more TEA\n")
    home.write("memory/2026-03-02.md", "- steam\n")
    home.write("MEMORY.md", "- likes tea\n")
    found = (await home.index.find_exact(ExactQuery("tEa"), MAIN)).matches
    assert [(match.path, match.line) for match in found] == [
        ("MEMORY.md", 1),
        ("memory/2026-03-02.md", 1),
        ("memory/2026-03-01.md", 4),
        ("memory/2026-03-01.md", 2),
    ]
    assert (found[3].before, found[3].text, found[3].after) == ("# Day", "- Tea at nine", "- rest")
    assert home.worker.calls == []


@pytest.mark.parametrize("text", ["ÉTÉ", "e\u0301te\u0301", "МОСТ", "東京", "🫖 ok", "a.*b", "STRASSE"])
async def test_any_script_is_found_in_any_case(home: Home, text: str) -> None:
    """Letters are compared without case and form; nothing is a pattern."""
    home.write("MEMORY.md", "x\nété мост 東京 🫖 OK a.*b Straße\n")
    assert await home.find(text) == ["MEMORY.md#L2-L2"]


async def test_each_audience_finds_its_own(home: Home) -> None:
    """As every other search."""
    for path in ("MEMORY.md", f"{OWN}/2026-03-01.md", f"{OTHER}/2026-03-01.md"):
        home.write(path, "- tea\n")
    assert len(await home.find("tea")) == 3
    assert await home.find("tea", GROUP) == [f"{OWN}/2026-03-01.md#L1-L1"]
    assert await home.find("tea", SUBAGENT) == await home.find("tea", CRON) == []


async def test_days_bound_it(home: Home) -> None:
    """A heading's date counts for the lines below it; what has no day is outside of bounds."""
    home.write("memory/2026-03-01.md", "- tea\n")
    home.write("memory/trip.md", "- tea\n## 2026-03-05\n- tea\n")
    query = ExactQuery("tea", since=date(2026, 3, 2), until=date(2026, 3, 5))
    assert [m.citation for m in (await home.index.find_exact(query, MAIN)).matches] == ["memory/trip.md#L3-L3"]


@pytest.mark.parametrize("text", ["", " a ", "\n", "x" * 1_000_000])
async def test_what_is_too_short_or_too_long_is_refused(home: Home, text: str) -> None:
    """With the bounds in the message."""
    with pytest.raises(ExactRefusedError, match="2 to 500"):
        await home.find(text)


async def test_results_and_lines_are_bounded(home: Home) -> None:
    """Twenty matches unless told otherwise, and of a long line the part around the match."""
    home.write("MEMORY.md", f"{'x' * 5_000} tea {'y' * 5_000}\n" * 40)
    found = (await home.index.find_exact(ExactQuery("tea"), MAIN)).matches
    assert [match.line for match in found] == list(range(40, 20, -1))
    assert all(" tea " in match.text and len(match.text) < 260 for match in found)


async def test_unreadable_files_are_passed_over(home: Home) -> None:
    """The status names them; a search goes on."""
    home.write("MEMORY.md", "- tea\n")
    (home.notes / "memory").mkdir()
    (home.notes / "memory/blob.md").write_bytes(b"tea\0")
    assert await home.find("tea") == ["MEMORY.md#L1-L1"]


async def test_time_is_bounded(home: Home) -> None:
    """After the deadline it answers with what it has, and says how far it came."""
    home.write("memory/2026-03-02.md", "- tea\n")
    home.write("memory/2026-03-01.md", "- tea\n")
    ticks = iter([0.0, 0.0, DEADLINE_S + 1])
    result: ExactResult = await find_exact(ExactQuery("tea"), [home.source], None, run_here, lambda: next(ticks))
    assert [match.path for match in result.matches] == ["memory/2026-03-02.md"]
    assert "1 of 2 files" in result.notice
    assert exact_search.DEADLINE_S == 2.0
