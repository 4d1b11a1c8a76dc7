"""Search results by audience, and the notices with them."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.fakes.counted import counted
from tests.fakes.memory import HandlerWorker, WordsEmbedder, run_here
from tests.fakes.notes import IndexedNotes
from tests.workspaces.turns import AGENT, CRON, GROUP, GUEST, HEARTBEAT, MAIN, OTHER, OWN, SUBAGENT
from workspaces.access import PRIVATE, Access, AgentId, SessionType
from workspaces.files import Folder
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.entry import Document
from workspaces.memory.hits import LONGEST_SNIPPET, Hit
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.search_notes import LONGEST_QUERY, notice
from workspaces.memory.source_index import CHECK_EVERY_S, JUST_BEGUN_S, QueryRefusedError
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.run_blocking import P, RunBlocking, T
from workspaces.starting_files import starting_text


class Home(IndexedNotes):
    """An agent's notes and their index."""

    def __init__(self, home: Path, embedder: Embedder | None, run: RunBlocking = run_here) -> None:
        self.worker = HandlerWorker(embedder)
        super().__init__(home, self.worker, run)

    async def found(self, text: str, access: Access = MAIN, max_results: int = 6) -> list[str]:
        return [hit.snippet for hit in (await self.index.search(Query(text, max_results), access)).hits]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path, WordsEmbedder())
    yield home
    home.worker.handler.close()


async def test_a_hit_has_its_place_its_day_and_its_parts(home: Home) -> None:
    """A hit names file, lines, day and audience, and every part of its score."""
    home.note("memory/2026-03-01.md", "bought a red bicycle", "called the bank")
    [hit] = (await home.index.search(Query("red bicycle", max_results=1), MAIN)).hits
    assert hit.citation == "memory/2026-03-01.md#L1-L1"
    assert (hit.snippet, hit.date, hit.scope) == ("bought a red bicycle", date(2026, 3, 1), PRIVATE)
    assert hit.matched == 1.0
    assert min(hit.score, hit.similarity, hit.late, hit.keyword) > 0


async def test_the_current_value_of_the_long_term_notes_stays_above_the_one_before(home: Home) -> None:
    """Also where the day's notes hold a copy of each that fits better: the current line is no repetition of that."""
    values = "the door code of the garage is 5517", "the door code of the garage is 6620 since this week"
    home.note("MEMORY.md", *values)
    home.note("memory/2026-03-07.md", *(f"18:41 The user said: remember that {each}" for each in values))
    hits = (await home.index.search(Query("door code garage"), MAIN)).hits
    lines = [hit.start_line for hit in hits if hit.path == "MEMORY.md"]
    assert "6620" in hits[0].snippet
    assert lines == [2, 1]


async def test_a_changed_note_is_found_without_a_call(home: Home) -> None:
    """A search looks for changes itself: at once after `touched`, else once a second."""
    home.note("MEMORY.md", "likes tea")
    assert await home.found("tea") == ["likes tea"]
    (home.notes / "MEMORY.md").write_text("- likes coffee and tea\n")
    home.clock.now_s += CHECK_EVERY_S
    assert await home.found("tea") == ["likes coffee and tea"]


async def test_a_hot_search_looks_at_no_file(home: Home) -> None:
    """Between two checks a search is one request to the worker and nothing else."""
    home.note("MEMORY.md", "likes tea")
    await home.found("tea")
    home.worker.calls.clear()
    await home.found("tea")
    assert home.worker.calls == ["search"]


async def test_files_that_did_not_change_are_no_request(home: Home) -> None:
    """After the pause of a person a search looks at the files, and asks the worker for nothing but the hits."""
    home.note("MEMORY.md", "likes tea")
    os.utime(home.notes / "MEMORY.md", (1, 1))  # it may change no more within a tick of the clock
    await home.found("tea")
    home.worker.calls.clear()
    home.clock.now_s += CHECK_EVERY_S
    assert await home.found("tea") == ["likes tea"]
    assert home.worker.calls == ["search"]


async def test_files_are_looked_at_once_a_search(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed, and which of them hold lines that stay here, is told by one walk."""
    home.note("MEMORY.md", "likes tea")
    os.utime(home.notes / "MEMORY.md", (1, 1))
    await home.found("tea")
    looked = counted(monkeypatch, "workspaces.memory.workspace_source.is_note")
    home.clock.now_s += CHECK_EVERY_S
    assert await home.found("tea") == ["likes tea"]
    assert len(looked) == 1


@pytest.mark.parametrize("has_searched", [False, True])
async def test_what_is_found_does_not_depend_on_earlier_searches(home: Home, *, has_searched: bool) -> None:
    """Within a second of a sync no search looks for changes: what a group finds tells nothing of the owner's search."""
    home.note("MEMORY.md", "likes tea")
    if has_searched:
        await home.found("tea")
    await home.index.sync()
    (home.notes / "MEMORY.md").write_text("- likes coffee and tea\n")
    assert await home.found("tea") == ["likes tea"]


async def test_an_index_that_went_is_built_by_the_search_that_notices(home: Home) -> None:
    """Though no file changed since it was brought up to date."""
    home.note("MEMORY.md", "likes tea")
    os.utime(home.notes / "MEMORY.md", (1, 1))
    await home.found("tea")
    shutil.rmtree(home.folder)
    home.clock.now_s += CHECK_EVERY_S
    found = await home.index.search(Query("tea"), MAIN)
    assert (len(found.hits), found.mode, found.notice) == (1, "hybrid", "")


async def test_the_worker_loads_while_files_are_looked_at(tmp_path: Path) -> None:
    """A search that finds it asleep starts it before anything else."""
    looked: list[int] = []

    async def run(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        looked.append(awake.wakes)
        return function(*args, **kwargs)

    home = Home(tmp_path, WordsEmbedder(), run)
    awake = home.worker
    home.note("MEMORY.md", "likes tea")
    home.worker.is_running = False
    assert await home.found("tea") == ["likes tea"]
    assert looked[0] == 1
    home.worker.handler.close()


async def test_each_audience_finds_its_own(home: Home) -> None:
    """Main finds everything; a group or a guest finds its chat's notes; subagents and plain jobs find nothing."""
    home.note("MEMORY.md", "tea is private")
    home.note(f"{OWN}/2026-03-01.md", "tea is shared here")
    home.note(f"{OTHER}/2026-03-01.md", "tea is shared elsewhere")
    everything = {"tea is private", "tea is shared here", "tea is shared elsewhere"}
    assert set(await home.found("tea")) == everything
    assert set(await home.found("tea", HEARTBEAT)) == everything
    for access in (GROUP, GUEST):
        assert await home.found("tea", access) == ["tea is shared here"]
    for access in (SUBAGENT, CRON):
        assert await home.found("tea", access) == []


async def test_nothing_is_asked_for_a_turn_without_memory(home: Home) -> None:
    """No request goes out where no scope may be searched, and the answer has the form of any other."""
    home.note("MEMORY.md", "likes tea")
    await home.found("tea")
    home.worker.calls.clear()
    refused = await home.index.search(Query("tea"), SUBAGENT)
    assert home.worker.calls == []
    assert refused == await home.index.search(Query("tea"), GROUP)


async def test_another_agents_turn_finds_nothing(home: Home) -> None:
    """The owner's own turn with another agent is refused like a stranger's."""
    home.note("MEMORY.md", "likes tea")
    stranger = Access(AgentId("other"), SessionType.MAIN, PRIVATE, "telegram:1", 0, frozenset())
    assert (await home.index.search(Query("tea"), stranger)).hits == ()


async def test_a_hit_is_checked_again_when_it_is_returned(home: Home) -> None:
    """A point stored under the wrong audience still stays with those who may read its file."""
    home.note("MEMORY.md", "likes tea")
    document = Document("memory/2026-03-01.md", GROUP.scope, "- secret tea\n", None, "x")
    await home.index.sync()
    for _ in home.worker.handler._index(str(home.index._folder)).building.put(document, "x"):
        pass
    home.index._checked_at = home.clock.now_s
    assert await home.found("secret tea", GROUP) == []


async def test_a_correction_without_a_word_of_the_question_stands_above_what_it_corrects(home: Home) -> None:
    """The older line's vector leads to it, within one request, for recall too."""
    home.note("memory/2026-03-01.md", "the technician Rashid comes on Thursday", "the boat is green")
    home.note("memory/2026-03-02.md", "Rashid called, not Thursday, Monday instead", "Ann called on Thursday")
    hits = (await home.index.search(Query("when does the technician come?"), MAIN)).hits
    newer, older = "Rashid called, not Thursday, Monday instead", "the technician Rashid comes on Thursday"
    assert [each.snippet for each in hits[:2]] == [newer, older]
    assert [each.mark.split(",")[0] for each in hits[:2]] == ["now", "until 2026-03-02"]
    unasked = await home.index.search(Query("when does the technician come?"), MAIN, is_patient=False)
    assert [each.snippet for each in unasked.hits[:2]] == [newer, older]
    assert home.worker.calls.count("search") == 2


async def test_a_passage_holds_others_words_if_one_of_its_lines_does(home: Home) -> None:
    """The hit itself is the owner's; what it goes on with is not."""
    lines = "- 14:20 Owner: the vault was painted green\n- 15:00 Owner: it opens from the left side\n"
    document = Document("memory/2026-03-01.md", PRIVATE, lines, date(2026, 3, 1), "x", others=(2,))
    home.note("memory/2026-03-01.md")
    await home.index.sync()
    for _ in home.worker.handler._index(str(home.index._folder)).building.put(document, "x"):
        pass
    hit = (await home.index.search(Query("vault painted green"), MAIN, is_patient=False)).hits[0]
    assert (hit.start_line, "left" in hit.passage, hit.is_others) == (1, True, True)


async def test_dates_bound_a_search(home: Home) -> None:
    """Only notes of the days asked for are found; undated ones are not."""
    for day in range(1, 9):
        home.note(f"memory/2026-03-0{day}.md", f"tea on day {day}")
    home.note("MEMORY.md", "tea always")
    query = Query("tea", since=date(2026, 3, 3), until=date(2026, 3, 5))
    days = {hit.date for hit in (await home.index.search(query, MAIN)).hits}
    assert days == {date(2026, 3, day) for day in (3, 4, 5)}


async def test_a_threshold_cuts_what_hardly_bears_but_no_identifier(home: Home) -> None:
    """`min_score` is absolute; a passage with an identifier that was asked for passes every threshold."""
    home.note("MEMORY.md", "likes tea with milk", "the parcel is AB-12345 from the depot in town, says the courier")
    strict = Query("parcel AB-12345 arrived", min_score=0.99)
    assert [hit.start_line for hit in (await home.index.search(strict, MAIN)).hits] == [2]
    assert (await home.index.search(Query("tea ceremony", min_score=0.99), MAIN)).hits == ()


async def test_an_empty_query_is_refused(home: Home) -> None:
    """There is nothing to look for, and the error says so."""
    with pytest.raises(QueryRefusedError, match="empty"):
        await home.index.search(Query(" \n\t"), MAIN)


async def test_a_huge_query_is_cut_and_says_so(home: Home) -> None:
    """A megabyte is searched by its beginning."""
    home.note("MEMORY.md", "likes tea")
    result = await home.index.search(Query("tea " * 300_000), MAIN)
    assert [hit.snippet for hit in result.hits] == ["likes tea"]
    assert f"{LONGEST_QUERY:,} characters" in result.notice


@pytest.mark.parametrize("text", ["?!…", "\0", "\ud800", "🫖", "' OR 1=1 --", "{}[]", "a" * 5000])
async def test_odd_queries_are_answered(home: Home, text: str) -> None:
    """No text breaks a search."""
    home.note("MEMORY.md", "likes tea 🫖")
    assert len((await home.index.search(Query(text), MAIN)).hits) <= 1


async def test_long_passages_are_cut(home: Home) -> None:
    """A snippet is at most 700 characters; the citation leads to the rest."""
    home.note("MEMORY.md", "tea " + "word " * 250)
    [hit, *_] = (await home.index.search(Query("tea"), MAIN)).hits
    assert len(hit.snippet) == LONGEST_SNIPPET
    assert hit.snippet.endswith("…")


async def test_without_an_embedder_words_are_found_and_it_is_said(tmp_path: Path) -> None:
    """Keyword search alone answers, with the reason in the result and in the status."""
    home = Home(tmp_path, None)
    home.note("MEMORY.md", "the order GLYPH-10442 is late", "likes tea")
    result = await home.index.search(Query("GLYPH-10442"), MAIN)
    assert result.hits[0].snippet == "the order GLYPH-10442 is late"
    assert (result.mode, result.hits[0].similarity) == ("keyword", 0.0)
    assert "no model in this test" in result.notice
    status = await home.index.status()
    assert (status.mode, status.reason, status.embedder) == ("keyword", "no model in this test", None)
    home.worker.handler.close()


async def test_status_counts_and_names_what_was_skipped(home: Home) -> None:
    """Status tells documents, entries, the model and the notes that cannot be indexed."""
    home.note("MEMORY.md", "likes tea", "likes bread")
    (home.notes / "memory").mkdir()
    (home.notes / "memory/blob.md").write_bytes(b"\0")
    await home.index.sync()
    status = await home.index.status()
    assert (status.documents, status.entries, status.embedder, status.rebuilding) == (1, 2, "words", False)
    assert list(status.skipped) == ["memory/blob.md"]


async def test_a_start_without_changes_needs_no_worker(tmp_path: Path) -> None:
    """A second process knows that the index is up to date, and whose notes it has; any change is indexed."""
    home = Home(tmp_path, WordsEmbedder())
    home.note("MEMORY.md", "likes tea")
    home.note("memory/2026-03-01.md", "bought a red bicycle")

    async def starts(layout: str = "one") -> list[str]:
        """Start another process, let it catch up; return what it asks of the worker."""
        source, home.worker.calls = WorkspaceNotes(Folder(home.notes), lambda: 2**62), []
        clock = home.clock.clock()
        index = MemoryIndex(AGENT, home.folder, [source], home.worker, run_here, clock, layout=layout)
        await index.catch_up()
        assert (index.is_warm, index.has_notes_of(PRIVATE)) == (True, True)
        return home.worker.calls

    whole = ["stamps", "put", "put", "commit"]
    assert await starts() == whole
    assert await starts() == []
    home.note("MEMORY.md", "likes coffee")
    assert await starts() == ["stamps", "put", "commit"]
    assert await starts() == []
    assert await starts("two") == ["stamps", "commit"]
    (home.notes / "memory/2026-03-01.md").unlink()
    assert await starts("two") == ["stamps", "drop", "commit"]
    (home.notes / "memory/blob.md").write_bytes(b"\xff\xfe")
    assert await starts("two") == ["stamps", "commit"]
    assert await starts("two") == ["stamps", "commit"], "a file that cannot be read is named again after a start"
    home.worker.handler.close()
    shutil.rmtree(home.folder)
    assert (await starts("two"))[0] == "stamps"
    home.worker.handler.close()


async def test_a_new_workspace_needs_no_worker_before_its_first_note(tmp_path: Path) -> None:
    """Headings alone are no notes: neither the start nor a message's recall asks for them, the first note does."""
    home = Home(tmp_path, WordsEmbedder())
    (home.notes / "MEMORY.md").write_text(starting_text("MEMORY.md"))
    await home.index.catch_up()
    assert (home.worker.calls, home.index.is_warm, home.index.has_notes_of(PRIVATE)) == ([], True, False)
    (home.notes / "MEMORY.md").write_text(starting_text("MEMORY.md") + "\n- likes tea\n")
    await home.index.catch_up()
    assert home.worker.calls == ["stamps", "put", "commit"]
    home.worker.handler.close()


async def test_a_search_does_not_wait_for_a_sync_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While notes are being indexed a search answers with what there is; only the owner is told."""
    monkeypatch.setattr("workspaces.memory.source_index.JUST_BEGUN_S", JUST_BEGUN_S)
    may_read, reading = asyncio.Event(), asyncio.Event()
    is_slow = False

    class Slow:
        async def __call__(self, function, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # as `run_here`
            if is_slow:
                reading.set()
                await may_read.wait()
            return function(*args, **kwargs)

    home = Home(tmp_path, WordsEmbedder(), Slow())
    home.note(f"{OWN}/2026-03-01.md", "tea is shared here")
    await home.index.sync()
    home.note("MEMORY.md", "tea is private")
    is_slow = True
    async with asyncio.TaskGroup() as group:
        group.create_task(home.index.sync())
        await reading.wait()
        mine, theirs = await home.index.search(Query("tea"), MAIN), await home.index.search(Query("tea"), GROUP)
        may_read.set()
    assert [hit.snippet for hit in mine.hits] == ["tea is shared here"]
    assert "not indexed yet" in mine.notice
    assert theirs.notice == ""
    home.worker.handler.close()


@pytest.mark.parametrize("access", [MAIN, GROUP])
async def test_a_deleted_index_comes_back_with_the_same_answers(home: Home, access: Access) -> None:
    """The folder may go at any time: passages, order and every part of their scores are as before."""
    things = ["tea", "bread", "a red bicycle", "the bank", "a ticket to Oslo", "invoice INV-2207", "green paint"]
    for number, thing in enumerate(things * 8):
        day, chat = 1 + number // 7, "memory" if number % 2 else OWN
        home.note(f"{chat}/2026-03-{day:02}.md", *(f"{each} for day {number}" for each in (thing, things[day % 7])))
    before = [(await home.index.search(Query(thing), access)).hits for thing in things]
    shutil.rmtree(home.folder)
    home.index.touched()
    assert [(await home.index.search(Query(thing), access)).hits for thing in things] == before
    assert all(before)
    assert any(home.folder.iterdir())


async def test_a_failed_sync_is_tried_again(home: Home) -> None:
    """After a failure the next search looks again, although nothing was touched since."""
    home.note("MEMORY.md", "likes tea")
    call = home.worker.call

    async def fail(*_: object) -> dict[str, object]:
        raise MemoryUnavailableError("gone")

    home.worker.call = fail  # type: ignore[method-assign,assignment]  # the worker is away
    assert "in the files: gone" in (await home.index.search(Query("tea"), MAIN)).notice
    home.worker.call = call  # type: ignore[method-assign]  # and back
    assert await home.found("tea") == ["likes tea"]


async def test_while_the_index_is_away_each_audience_finds_its_own_in_the_files(home: Home) -> None:
    """The files know no scope of their own: they are chosen by the turn's, like everything else."""
    home.note("MEMORY.md", "tea is private")
    home.note(f"{OWN}/2026-03-01.md", "tea is shared here")
    home.note(f"{OTHER}/2026-03-01.md", "tea is shared elsewhere")

    async def fail(*_: object) -> dict[str, object]:
        raise MemoryUnavailableError("gone")

    home.worker.call = fail  # type: ignore[method-assign,assignment]  # the worker is away
    assert len(await home.found("tea")) == 3
    assert await home.found("tea", GROUP) == ["tea is shared here"]
    assert await home.found("tea", SUBAGENT) == []


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_question_is_never_the_answer(home: Home, is_away: bool) -> None:
    """Nor are what was asked word for word, courtesies and headings of the product; the fact is, wherever it stands."""
    asked = "Which port does the staging database use?"
    home.note("memory/2026-03-01.md", f"Owner (14:05): {asked}", "14:05 Conversation until 14:06")
    home.note("memory/2026-03-02.md", "Owner (14:05): staging database port", "Owner (14:06): ok port")
    home.note("memory/2026-02-01.md", "Owner (09:00): the staging database has port 5433")
    if is_away:

        async def fail(*_: object) -> dict[str, object]:
            raise MemoryUnavailableError("gone")

        home.worker.call = fail  # type: ignore[method-assign,assignment]  # the worker is away
    fact = "Owner (09:00): the staging database has port 5433"
    assert await home.found("staging database port") == [fact, "Owner (14:06): ok port"]
    assert fact in await home.found(asked)
    assert not [hit for hit in await home.found(asked) if "?" in hit or "until" in hit]
    assert not [hit for hit in await home.found("conversation until") if "until" in hit]


async def test_why_a_search_went_without_meaning_is_told_to_the_owner_alone(tmp_path: Path) -> None:
    """A reason names addresses, files and what a provider said: a group reads only that words alone were searched."""
    home = Home(tmp_path, None)
    home.note("MEMORY.md", "tea is private")
    home.note(f"{OWN}/2026-03-01.md", "tea is shared here")
    mine, theirs = [await home.index.search(Query("tea"), access) for access in (MAIN, GROUP)]
    assert (mine.notice, theirs.notice) == ("found by keywords only: no model in this test", "found by keywords only")
    home.worker.handler.close()

    async def fail(*_: object) -> dict[str, object]:
        raise MemoryUnavailableError("/home/ann/index: killed")

    home.worker.call = fail  # type: ignore[method-assign,assignment]  # the worker is away
    mine, theirs = [await home.index.search(Query("tea"), access) for access in (MAIN, GROUP)]
    assert mine.notice == "found by keywords only, in the files: /home/ann/index: killed"
    assert (theirs.notice, len(theirs.hits)) == ("found by keywords only, in the files", 1)


@pytest.mark.parametrize("part", ["unranked", "shortfall"])
def test_what_a_provider_said_is_told_to_the_owner_alone(part: str) -> None:
    """A search that a provider's fault made poorer says so to all, and why to the owner."""
    answer = {"mode": "hybrid", "reason": "", "unranked": "", "shortfall": "", "languages": "English"}
    answer[part] = "cohere at example.org: 500"
    assert "example.org" in notice("tea", answer, pending=False, to_owner=True)
    told = notice("tea", answer, pending=False, to_owner=False)
    assert (bool(told), "example.org" in told) == (True, False)


WORDS = st.sampled_from(["tea", "bread", "bicycle", "harbour", "GLYPH-1", "GLYPH-2", "мост", "東京", "rain", "why"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=6)
PRIVATE_FILES = st.dictionaries(
    st.sampled_from(["MEMORY.md", "memory/2026-03-01.md", "memory/2026-03-02.md", f"{OTHER}/2026-03-01.md"]), LINES
)


async def _group_sees(shared: list[str], private: dict[str, list[str]], query: str) -> tuple[Hit, ...]:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder), WordsEmbedder())
        for path, lines in sorted(private.items()):
            home.note(path, *lines)
        await home.index.sync()
        home.note(f"{OWN}/2026-03-01.md", *shared)
        result = await home.index.search(Query(query, max_results=50), GROUP)
        home.worker.handler.close()
        assert result.notice == ""
        return result.hits


# Without shrinking: an example takes half a second.
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(shared=LINES, private=PRIVATE_FILES, query=st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
@example(
    shared=["tea tea why tea GLYPH-1", "bicycle tea 東京 GLYPH-2 rain", "bread tea 東京 GLYPH-2 rain"],
    private={"MEMORY.md": ["bread"], "memory/2026-03-01.md": ["tea"], f"{OTHER}/2026-03-01.md": ["tea", "bread"]},
    query="GLYPH-2 bread 東京",
)
async def test_private_text_never_shows_in_a_groups_search(
    shared: list[str], private: dict[str, list[str]], query: str
) -> None:
    """Hits, every part of their scores, and their order are the same whatever is private."""
    assert await _group_sees(shared, private, query) == await _group_sees(shared, {}, query)
