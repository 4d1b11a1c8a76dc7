"""Which node of a Qdrant server is asked, what is said of one that cannot be used, and what follows an outage."""

import queue
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import models

from tests.fakes.qdrant_stub import QdrantStub
from tests.workspaces.memory.index.test_server import Home, StoreWorker
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.engine import EngineAwayError
from workspaces.memory.index.index import layout
from workspaces.memory.index.loop import Loop
from workspaces.memory.index.nodes import SEARCH_S, connected
from workspaces.memory.index.request_handler import RequestHandler
from workspaces.memory.index.server import PAUSES, connect
from workspaces.memory.index.settings import QdrantServer, version_fault
from workspaces.memory.wire import Frame, document_out

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def stub() -> Iterator[QdrantStub]:
    with QdrantStub() as stub:
        yield stub


@pytest.fixture
def other(stub: QdrantStub) -> Iterator[QdrantStub]:
    """Another node of the same cluster: both show the same collections."""
    with QdrantStub() as other:
        own, other.memory = other.memory, stub.memory
        yield other
        other.memory = own


@pytest.mark.parametrize("trouble", ["gone", "slow", 500, 503])
async def test_another_node_answers_for_one_that_cannot(
    stub: QdrantStub, other: QdrantStub, tmp_path: Path, trouble: str | int
) -> None:
    """It costs no answer, and the next request goes to the node that answered."""
    first = NOBODY if trouble == "gone" else stub.url
    worker = StoreWorker(connect(QdrantServer(first, 60, other_urls=(other.url,))))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    stub.is_slow, stub.fails_with = trouble == "slow", trouble if isinstance(trouble, int) else None
    begun = time.monotonic()
    found = await home.search("tea")
    assert (found.mode, found.hits[0].snippet, "in the files" in found.notice) == ("hybrid", "likes tea", False)
    assert (SEARCH_S if trouble == "slow" else 0) <= time.monotonic() - begun < 55
    stub.requests.clear()
    other.requests.clear()
    assert (await home.search("tea")).mode == "hybrid"
    assert (bool(stub.requests), bool(other.requests)) == (False, True)
    stub.let_go.set()
    worker.handler.close()


def test_a_change_that_fails_leaves_the_node_of_searches(stub: QdrantStub, other: QdrantStub) -> None:
    """The node that was asked may only have waited for one that is away."""
    nodes = connected(QdrantServer(stub.url, other_urls=(other.url,)), "")
    stub.fails_with = 503
    nodes.ask(lambda client: client.get_collections(), is_change=True)
    stub.fails_with = None
    stub.requests.clear()
    nodes.ask(lambda client: client.get_collections())
    assert stub.requests == ["GET /collections"]


def test_a_cluster_whose_nodes_are_all_away_is_away(stub: QdrantStub, other: QdrantStub) -> None:
    """Each is asked once."""
    stub.fails_with = other.fails_with = 503
    with pytest.raises(EngineAwayError, match="status 503"):
        connected(QdrantServer(stub.url, other_urls=(other.url,)), "").ask(lambda client: client.get_collections())
    assert (stub.requests, other.requests) == (["GET /collections"], ["GET /collections"])


def test_a_server_is_asked_directly_and_a_redirect_is_not_followed(
    stub: QdrantStub, other: QdrantStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of the environment, and an address that a server here points to, would read what stays here."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, other.url)
    stub.hiccups.append((307, {"Location": f"{other.url}/collections/notes/points/query/batch"}))
    with pytest.raises(EngineAwayError, match="status 307"):
        connected(QdrantServer(stub.url), "").ask(lambda client: client.query_batch_points("notes", []))
    assert (list(stub.hiccups), other.requests) == ([], [])


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, "Must provide an API key", "rejects the API key: name the variable that holds it in qdrant.api_key_env"),
        (403, "Invalid API key", "rejects the API key: name the variable that holds it in qdrant.api_key_env"),
        (500, "Service internal error: No space left on device: WAL", "is full: free space there, or enlarge it"),
        (400, "Wrong input: Strict mode error: Index required", "strict mode refuses the index"),
        (418, "canary in a message", "cannot be used now (status 418): see its log"),
    ],
)
async def test_a_server_that_refuses_is_told_with_the_remedy(
    stub: QdrantStub, tmp_path: Path, status: int, error: str, said: str
) -> None:
    """In one line, without its own message, which may repeat a note; the files answer meanwhile."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    stub.fails_with, stub.error = status, error
    found = await home.search("tea")
    assert (found.hits[0].snippet, said in found.notice) == ("likes tea", True)
    assert "\n" not in found.notice
    assert "canary" not in found.notice
    worker.handler.close()


async def test_another_major_version_is_not_written_to(stub: QdrantStub, tmp_path: Path) -> None:
    """It is asked for nothing but its version, and the remedy is said."""
    stub.version = "2.0.1"
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    notice = (await home.search("tea")).notice
    assert "it is Qdrant 2.0.1; run 1.10 or a newer release of version 1" in notice
    assert set(stub.requests) == {"GET /"}
    worker.handler.close()


@pytest.mark.parametrize(
    ("version", "can_hold"),
    [("1.9.7", False), ("1.10.0", True), ("1.18.3", True), ("2.0.0", False), ("", False)],
)
def test_which_versions_can_hold_the_index(version: str, can_hold: bool) -> None:
    """Those of the known major version, from the first with what the index needs."""
    assert (not version_fault(version)) == can_hold


async def test_what_is_not_qdrant_or_has_no_authority_is_told(stub: QdrantStub, tmp_path: Path) -> None:
    """A server that answers otherwise, and a file that cannot be read."""
    stub.version = None  # type: ignore[assignment]  # what no Qdrant says
    with pytest.raises(EngineAwayError, match="something else than Qdrant answers"):
        connect(QdrantServer(stub.url)).open(tmp_path / "agents" / "main" / "index" / "new", 0)
    nothing = QdrantServer("https://127.0.0.1:1", ca_file=str(tmp_path / "nothing.pem"))
    with pytest.raises(EngineAwayError, match="ca_file cannot be read"):
        connect(nothing).open(tmp_path / "agents" / "main" / "index" / "new", 0)


async def test_a_collection_that_something_else_made_is_left_alone(stub: QdrantStub, tmp_path: Path) -> None:
    """Its name would be ours, its vectors are not: nothing is stored in it, and the remedy is said."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    name = f"strandline_main_{layout(worker.handler._embedder)}"
    theirs = models.VectorParams(size=3, distance=models.Distance.DOT)
    stub.memory.create_collection(name, vectors_config={"dense": theirs})
    home.write("MEMORY.md", "- likes tea\n")
    notice = (await home.search("tea")).notice
    assert f"the collection {name} on the Qdrant server was made by something else: delete it there" in notice
    assert stub.memory.count(name).count == 0
    assert (name in stub.indexes) is False
    worker.handler.close()


async def test_a_server_that_comes_back_empty_is_filled_again(stub: QdrantStub, tmp_path: Path) -> None:
    """By the next search: after a failure it is opened anew and compared; the files answer until it is whole."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n- hates rain\n")
    await home.index.sync()
    for each in stub.memory.get_collections().collections:
        stub.memory.delete_collection(each.name)
    stub.indexes.clear()
    assert ((found := await home.search("tea")).hits[0].snippet, "in the files" in found.notice) == ("likes tea", True)
    assert ((found := await home.search("tea rain")).mode, len(found.hits), found.notice) == ("hybrid", 2, "")
    worker.handler.close()


async def test_an_older_state_with_as_many_points_is_found_out(stub: QdrantStub, tmp_path: Path) -> None:
    """A snapshot that was restored on the server: an entry of then does not come back, and one of now is there."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("MEMORY.md", "- likes tea\n")
    await home.index.sync()
    [each] = stub.memory.get_collections().collections
    [then], _ = stub.memory.scroll(each.name, with_vectors=True, with_payload=True)
    home.write("MEMORY.md", "- likes coffee\n")
    await home.index.sync()
    worker.handler.close()
    stub.memory.delete(each.name, models.Filter(must=[]))
    point = models.PointStruct(id=then.id, vector=then.vector or {}, payload=then.payload)  # type: ignore[arg-type]
    stub.memory.upsert(each.name, [point])
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    await home.index.sync()
    assert [hit.snippet for hit in (await home.search("likes")).hits] == ["likes coffee"]
    assert stub.memory.count(each.name).count == 1
    worker.handler.close()


def test_an_outage_is_over_after_a_pause(stub: QdrantStub, tmp_path: Path) -> None:
    """Until then nothing is asked, and the reason is said again; each failure in a row doubles it, to five seconds."""
    now = [0.0]
    store = connect(QdrantServer(stub.url))
    store._clock = lambda: now[0]
    folder = tmp_path / "agents" / "main" / "index" / "new"
    stub.fails_with = 503
    for pause_s in (0.5, 1, 2, 4, 5, 5):
        stub.requests.clear()
        for waited_s in (0.0, 0.9 * pause_s):
            now[0] += waited_s
            with pytest.raises(EngineAwayError, match="status 503"):
                store.open(folder, 0)
        assert len(stub.requests) == 2  # the first attempt's
        now[0] += 0.1 * pause_s
    stub.fails_with = None
    assert store.open(folder, 0).holds([])
    stub.fails_with = 503
    with pytest.raises(EngineAwayError):
        store.open(folder, 0)
    stub.fails_with = None
    now[0] += PAUSES.first_s
    assert store.open(folder, 0).holds([])


def test_a_server_that_is_away_takes_one_line_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its reason and its remedy, without the calls that led there: nothing in them can be mended."""
    handler = RequestHandler(None, "", time.monotonic, connect(QdrantServer(NOBODY)))
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    said: list[Frame] = []
    requests.put({"id": 1, "op": "status", "folder": str(tmp_path / "agents" / "main" / "index")})
    requests.put(None)
    Loop(handler, said.append, time.monotonic).run(requests)
    assert "start it, or correct qdrant.url" in said[0]["failed"]
    assert [(each.getMessage(), each.exc_info) for each in caplog.records] == [
        (f"a memory request failed: {said[0]['failed']}", None)
    ]


def test_a_change_whose_index_is_opened_anew_fails_with_a_sentence(tmp_path: Path) -> None:
    """Another request finds the index gone between two steps, as after a refusal of its server; the rest goes on."""
    handler, folder = RequestHandler(None, "", time.monotonic), tmp_path / "index"
    lines = "".join(f"- line {number} about gardens\n" for number in range(3000))
    document = document_out(Document("memory/a.md", PRIVATE, lines, None, "1"))
    change = {"folder": str(folder), "document": document, "stamp": "1"}
    for work in (
        handler.put(change),
        handler.drop({"folder": str(folder), "paths": ["memory/a.md"]}),
    ):
        next(work)
        shutil.rmtree(folder)
        assert handler.answer({"op": "stamps", "folder": str(folder)}) == {"stamps": {}}
        with pytest.raises(EngineAwayError, match="opened anew in the middle of a change, which is made again"):
            list(work)
        list(handler.put(change))
    handler.close()


async def test_a_search_takes_few_requests(stub: QdrantStub, tmp_path: Path) -> None:
    """Candidates, their neighbours, all entries that are shown, and what came later: one request each."""
    worker = StoreWorker(connect(QdrantServer(stub.url)))
    home = Home(tmp_path, worker)
    home.write("memory/2026-03-01.md", "".join(f"- tea number {n} of {n % 7} cups\n" for n in range(60)))
    await home.index.sync()
    stub.requests.clear()
    assert (await home.search("tea of 3 cups")).mode == "hybrid"
    asked = [each.split("/points/")[1].partition("?")[0] for each in stub.requests]
    found = [["query/batch"] * number + ["scroll"] for number in (2, 3)]
    assert asked in (*found, *([*each, "query/batch"] for each in found))
    worker.handler.close()
