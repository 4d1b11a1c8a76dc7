"""Results of the memory tools for a model."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from gateway.agent.entries import ToolCall, UsedMemory
from gateway.agent.tools.memory import memory_tools
from gateway.agent.tools.tool import Toolbox
from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder, run_here
from tests.workspaces.turns import AGENT, CRON, GROUP, MAIN, OWN, SUBAGENT
from workspaces.access import Access
from workspaces.memory.as_of import Lookback
from workspaces.memory.search import MemoryIndex
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.workspace import Workspace


class Rig:
    """An agent with notes, and its tools."""

    def __init__(self, home: Path) -> None:
        (home / "workspace").mkdir()
        self.workspace = Workspace.open(home / "workspace", AGENT)
        self.worker = HandlerWorker(WordsEmbedder())
        source = WorkspaceNotes(self.workspace.folder)
        self.folder = home / "index"
        self.index = MemoryIndex(AGENT, self.folder, [source], self.worker, run_here, SetClock().clock())
        self.workspace.write("MEMORY.md", "- tea is private\n", MAIN, None)
        self.workspace.write(f"{OWN}/2026-03-01.md", "- tea\n- is shared\n", GROUP, None)

    def tools(self, access: Access) -> Toolbox:
        return Toolbox(memory_tools(self.index, self.workspace, access, run_here), access)

    async def call(self, access: Access, name: str, **arguments: object) -> dict[str, Any]:
        result = await self.tools(access).call(ToolCall("1", name, json.dumps(arguments)))
        return {"error": result.text} if result.is_error else json.loads(result.text)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.worker.handler.close()


async def test_a_hit_shows_the_line_that_it_is_understood_with(rig: Rig) -> None:
    """Its citation is its own line's."""
    said, goes_on = "14:20 Owner: the kite was in the cellar", "15:00 Owner: moved it to the car boot"
    rig.workspace.write("memory/2026-03-01.md", f"- {said}\n- {goes_on}\n", MAIN, None)
    [hit, *_] = (await rig.call(MAIN, "memory_search", query="kite in the cellar"))["hits"]
    assert (hit["citation"], hit["snippet"]) == ("memory/2026-03-01.md#L1-L1", f"{said}\n{goes_on}")


async def test_a_search_gives_passages_with_their_source(rig: Rig) -> None:
    """Each hit has citation, lines, date, text and the parts of its score; the answer says how it was found."""
    answer = await rig.call(MAIN, "memory_search", query="private tea", max_results=1)
    [hit] = answer["hits"]
    assert (answer["mode"], answer["notice"]) == ("hybrid", "")
    assert (hit["citation"], hit["snippet"], hit["date"]) == ("MEMORY.md#L1-L1", "tea is private", None)
    assert hit["matched"] == 1.0
    assert {"path", "start_line", "end_line", "score", "similarity", "keyword"} <= hit.keys()


async def test_a_model_is_told_where_nothing_clearly_fits(rig: Rig) -> None:
    """The nearest are shown, and named so; what fits nothing at all is left out; scores are from 0 to 1."""
    clear = await rig.call(MAIN, "memory_search", query="private tea")
    assert "verdict" not in clear
    assert all(0 <= hit["score"] <= 1 for hit in clear["hits"])
    near = await rig.call(MAIN, "memory_search", query="tea harbour violin telescope battery")
    assert near["hits"]
    assert near["verdict"] == "No clear match; the closest:"
    nothing = await rig.call(MAIN, "memory_search", query="harbour violin telescope")
    assert (nothing["hits"], "verdict" in nothing) == ([], False)


async def test_a_model_is_told_how_much_is_left_out_and_how_to_get_it(rig: Rig) -> None:
    """Further passages that clearly fit are counted, their names listed; who gets all of them is told nothing."""
    cities = ("Ghent", "Turin", "Aarhus", "Cork", "Graz")
    lines = "".join(f"- 2026: tea in {city} with Kate\n" for city in cities)
    rig.workspace.write("memory/trips.md", lines, MAIN, None)
    rig.index.touched()
    some = await rig.call(MAIN, "memory_search", query="tea with Kate", max_results=2)
    assert some["left_out"] == 3
    assert some["next"].startswith("the same query with max_results=5; or add one of: ")
    shown = " ".join(hit["snippet"] for hit in some["hits"])
    assert all((city in some["next"]) != (city in shown) for city in cities)
    every = await rig.call(MAIN, "memory_search", query="tea with Kate", max_results=5)
    assert not {"left_out", "next"} & every.keys()
    group = await rig.call(GROUP, "memory_search", query="tea with Kate", max_results=1)
    assert "Kate" not in str(group)
    assert "left_out" not in group


@pytest.mark.parametrize("path", [".", "sessions", "memory", "sessions/none.jsonl"])
async def test_a_path_that_is_no_note_is_an_empty_text(rig: Rig, path: str) -> None:
    """The workspace itself, a folder, a conversation that never was: nothing there, and no failure."""
    assert (await rig.call(GROUP, "memory_get", path=path))["text"] == ""


async def test_a_group_searches_and_reads_its_own(rig: Rig) -> None:
    """No argument widens what the turn may see: a private note looks absent."""
    answer = await rig.call(GROUP, "memory_search", query="private tea")
    assert {hit["path"] for hit in answer["hits"]} == {f"{OWN}/2026-03-01.md"}
    private = await rig.call(GROUP, "memory_get", path="MEMORY.md")
    absent = await rig.call(GROUP, "memory_get", path="NOTHING.md")
    assert private == absent | {"path": "MEMORY.md"}
    assert absent == {"path": "NOTHING.md", "text": ""}


async def test_lines_of_a_note_can_be_read(rig: Rig) -> None:
    """`from_line` and `lines` give a part; the whole is the default."""
    path = f"{OWN}/2026-03-01.md"
    part = await rig.call(MAIN, "memory_get", path=path, from_line=2, lines=1)
    assert part == {"path": path, "from_line": 2, "total_lines": 2, "text": "- is shared\n"}
    assert (await rig.call(MAIN, "memory_get", path=path))["text"] == "- tea\n- is shared\n"


async def test_a_citation_gives_its_lines(rig: Rig) -> None:
    """As a search gives it; a line after the end is told with the number of lines; no other's file is read by it."""
    path = f"{OWN}/2026-03-01.md"
    [hit, *_] = (await rig.call(GROUP, "memory_search", query="is shared"))["hits"]
    cited = await rig.call(GROUP, "memory_get", path=hit["citation"])
    assert cited == {"path": path, "from_line": 2, "total_lines": 2, "text": "- is shared\n"}
    assert await rig.call(GROUP, "memory_get", path=f"{path}#L2") == cited
    assert (await rig.call(GROUP, "memory_get", path=f"{path}#L2", from_line=1))["text"] == "- tea\n- is shared\n"
    after = await rig.call(GROUP, "memory_get", path=f"{path}#L5-L9")
    assert (after["text"], after["notice"]) == ("", f"{path} has only 2 lines")
    assert (await rig.call(GROUP, "memory_get", path="MEMORY.md#L1"))["text"] == ""


async def test_turns_without_memory_have_no_memory_tools(rig: Rig) -> None:
    """Subagents and plain jobs are not even told of them."""
    for access in (SUBAGENT, CRON):
        assert rig.tools(access).specs == ()


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("memory_search", {"query": "  "}, "empty"),
        ("memory_search", {"query": "tea", "max_results": 0}, "max_results"),
        (
            "search_history",
            {"query": "tea", "since": "2026-03-02", "until": "2026-03-01"},
            "since: 2026-03-02 is after until (2026-03-01)",
        ),
        ("memory_search", {"query": "tea", "scope": "private"}, "scope"),
        ("memory_get", {"path": "../etc/passwd"}, "passwd"),
    ],
)
async def test_mistakes_are_told_to_the_model(rig: Rig, name: str, arguments: dict[str, object], problem: str) -> None:
    """A bad argument is an error result that says what is wrong."""
    assert problem in (await rig.call(MAIN, name, **arguments))["error"]


async def test_history_is_searched_between_days_and_letter_by_letter(rig: Rig) -> None:
    """By meaning it answers as memory_search; exact, it lists lines with their neighbours and marks the match."""
    day = {"since": "2026-03-01", "until": "2026-03-01"}
    answer = await rig.call(MAIN, "search_history", query="tea", **day)
    assert {hit["path"] for hit in answer["hits"]} == {f"{OWN}/2026-03-01.md"}
    arguments = json.dumps({"query": "IS SHARED", "exact": True})
    listed = await rig.tools(MAIN).call(ToolCall("1", "search_history", arguments))
    assert listed.text == f"{OWN}/2026-03-01.md:2 (2026-03-01)\n  - tea\n> - is shared\n  "
    private = await rig.tools(GROUP).call(ToolCall("1", "search_history", '{"query": "private", "exact": true}'))
    assert private.text == "nothing found"
    for wrong in ({"query": "x", "exact": True}, {"query": "tea", "since": "soon"}, {"query": ""}):
        assert "error" in await rig.call(MAIN, "search_history", **wrong)


async def test_the_older_name_works_and_costs_nothing(rig: Rig) -> None:
    """`search_memory` is answered, but not offered: a request pays for every tool that is."""
    listed = await rig.tools(MAIN).call(ToolCall("1", "search_memory", '{"query": "is shared"}'))
    assert "> - is shared" in listed.text
    assert [spec.name for spec in rig.tools(MAIN).specs] == ["memory_search", "memory_get", "search_history"]


async def test_notes_are_searched_as_they_once_were(rig: Rig) -> None:
    """By meaning and letter by letter, each with the day in its citation; what is used is kept with the day."""
    day = date(2026, 3, 1)
    kept: list[UsedMemory] = []

    async def used(memories: Sequence[UsedMemory]) -> None:
        kept.extend(memories)

    async def texts_on(asked: date, access: Access) -> Mapping[PurePosixPath, str]:
        return {PurePosixPath("MEMORY.md"): f"- coffee on {asked}\n"} if access is MAIN else {}

    rig.index.past = Lookback(AGENT, rig.folder, texts_on, rig.worker, run_here, time.monotonic)
    tools = Toolbox(memory_tools(rig.index, rig.workspace, MAIN, run_here, used), MAIN)
    for exact in (False, True):
        arguments = {"query": "coffee", "as_of": str(day), "exact": exact}
        said = await tools.call(ToolCall("1", "search_history", json.dumps(arguments)))
        assert f"coffee on {day}" in said.text
        assert f"at the end of {day}" in said.text
    assert [memory.citation for memory in kept] == [f"MEMORY.md#L1-L1@{day}"] * 2
    assert (await rig.call(GROUP, "search_history", query="coffee", as_of=str(day)))["hits"] == []
