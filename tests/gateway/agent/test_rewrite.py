"""A question may be searched by sub-questions too: whatever a model writes, and no memory is shown to it."""

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from gateway.agent import rewrite
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.agent.models.offline import OFFLINE, OfflineModel
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.rewrite import (
    MOST_REQUESTS,
    RewritingMemory,
    merged,
    merged_hits,
    read_queries,
    sub_questions,
)
from gateway.errors import ModelRefusedError, ModelUnavailableError
from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder, run_here
from tests.fakes.model import ScriptedModel, call, says
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import AGENT, GROUP, MAIN, OWN
from workspaces.access import PRIVATE
from workspaces.files import Folder
from workspaces.memory.exact_search import ExactQuery
from workspaces.memory.hits import Hit
from workspaces.memory.search import MemoryIndex, Query, QueryRefusedError
from workspaces.memory.workspace_source import WorkspaceNotes

QUESTION = "Which instruments do Ann and Ben play?"


class Home:
    """An agent's notes, indexed."""

    def __init__(self, home: Path) -> None:
        self.notes = home / "workspace"
        self.worker = HandlerWorker(WordsEmbedder())
        self.notes.mkdir()
        source = WorkspaceNotes(Folder(self.notes))
        self.index = MemoryIndex(AGENT, home / "index", [source], self.worker, run_here, SetClock().clock())
        self.write("MEMORY.md", "Ann has a cello", "Ben blows the horn", "which instruments do people play")
        self.write(f"{OWN}/2026-03-01.md", "Ann sings here")

    def write(self, path: str, *lines: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"- {line}\n" for line in lines))

    @property
    def searches(self) -> list[str]:
        return [frame["text"] for frame in self.worker.frames if frame["op"] == "search"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.worker.handler.close()


async def test_what_sub_questions_find_is_merged(home: Home) -> None:
    """The question is searched first, then each sub-question; what these find rises; the notice says which they are."""
    plain = [hit.snippet for hit in (await home.index.search(Query(QUESTION), MAIN)).hits]
    home.worker.frames.clear()
    model = ScriptedModel("Ann has a cello\nthe cello")
    result = await RewritingMemory(home.index, model).search(Query(QUESTION, max_results=3), MAIN)
    found = [hit.snippet for hit in result.hits]
    assert home.searches == [QUESTION, "Ann has a cello", "the cello"]
    assert found.index("Ann has a cello") < plain.index("Ann has a cello")
    assert len(found) == 3
    assert result.notice == "also searched for: Ann has a cello, the cello"
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


async def test_the_request_holds_the_question_and_nothing_else(home: Home) -> None:
    """The same for a group as for the owner, whatever is in memory: no note, no tool, no name of a chat."""
    requests = []
    for access in (MAIN, GROUP):
        model = ScriptedModel("Ann cello")
        await RewritingMemory(home.index, model).search(Query(QUESTION), access)
        [request] = model.requests
        [entry] = request.entries
        assert isinstance(entry, UserEntry)
        requests.append((request.stable, request.volatile, entry.text, entry.sender, request.tools))
    assert requests[0] == requests[1]
    assert requests[0][1:] == ("", QUESTION, "", ())
    assert not {"cello", "sings", "shared"} & set(requests[0][0].split())


async def test_a_group_finds_its_own_by_any_sub_question(home: Home) -> None:
    """Sub-questions are searched with the turn's access."""
    model = ScriptedModel("Ann cello\nMEMORY.md private horn")
    result = await RewritingMemory(home.index, model).search(Query(QUESTION), GROUP)
    assert [hit.snippet for hit in result.hits] == ["Ann sings here"]


@pytest.mark.parametrize(
    "step",
    [
        ModelUnavailableError("down"),
        ModelRefusedError("no"),
        "",
        QUESTION,
        f"{QUESTION.upper()}\n",
        "x" * 100_000,
        "[" * 100_000,
        '"' * 100_000,
        "\n" * 100_000,
        "?!\n...\n\x00\x1b[31m red herring",
        "[1, null, {}]",
        "{}",
        says("", call("memory_search", query="all")),
        ReplyEntry("I am no language model", (), OFFLINE, Usage()),
    ],
    ids=lambda step: repr(step)[:20],
)
async def test_no_sub_questions_leave_the_search_as_it_is(
    home: Home, step: str | ReplyEntry | ModelUnavailableError | ModelRefusedError
) -> None:
    """A failure, an empty, hostile or useless reply: the same hits, scores and notice as without."""
    plain = await home.index.search(Query(QUESTION), MAIN)
    assert await RewritingMemory(home.index, ScriptedModel(step)).search(Query(QUESTION), MAIN) == plain


async def test_a_model_that_hangs_is_not_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deadline the question's own hits are the answer, and the request is cut off."""
    monkeypatch.setattr(rewrite, "DEADLINE_S", 0.05)
    was_cut = asyncio.Event()

    class Hanging(ScriptedModel):
        async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
            try:
                await asyncio.Event().wait()
            finally:
                was_cut.set()
            raise AssertionError("nobody lets it go")

    plain = await home.index.search(Query(QUESTION), MAIN)
    async with asyncio.timeout(PATIENCE_S):
        assert await RewritingMemory(home.index, Hanging()).search(Query(QUESTION), MAIN) == plain
    assert was_cut.is_set()


async def test_a_turn_has_so_many_requests(home: Home) -> None:
    """A model that searches on and on costs no more than four of them."""
    model = ScriptedModel(*["Ann cello"] * (MOST_REQUESTS + 1))
    memory = RewritingMemory(home.index, model)
    for _ in range(MOST_REQUESTS + 2):
        await memory.search(Query(QUESTION), MAIN)
    assert len(model.requests) == MOST_REQUESTS


@pytest.mark.parametrize("text", ["cello", "the cello", "what does AB-12345 say of Ann and Ben"])
async def test_what_one_search_answers_asks_no_model(home: Home, text: str) -> None:
    """Few words, or an identifier, which is found letter by letter."""
    model = ScriptedModel()
    await RewritingMemory(home.index, model).search(Query(text), MAIN)
    assert model.requests == []


async def test_an_earlier_day_is_searched_once(home: Home) -> None:
    """Its index is built for each search; without a history it is refused as ever."""
    model = ScriptedModel()
    with pytest.raises(QueryRefusedError):
        await RewritingMemory(home.index, model).search(Query(QUESTION, as_of=date(2026, 3, 1)), MAIN)
    assert model.requests == []


async def test_the_rest_of_memory_is_as_it_was(home: Home) -> None:
    """Exact search, reading, audiences."""
    memory, query = RewritingMemory(home.index, ScriptedModel()), ExactQuery("cello")
    assert await memory.find_exact(query, MAIN) == await home.index.find_exact(query, MAIN)
    assert await memory.read("MEMORY.md", GROUP) is None
    assert memory.audience("MEMORY.md") == PRIVATE


async def test_the_offline_responder_rewrites_nothing() -> None:
    """It is no language model."""
    assert await sub_questions(QUESTION, OfflineModel()) == ()


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("Ann cello\nBen horn\n", ("Ann cello", "Ben horn")),
        ("1. Ann cello\n2) Ben horn", ("Ann cello", "Ben horn")),
        ('- "Ann cello"\n* `Ben horn`,', ("Ann cello", "Ben horn")),
        ('["Ann cello", "Ben horn"]', ("Ann cello", "Ben horn")),
        ("a cello\nb horn\nc harp\nd lute", ("a cello", "b horn", "c harp")),
        ("Ann cello\nann  CELLO?\n\n", ("Ann cello",)),
        ("Аня виолончель\n安の楽器", ("Аня виолончель", "安の楽器")),
        ("2026 marathon", ("2026 marathon",)),
        ("x" * 201, ()),
    ],
)
def test_queries_are_read_in_whatever_dress(text: str, queries: tuple[str, ...]) -> None:
    """Numbers, bullets, quotes and JSON fall away; repetitions, the fourth and what is too long are dropped."""
    assert read_queries(text, QUESTION) == queries


def test_lists_are_merged_by_place() -> None:
    """What two lists have comes before what one has; the question's own list counts double; ties keep their order."""
    assert [item for item, _ in merged([["a", "b"], ["c", "b"]])] == ["b", "a", "c"]
    assert [item for item, _ in merged([["a", "b", "c"], ["d"]])] == ["a", "b", "c", "d"]
    assert merged([["a", "a"], []]) == [("a", 0.1)]
    assert [item for item, _ in merged([[], ["x", "y"], ["y", "x"]])] == ["x", "y"]


def test_a_hit_that_two_found_is_there_once_with_its_best_relevance() -> None:
    """And one list is left as it is."""

    def hit(line: int, relevance: float) -> Hit:
        return Hit("a.md", line, line, "x", "", None, PRIVATE, 3.0, 0, 0, 0, 0, relevance)

    [first, second] = merged_hits([[hit(1, 0.2), hit(2, 0.5)], [hit(2, 0.9)]])
    assert [(first.start_line, first.relevance), (second.start_line, second.relevance)] == [(2, 0.9), (1, 0.2)]
    assert merged_hits([[hit(1, 0.2)]]) == [hit(1, 0.2)]
