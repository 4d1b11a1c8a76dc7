"""The index on a Qdrant server, also when that is slow, gone, or comes back empty."""

import asyncio
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec import structs
from qdrant_client import QdrantClient

from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder
from tests.fakes.notes import IndexedNotes
from tests.fakes.patience import PATIENCE_S
from tests.fakes.qdrant_stub import QdrantStub
from tests.workspaces.turns import AGENT, GROUP, MAIN, OTHER, OWN
from workspaces.access import AgentId
from workspaces.memory.client import MemoryUnavailableError, WorkerClient, WorkerSettings
from workspaces.memory.index.edge import EdgeCollections
from workspaces.memory.index.engine import EngineAwayError
from workspaces.memory.index.hybrid import CollectionStore
from workspaces.memory.index.index import layout
from workspaces.memory.index.request_handler import RequestHandler
from workspaces.memory.index.server import PAUSES, connect
from workspaces.memory.index.settings import ONE_NODE, QdrantServer
from workspaces.memory.query import Query
from workspaces.memory.sync import WorkerCalls
from workspaces.memory.wire import Frame

KEY = "canary-qdrant-key"


@pytest.fixture
def stub() -> Iterator[QdrantStub]:
    with QdrantStub() as stub:
        yield stub


OTHER_AGENT = AgentId("other")
OTHER_OWNER = structs.replace(MAIN, agent=OTHER_AGENT)


class StoreWorker(HandlerWorker):
    """The worker's desk over a server's collections; a request that fails does so as the real worker's."""

    def __init__(self, store: CollectionStore, embedder: WordsEmbedder | None = None) -> None:
        super().__init__(None)
        self.handler = RequestHandler(embedder or WordsEmbedder(), "", time.monotonic, store)

    async def call(self, op: str, folder: Path, arguments: Mapping[str, object]) -> Frame:
        try:
            return await super().call(op, folder, arguments)
        except EngineAwayError as exc:
            raise MemoryUnavailableError(str(exc)) from exc


class Home(IndexedNotes):
    """An agent's notes, with an index on the stub, reached through the real worker process."""

    def __init__(self, home: Path, worker: WorkerCalls, agent: AgentId = AGENT, clock: SetClock | None = None) -> None:
        super().__init__(home / "agents" / agent, worker, agent=agent, clock=clock)


def _settings(stub: QdrantStub) -> WorkerSettings:
    return WorkerSettings(embedder="none", qdrant=QdrantServer(stub.url, 1.0), qdrant_key=KEY)


async def test_notes_are_kept_on_the_server(stub: QdrantStub, tmp_path: Path) -> None:
    """The whole way through the worker: one collection an agent, named after prefix and layout, the key by the pipe."""
    assert KEY not in repr(_settings(stub))
    async with WorkerClient(_settings(stub)) as worker:
        home = Home(tmp_path, worker)
        home.write("memory/2026-03-01.md", "- red bicycle\n")
        assert [hit.snippet for hit in (await home.search("bicycle")).hits] == ["red bicycle"]
    assert [each.name for each in stub.memory.get_collections().collections] == [f"strandline_main_{layout(None)}"]
    assert stub.keys == {KEY}


async def test_a_server_that_is_slow_or_gone_costs_no_answer(stub: QdrantStub, tmp_path: Path) -> None:
    """The files answer by words without waiting for it, for whom they may, and say so; later the index catches up."""
    async with WorkerClient(_settings(stub)) as worker:
        home = Home(tmp_path, worker)
        home.write("memory/2026-03-01.md", "- red bicycle\n- blue moon\n")
        home.write(f"{OTHER}/2026-03-01.md", "- the bicycle of others\n")
        await home.index.sync()
        home.index.answers_within_s = 0.6
        stub.is_slow = True
        home.write(f"{OWN}/2026-03-01.md", "- our bicycle club\n")
        begun = time.monotonic()
        mine = await home.search("the red bicycle")
        assert time.monotonic() - begun < 15
        assert (mine.mode, mine.hits[0].citation) == ("keyword", "memory/2026-03-01.md#L1-L1")
        assert "in the files" in mine.notice
        theirs = await home.search("bicycle", GROUP)
        assert [hit.snippet for hit in theirs.hits] == ["our bicycle club"]
        stub.is_slow = False
        stub.let_go.set()
        home.index.answers_within_s = None
        await home.index.sync()
        after = await home.search("bicycle club")
        assert (after.hits[0].snippet, after.notice) == (
            "our bicycle club",
            "found by keywords only: meaning search is switched off",
        )


async def test_a_write_that_waits_holds_up_no_search(stub: QdrantStub, tmp_path: Path) -> None:
    """Other agents and automatic recall are answered by the index, the agent itself by words, the new note included."""
    settings = WorkerSettings(embedder="none", qdrant=QdrantServer(stub.url, PATIENCE_S))
    async with WorkerClient(settings) as worker, asyncio.TaskGroup() as tasks:
        mine, other = Home(tmp_path, worker), Home(tmp_path, worker, OTHER_AGENT)
        for home in (mine, other):
            home.write("MEMORY.md", "- red bicycle\n")
            await home.index.sync()
            home.index.answers_within_s = 2
        stub.holds_writes = True
        mine.write("MEMORY.md", "- red bicycle\n- blue bicycle bell\n")
        writing = tasks.create_task(mine.index.sync())
        await asyncio.sleep(0)
        for _ in range(2):  # no pause follows
            own = await mine.search("blue bell")
            assert (own.hits[0].snippet, "in the files" in own.notice) == ("blue bicycle bell", True)
            recalled = await mine.index.search(Query("bicycle"), MAIN, is_patient=False)
            theirs = await other.search("bicycle", OTHER_OWNER)
            for found in (recalled, theirs):
                assert ([hit.snippet for hit in found.hits], "in the files" in found.notice) == (["red bicycle"], False)
        assert not writing.done()
        stub.holds_writes = False
        stub.let_go.set()
        await writing
        assert (found := await mine.search("blue bell")).hits[0].snippet == "blue bicycle bell"
        assert "in the files" not in found.notice


@pytest.mark.parametrize("asked", ["likes tea", "what is tea-4711"])
async def test_a_node_that_lacks_a_note_leaves_the_answer_to_the_files(
    stub: QdrantStub, tmp_path: Path, asked: str
) -> None:
    """It comes back from a cut and answers with less than was confirmed; nobody is told of a KeyError."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea-4711\n- hates rain\n")
    await home.index.sync()
    stub.lacks_points = True
    found = await home.search(asked)
    assert (found.hits[0].snippet, "has not caught up yet" in found.notice) == ("likes tea-4711", True)
    stub.lacks_points = False
    assert "in the files" not in (await home.search(asked)).notice
    worker.handler.close()


async def test_one_slow_answer_does_not_send_the_next_searches_to_the_files(stub: QdrantStub, tmp_path: Path) -> None:
    """The index is asked again half a second later; a second one in a row costs a second."""
    clock = SetClock()
    async with WorkerClient(_settings(stub)) as worker:
        home = Home(tmp_path, worker, clock=clock)
        home.write("MEMORY.md", "- red bicycle\n")
        await home.index.sync()
        for pause_s in (0.5, 1.0):
            home.index.answers_within_s, stub.is_slow = 0.6, True
            assert "in the files" in (await home.search("bicycle")).notice
            stub.is_slow = False
            stub.let_go.set()
            home.index.answers_within_s = None
            clock.now_s += 0.9 * pause_s
            assert "a moment ago" in (await home.search("bicycle")).notice
            clock.now_s += 0.1 * pause_s
            stub.let_go.clear()
        assert "in the files" not in (await home.search("bicycle")).notice


async def test_a_server_that_refuses_is_left_alone_for_a_moment(stub: QdrantStub, tmp_path: Path) -> None:
    """An index that cannot be opened is not tried with every search."""
    now = [0.0]
    store = connect(QdrantServer(stub.url))
    store._clock = lambda: now[0]
    worker = StoreWorker(store)
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    stub.fails_with = 503

    assert (await home.search("tea")).hits[0].snippet == "likes tea"
    asked = len(stub.requests)
    assert "in the files" in (await home.search("tea")).notice
    assert len(stub.requests) == asked
    stub.fails_with = None
    now[0] += PAUSES.longest_s
    assert (await home.search("tea")).mode == "hybrid"
    worker.handler.close()


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_what_may_be_over_in_a_moment_is_asked_again_once(stub: QdrantStub, tmp_path: Path, status: int) -> None:
    """A server that is busy for one request costs nothing; one that is busy for longer, an answer by words."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    stub.hiccups.append((status, {}))
    assert ((found := await home.search("tea")).mode, found.hits[0].snippet) == ("hybrid", "likes tea")
    stub.hiccups.extend([(status, {})] * 2)
    assert "in the files" in (await home.search("tea")).notice
    assert not stub.hiccups
    worker.handler.close()


async def test_a_server_that_says_how_long_it_is_busy_is_left_alone(stub: QdrantStub, tmp_path: Path) -> None:
    """The client has an error of its own for that; it is a fault like others, and nothing is asked again."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    stub.hiccups.extend([(429, {"Retry-After": "30"})] * 2)
    assert ((found := await home.search("tea")).hits[0].snippet, "in the files" in found.notice) == ("likes tea", True)
    assert len(stub.hiccups) == 1
    worker.handler.close()


@pytest.mark.parametrize("made", [0, 1])
async def test_a_collection_that_was_made_by_halves_is_made_whole(stub: QdrantStub, tmp_path: Path, made: int) -> None:
    """Whoever made it was cut off before its indexes were there; what is there is left as it is."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    worker.handler.close()
    ((name, whole),) = stub.indexes.items()
    stub.indexes[name] = set(sorted(whole)[:made])
    stub.requests.clear()
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    assert (await Home(tmp_path, worker).search("tea")).mode == "hybrid"
    assert stub.indexes[name] == whole == {"scope", "day"}
    assert len([each for each in stub.requests if each.partition("?")[0].endswith("/index")]) == 2 - made
    worker.handler.close()


async def test_a_collection_that_another_gateway_makes_meanwhile_is_used(stub: QdrantStub, tmp_path: Path) -> None:
    """Both see that it is not there; the second is told that it is there, and goes on."""
    for number, place in enumerate(("one", "other")):
        stub.hides = number
        worker = StoreWorker(connect(QdrantServer(stub.url)))
        home = Home(tmp_path / place, worker)
        home.write("MEMORY.md", "- likes tea\n")
        assert (await home.search("tea")).mode == "hybrid"
        worker.handler.close()
    assert len(stub.memory.get_collections().collections) == 1
    assert stub.hides == 0


@pytest.mark.parametrize("lost", ["server", "folder"])
async def test_what_one_side_lost_comes_back(stub: QdrantStub, tmp_path: Path, lost: str) -> None:
    """A server that was emptied is filled again; an index folder that was deleted leaves nothing stale behind."""
    for text in ("- likes tea\n- hates rain\n", "- likes tea\n"):
        store = connect(QdrantServer(stub.url))
        worker = StoreWorker(store)
        home = Home(tmp_path, worker)
        home.write("MEMORY.md", text)
        await home.index.sync()
        assert {hit.snippet for hit in (await home.search("tea rain")).hits} == {
            line.removeprefix("- ") for line in text.splitlines()
        }
        worker.handler.close()
        _lose(lost, stub.memory, tmp_path)


@pytest.mark.parametrize("text", ["- likes coffee\n", "- likes coffee\n- hates rain\n"])
async def test_an_engine_that_was_left_for_a_while_is_not_believed(stub: QdrantStub, tmp_path: Path, text: str) -> None:
    """Both keep what they had when the settings led elsewhere; whichever comes back learns what has changed since."""
    shelves: list[CollectionStore] = [
        EdgeCollections(),
        connect(QdrantServer(stub.url)),
        EdgeCollections(),
        connect(QdrantServer(stub.url)),
    ]
    for store, said in zip(shelves, ["- likes tea\n", text, text, "- likes tea\n"], strict=True):
        worker = StoreWorker(store)
        home = Home(tmp_path, worker)
        home.write("MEMORY.md", said)
        found = {hit.snippet for hit in (await home.search("likes rain")).hits}
        assert found == {line.removeprefix("- ") for line in said.splitlines()}
        worker.handler.close()


THREE_NODES = QdrantServer(replication_factor=3, write_consistency_factor=2, read_consistency="majority")


async def test_several_nodes_keep_a_collection_as_it_is_set(stub: QdrantStub, tmp_path: Path) -> None:
    """Replicas and confirmations when it is made, agreement with every question; unset, the server decides."""
    for number, nodes in enumerate((ONE_NODE, THREE_NODES)):
        stub.requests.clear()
        stub.bodies.clear()
        worker = StoreWorker(connect(replace(nodes, url=stub.url, prefix=f"p{number}")))
        home = Home(tmp_path / str(number), worker)
        home.write("MEMORY.md", "- likes tea\n")
        assert (await home.search("tea")).hits[0].snippet == "likes tea"
        made = next(body for path, body in stub.bodies if path == "")
        factors = made.get("replication_factor"), made.get("write_consistency_factor")
        assert factors == (nodes.replication_factor, nodes.write_consistency_factor)
        questions = [each for each in stub.requests if "/points/query/batch" in each or "/points/scroll" in each]
        asked = {parse_qs(urlsplit(each).query).get("consistency", [None])[0] for each in questions}
        assert asked == {nodes.read_consistency}
        worker.handler.close()


def _lose(what: str, memory: QdrantClient, home: Path) -> None:
    if what == "folder":
        shutil.rmtree(home / "agents" / "main" / "index")
        return
    for each in memory.get_collections().collections:
        memory.delete_collection(each.name)
