"""The index on a real Qdrant server (`tests/fakes/qdrant_server.py`), compared with the embedded engine."""

import asyncio
import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx2
import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from bench.made_notes import daily_notes, questions
from tests.fakes.certificates import Authority, can_sign
from tests.fakes.memory import WordsEmbedder
from tests.fakes.qdrant_server import Real, node, real
from tests.workspaces.memory.index.test_server import Home, StoreWorker
from tests.workspaces.turns import GROUP_CHAT, OWN
from workspaces.access import PRIVATE
from workspaces.memory.entry import Entry
from workspaces.memory.index.edge import EdgeCollections
from workspaces.memory.index.engine import EngineAwayError, Point, PointId, quantised
from workspaces.memory.index.hybrid import ALWAYS, CollectionStore, VectorQuery, Where
from workspaces.memory.index.nodes import connected
from workspaces.memory.index.server import ServerShard, connect
from workspaces.memory.index.settings import QdrantServer
from workspaces.memory.text.sparse import SparseVector
from workspaces.memory.wire import Frame

__all__ = ["real"]

ENTRIES, QUESTIONS = 10_000, 500
TIES = "".join(f"- the same line of {n % 2} again\n" for n in range(240))
"""Two lines, each so often that every search cuts through the middle of them."""


@pytest.fixture
def own(real: Real) -> Iterator[Real]:
    """The server under a prefix of the test's own, which is removed afterwards."""
    server = replace(real.server, prefix=f"test-{uuid.uuid4().hex[:12]}")
    yield replace(real, server=server)
    nodes = connected(server, real.key)
    for each in nodes.ask(lambda client: client.get_collections()).collections:
        if each.name.startswith(server.prefix):
            nodes.ask(partial(QdrantClient.delete_collection, collection_name=each.name))


@pytest.fixture
def one(own: Real) -> Iterator[Real]:
    """The server if it is one node, else a node of the test's own: a snapshot is one node's."""
    if not own.server.other_urls:
        yield own
        return
    with node() as started:
        yield Real(QdrantServer(started.url, 5, own.server.prefix))


def filled(home: Path, store: CollectionStore, entries: int) -> tuple[Home, StoreWorker]:
    """Return an agent with *entries* made notes, lines that are equal, and some of a group."""
    worker = StoreWorker(store, WordsEmbedder(dimension=32))
    agent = Home(home, worker)
    for day, text in daily_notes(entries):
        agent.write(f"memory/{day}.md", text)
    agent.write("memory/2025-01-02.md", TIES)
    agent.write(f"{OWN}/2026-03-01.md", "- our bicycle club meets in Oslo\n- the same line of 1 again\n")
    asyncio.run(agent.index.sync())
    return agent, worker


def asked(
    worker: StoreWorker, home: Path, text: str, scopes: Sequence[str] | None = None, **more: object
) -> list[Frame]:
    """Return what the worker finds, before anything is left out or put together."""
    order = {"text": text, "scopes": scopes, "limit": 50, "min_score": None, "today": "2026-06-30", "stays": False}
    arguments = order | {"since": None, "until": None} | more
    frame: Frame = asyncio.run(worker.call("search", home / "agents" / "main" / "index", arguments))
    return list(frame["hits"])


def differences(here: list[Frame], there: list[Frame]) -> list[str]:
    """Return where two answers differ in what is found, its order, or a part of a score by more than 1e-3."""
    told = [f"{len(here)} and {len(there)} hits"] if len(here) != len(there) else []
    for rank, (one, other) in enumerate(zip(here, there, strict=False)):
        places = [(hit["path"], hit["start_line"], hit["text"]) for hit in (one, other)]
        parts = [abs(one[name] - other[name]) for name in ("score", "similarity", "late", "keyword", "matched")]
        if places[0] != places[1] or max(parts) > 1e-3:
            told.append(f"rank {rank}: {places}, {max(parts):.6f}")
    return told


@pytest.mark.timeout(1800)
def test_a_server_answers_as_the_embedded_engine_does(own: Real, tmp_path: Path) -> None:
    """The same hits in the same order, each part of a score within a thousandth, ties too, for owner and group."""
    _, local = filled(tmp_path / "here", EdgeCollections(), ENTRIES)
    _, remote = filled(tmp_path / "there", connect(own.server, own.key), ENTRIES)
    texts = [*questions(QUESTIONS - 20), *(f"the same line of {n % 2} again reference {n:06d}" for n in range(20))]
    odd = {}
    for number, text in enumerate(texts):
        scopes = (None, [PRIVATE], [GROUP_CHAT])[number % 3]
        days = {"since": "2026-05-01", "until": "2026-06-15"} if number % 5 == 0 else {}
        answers = [
            asked(each, tmp_path / side, text, scopes, **days) for each, side in ((local, "here"), (remote, "there"))
        ]
        if found := differences(*answers):
            odd[text] = found
    assert not odd, dict(list(odd.items())[:3])
    for each in (local, remote):
        each.handler.close()


def test_multivectors_are_scored_as_ours_are(own: Real) -> None:
    """A server's MaxSim is the sum that late interaction computes from its own file; only rounding differs."""
    chance = np.random.default_rng(5)
    rows = [chance.standard_normal((n, 128)).astype(np.float32) for n in range(3, 13)]
    texts = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in rows]
    query = texts[0][:2]
    nodes, name = connected(own.server, own.key), f"{own.server.prefix}_maxsim"
    late = models.VectorParams(
        size=128,
        distance=models.Distance.DOT,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
    )
    nodes.ask(lambda client: client.create_collection(name, vectors_config={"late": late}))
    points = [models.PointStruct(id=n, vector={"late": text.tolist()}) for n, text in enumerate(texts)]
    nodes.ask(lambda client: client.upsert(name, points, wait=True))
    found = nodes.ask(lambda client: client.query_points(name, query=query.tolist(), using="late")).points
    ours = {n: float((query @ text.T).max(axis=1).sum()) for n, text in enumerate(texts)}
    assert {each.id: each.score for each in found} == pytest.approx(ours, abs=1e-4)


def test_a_sweep_by_the_server_changes_no_answer(own: Real) -> None:
    """Its optimiser moves points into other segments, which add up in other orders: weights are exact in any."""
    shard = ServerShard(connected(own.server, own.key), f"{own.server.prefix}_sweep").make(8)
    chance = random.Random(3)
    points = [made_point(chance, n) for n in range(3_000)]
    for start in range(0, len(points), 500):
        shard.upsert(points[start : start + 500])
    query = VectorQuery("bm25", _terms(chance, 8), Where(None), 400)
    before = shard.ask([query])[0]
    shard.delete([point.id for point in points[:1_000]])
    shard.upsert(points[:1_000])
    after = shard.ask([query])[0]
    assert dict(zip(before.ids.tolist(), before.scores.tolist(), strict=True)) == dict(
        zip(after.ids.tolist(), after.scores.tolist(), strict=True)
    ) or sorted(before.scores.tolist()) == sorted(after.scores.tolist())
    assert shard.holds([point.id for point in points])


def _terms(chance: random.Random, count: int) -> SparseVector:
    return quantised(SparseVector(chance.sample(range(60), count), [chance.uniform(0.5, 2.0) for _ in range(count)]))


def made_point(chance: random.Random, number: int) -> Point:
    """Return a point of its own for each *number*."""
    entry = Entry("memory/a.md", PRIVATE, number, number, number, f"note {number}", "", None, "")
    dense = np.random.default_rng(number).standard_normal(8).astype(np.float32)
    return Point(PointId(number + 1), entry, _terms(chance, 6), _terms(chance, 9), dense)


def test_every_filter_has_its_payload_index(own: Real) -> None:
    """Strict mode refuses a filter without one; every request of ours passes it."""
    name = f"{own.server.prefix}_strict"
    nodes = connected(own.server, own.key)
    shard = ServerShard(nodes, name, own.server).make(8)
    strict = models.StrictModeConfig(
        enabled=True,
        unindexed_filtering_retrieve=False,
        unindexed_filtering_update=False,
        max_query_limit=1_000,
        search_allow_exact=True,
    )
    nodes.ask(lambda client: client.update_collection(name, strict_mode_config=strict))
    chance = random.Random(3)
    points = [made_point(chance, n) for n in range(20)]
    shard.upsert(points)
    where = Where(frozenset({PRIVATE}), ALWAYS, frozenset(point.id for point in points[:10]))
    assert len(shard.ask([VectorQuery("dense", np.ones(8, np.float32), where, 150)])[0].ids) == 10
    shard.delete([points[0].id])
    assert shard.holds([point.id for point in points[1:]])
    refused = models.StrictModeConfig(enabled=True, search_allow_exact=False)
    nodes.ask(lambda client: client.update_collection(name, strict_mode_config=refused))
    with pytest.raises(EngineAwayError, match="strict mode refuses the index: set search_allow_exact"):
        shard.ask([VectorQuery("dense", np.ones(8, np.float32), where, 150)])


def test_a_key_is_needed_and_told(tmp_path: Path) -> None:
    """With it everything works; without it, or with another, the remedy is said."""
    with node(QDRANT__SERVICE__API_KEY="right") as started:
        folder = tmp_path / "agents" / "main" / "index" / "new"
        assert connect(QdrantServer(started.url), "right").open(folder, 8).holds([])
        for key in ("", "canary-wrong"):
            with pytest.raises(EngineAwayError, match="rejects the API key: name the variable") as told:
                connect(QdrantServer(started.url), key).open(folder, 8)
            assert "canary" not in str(told.value)


def test_an_encrypted_server_is_used_with_its_authority(tmp_path: Path) -> None:
    """Without the authority's file nothing is sent, and the remedy is said."""
    if not can_sign():
        pytest.skip("openssl is not installed")
    authority = Authority(tmp_path)
    signed = authority.sign("qdrant", "IP:127.0.0.1")
    options = {"CERT": signed.cert, "KEY": signed.key, "CA_CERT": authority.ca}
    tls = {f"QDRANT__TLS__{name}": str(path) for name, path in options.items()}
    with node(QDRANT__SERVICE__ENABLE_TLS="true", **tls) as started:
        folder = tmp_path / "agents" / "main" / "index" / "new"
        server = QdrantServer(started.url)
        with pytest.raises(EngineAwayError, match=r"certificate is not trusted: name its authority in qdrant\.ca_file"):
            connect(server).open(folder, 8)
        assert connect(replace(server, ca_file=str(authority.ca))).open(folder, 8).holds([])


def test_a_restored_snapshot_is_found_out(one: Real, tmp_path: Path) -> None:
    """A backup of the home holds no index, and needs none; a server's own snapshot brings back another day's points."""
    agent, worker = filled(tmp_path, connect(one.server, one.key), 40)
    [name] = [each for each in _names(one) if each.startswith(one.server.prefix)]
    with closing(QdrantClient(url=one.server.url, api_key=one.key or None, check_compatibility=False)) as client:
        made = client.create_snapshot(name)
        assert made is not None
        agent.write("MEMORY.md", "- likes coffee\n")
        asyncio.run(agent.index.sync())
        worker.handler.close()
        data = httpx2.get(f"{one.server.url}/collections/{name}/snapshots/{made.name}", headers={"api-key": one.key})
        restored = httpx2.post(
            f"{one.server.url}/collections/{name}/snapshots/upload?priority=snapshot",
            files={"snapshot": (made.name, data.content)},
            headers={"api-key": one.key},
            timeout=60,
        )
        assert restored.status_code == 200
        before = client.count(name).count
    worker = StoreWorker(connect(one.server, one.key), WordsEmbedder(dimension=32))
    agent = Home(tmp_path, worker)
    asyncio.run(agent.index.sync())
    assert asked(worker, tmp_path, "likes coffee")[0]["text"] == "likes coffee"
    nodes = connected(one.server, one.key)
    assert nodes.ask(lambda client: client.count(name)).count == before + 1
    worker.handler.close()


def _names(own: Real) -> list[str]:
    nodes = connected(own.server, own.key)
    return [each.name for each in nodes.ask(lambda client: client.get_collections()).collections]
