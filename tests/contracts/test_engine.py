"""Contract of every engine; the oracle is qdrant-client's own slow in-memory mode."""

import random
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from qdrant_client import QdrantClient

from tests.fakes.qdrant_server import Real, real
from tests.fakes.qdrant_stub import QdrantStub, in_memory
from workspaces.access import PRIVATE, Scope
from workspaces.memory.entry import Entry
from workspaces.memory.index.edge import EdgeShard
from workspaces.memory.index.engine import (
    CandidateRequest,
    DayRange,
    EngineBrokenError,
    FloatArray,
    Ids,
    Point,
    PointId,
    quantised,
)
from workspaces.memory.index.hybrid import ALWAYS, SPARE, HybridEngine, Leg, Shard, VectorQuery, Where
from workspaces.memory.index.nodes import Nodes, connected
from workspaces.memory.index.server import ServerShard
from workspaces.memory.text.sparse import SparseVector

__all__ = ["real"]

DIMENSION = 8
GROUP = Scope("shared:telegram.home.-100")
OTHER = Scope("shared:telegram.home.-200")


def _made(client: QdrantClient, name: str = "notes") -> ServerShard:
    return ServerShard(Nodes([client]), name).make(DIMENSION)


def _oracle() -> ServerShard:
    """The server's own requests, on qdrant-client's in-memory mode."""
    return _made(in_memory())


@contextmanager
def _stub() -> Iterator[Shard]:
    """The same requests through HTTP."""
    with QdrantStub() as stub, closing(QdrantClient(url=stub.url, check_compatibility=False)) as client:
        yield _made(client)


@contextmanager
def _server(real: Real) -> Iterator[Shard]:
    """A real server, in a collection of its own."""
    nodes, name = connected(real.server, real.key), f"contract-{uuid.uuid4()}"
    yield ServerShard(nodes, name, settings=real.server).make(DIMENSION)
    nodes.ask(lambda client: client.delete_collection(name))


@contextmanager
def _opened(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Shard]:
    match kind:
        case "stub":
            with _stub() as shard:
                yield shard
        case "server":
            with _server(request.getfixturevalue("real")) as shard:
                yield shard
        case "edge":
            with closing(EdgeShard(folder, DIMENSION)) as edge:
                yield edge
        case _:
            yield _oracle()


@pytest.fixture(params=["edge", "memory", "stub", "server"])
def shard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shard]:
    with _opened(request.param, request, tmp_path / "shard") as opened:
        yield opened


def _rows(chance: np.random.Generator, count: int) -> FloatArray:
    rows = chance.standard_normal((count, 128)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _terms(chance: random.Random, count: int) -> SparseVector:
    numbers = chance.sample(range(40), count)
    return quantised(SparseVector(numbers, [chance.uniform(0.5, 2.0) for _ in numbers]))


def _point(number: int, scope: Scope = PRIVATE, day: date | None = None, seed: int | None = None) -> Point:
    chance = random.Random(number if seed is None else seed)
    arrays = np.random.default_rng(number if seed is None else seed)
    entry = Entry(f"memory/{scope}.md", scope, number, number + 1, number + 1, f"note {number}", "Day > Work", day, "")
    dense = arrays.standard_normal(DIMENSION).astype(np.float32)
    id_ = PointId(zlib.crc32(f"{scope} {number}".encode()))
    return Point(id_, entry, _terms(chance, 6), _terms(chance, 9), dense)


def _ids(points: Sequence[Point]) -> Ids:
    return np.unique(np.array([point.id for point in points], np.int64))


def _request(
    scopes: frozenset[Scope] | None, limit: int = 10, days: DayRange = ALWAYS, seed: int = 1000
) -> CandidateRequest:
    arrays = np.random.default_rng(seed)
    dense = arrays.standard_normal(DIMENSION).astype(np.float32)
    terms = SparseVector(list(range(0, 40, 5)), [1.0] * 8)
    return CandidateRequest(scopes, terms, dense, _rows(arrays, 4) / np.float32(4), days, limit)


Parts = tuple[float, ...]
"""Cosine, bm25, bm25_context."""


class Known(dict[PointId, Entry]):
    """The entries that a manifest would know."""

    def among(self, ids: Iterable[PointId]) -> dict[PointId, Entry]:
        return {id_: self[id_] for id_ in ids if id_ in self}


class Bench:
    """An engine beside what a manifest would know of its points."""

    def __init__(self, shard: Shard, spare: int = SPARE) -> None:
        self.shard = shard
        self.entries = Known()
        self.engine = HybridEngine(shard, self.entries, spare=spare)

    def upsert(self, points: Sequence[Point]) -> None:
        self.shard.upsert(points)
        self.engine.forget(point.id for point in points)
        self.entries.update({point.id: point.entry for point in points})

    def delete(self, points: Sequence[Point]) -> None:
        self.shard.delete([point.id for point in points])
        self.engine.forget(point.id for point in points)
        for point in points:
            self.entries.pop(point.id, None)

    def ask(self, request: CandidateRequest) -> dict[Entry, Parts]:
        """Find and score; every part of every score by entry, read from the engine."""
        return self.score(request, self.engine.find(request))

    def score(self, request: CandidateRequest, ids: Ids) -> dict[Entry, Parts]:
        scores = self.engine.score(request, ids)
        columns = (scores.cosine, scores.bm25, scores.bm25_context)
        read = self.engine.entries(scores.ids.tolist())
        parts = zip(*(column.tolist() for column in columns), strict=True)
        return {read[id_]: each for id_, each in zip(scores.ids.tolist(), parts, strict=True)}


def test_every_part_of_a_score_is_what_the_oracle_computes(tmp_path: Path) -> None:
    """Both engines find the same entries and agree on every part of every score, for every audience."""
    points = [_point(n, (PRIVATE, GROUP, OTHER)[n % 3]) for n in range(90)]
    edge, oracle = Bench(EdgeShard(tmp_path / "shard", DIMENSION)), Bench(_oracle())
    for bench in (edge, oracle):
        bench.upsert(points)
    for scopes in (None, frozenset({GROUP}), frozenset({GROUP, PRIVATE})):
        ours, theirs = edge.ask(_request(scopes)), oracle.ask(_request(scopes))
        assert ours.keys() == theirs.keys()
        for entry, parts in ours.items():
            assert parts == pytest.approx(theirs[entry], abs=2e-3)
    edge.shard.close()
    oracle.shard.close()


def test_a_request_sees_its_scopes_and_no_others(shard: Shard) -> None:
    """Neither the search nor the scoring of known ids lets another audience's entry through."""
    bench = Bench(shard)
    points = [_point(n, (PRIVATE, GROUP, OTHER)[n % 3]) for n in range(30)]
    bench.upsert(points)
    request = _request(frozenset({GROUP}), limit=30)
    assert {entry.scope for entry in bench.ask(request)} == {GROUP}
    scored = bench.score(request, _ids(points))
    assert {entry.scope for entry in scored} == {GROUP}
    assert len(scored) == 10


def test_the_engine_itself_sees_the_scopes_alone(shard: Shard) -> None:
    """What a request may not see is left out by the engine, not only by those who know where entries stand."""
    bench = Bench(shard)
    bench.upsert([_point(n, (PRIVATE, GROUP, OTHER)[n % 3]) for n in range(30)])
    request = _request(frozenset({GROUP}), limit=30)
    queries = [VectorQuery("bm25", request.bm25, Where(request.scopes), 30)]
    [leg] = shard.ask(queries)
    assert {bench.entries[id_].scope for id_ in leg.ids.tolist()} == {GROUP}


def test_no_scope_means_nothing_at_all(shard: Shard) -> None:
    """A turn that may search nowhere gets nothing, not everything."""
    bench = Bench(shard)
    bench.upsert([_point(1)])
    request = _request(frozenset())
    assert bench.ask(request) == {}
    assert bench.score(request, _ids([_point(1)])) == {}


def test_private_notes_do_not_move_a_groups_scores(shard: Shard) -> None:
    """Not even the last bit of a score depends on what else is stored (the oracle's does: numpy adds up by blocks)."""
    bench = Bench(shard)
    bench.upsert([_point(n, GROUP) for n in range(20)])
    request = _request(frozenset({GROUP}))
    before = bench.ask(request)
    bench.upsert([_point(n, PRIVATE) for n in range(100, 200)])
    after = bench.ask(request)
    assert after.keys() == before.keys()
    for entry, parts in after.items():
        assert parts == (before[entry] if isinstance(shard, EdgeShard) else pytest.approx(before[entry], rel=1e-6))


def test_deleted_notes_leave_nothing_behind(shard: Shard) -> None:
    """Scores depend on what is there now, not on what once was."""
    bench = Bench(shard)
    bench.upsert([_point(n) for n in range(20)])
    before = bench.ask(_request(None))
    more = [_point(n) for n in range(100, 160)]
    bench.upsert(more)
    bench.delete([*more, _point(2**20)])
    after = bench.ask(_request(None))
    assert after.keys() == before.keys()
    for entry, parts in after.items():
        assert parts == (before[entry] if isinstance(shard, EdgeShard) else pytest.approx(before[entry], rel=1e-6))


def test_a_tie_at_the_cut_is_settled_by_place(shard: Shard) -> None:
    """Of equal entries the first of the file are found, in whichever order they were stored."""
    bench = Bench(shard)
    points = [_point(n, seed=7) for n in range(12)]
    bench.upsert(points[7:])
    bench.upsert(points[:7])
    assert sorted(entry.position for entry in bench.ask(_request(None, limit=4))) == [0, 1, 2, 3]


def test_a_tie_below_better_ones_is_settled_by_place(shard: Shard) -> None:
    """Whether the spare points show the whole tie, or a part of it and the collection is asked again."""
    points = [_point(n, seed=n // 5) for n in range(20)]
    found = []
    for spare, ordered in ((100, points), (100, points[::-1]), (1, points), (1, points[::-1])):
        bench = Bench(shard, spare)
        bench.delete(points)
        bench.upsert(ordered)
        found.append(bench.engine.find(_request(None, limit=7)).tolist())
    assert found == [found[0]] * 4


class CountingShard(ServerShard):
    """The oracle, which remembers how many points it was asked for."""

    limits: ClassVar[list[int]] = []

    def ask(self, queries: Sequence[VectorQuery]) -> list[Leg]:
        self.limits.extend(query.limit for query in queries if query.using == "bm25")
        return super().ask(queries)


def test_a_long_tie_is_looked_through_in_growing_steps() -> None:
    """A collection is never asked for all its points because some are equal: that takes as long as it is large."""
    bench = Bench(CountingShard(Nodes([in_memory()]), "notes").make(DIMENSION), spare=1)
    bench.upsert([_point(n, seed=7) for n in range(20)])
    CountingShard.limits.clear()
    assert bench.engine.find(_request(None, limit=1)).tolist() == [_point(0).id]
    assert CountingShard.limits == [2, 16, 128]


def test_dates_bound_a_search_but_not_its_scores(shard: Shard) -> None:
    """Only entries dated inside the bounds are found; their scores are those of the open search."""
    bench = Bench(shard)
    bench.upsert([_point(n, day=date(2026, 3, n)) for n in range(1, 21)] + [_point(50)])
    bounded = bench.ask(_request(None, 50, DayRange(date(2026, 3, 5), date(2026, 3, 9))))
    open_ = bench.ask(_request(None, 50))
    assert {entry.date for entry in bounded} == {date(2026, 3, n) for n in range(5, 10)}
    for entry, parts in bounded.items():
        assert parts == pytest.approx(open_[entry])


def test_a_point_that_is_stored_again_is_replaced(shard: Shard) -> None:
    """The same id keeps one entry: the newest, also where the old one had been read."""
    bench = Bench(shard)
    old, new = _point(1), _point(1, day=date(2026, 5, 1))
    bench.upsert([old])
    assert list(bench.ask(_request(None))) == [old.entry]
    bench.upsert([new])
    assert list(bench.ask(_request(None))) == [new.entry]
    assert shard.holds([new.id])
    assert not shard.holds([new.id, PointId(1)])


def test_all_ids_can_be_listed(shard: Shard) -> None:
    """The ids of what is stored, and only those, can be compared with a manifest."""
    bench = Bench(shard)
    points = [_point(n) for n in range(5)]
    bench.upsert(points)
    bench.delete(points[:1])
    assert bench.shard.ids() == {point.id for point in points[1:]}


def test_entries_without_meaning_or_embedder_are_found_by_word(shard: Shard) -> None:
    """Points without vectors take part in keyword search and have 0 in the other parts."""
    bench = Bench(shard)
    full = _point(1)
    bench.upsert([Point(full.id, full.entry, full.bm25, full.bm25_context, None)])
    [(cosine, bm25, _)] = bench.ask(CandidateRequest(None, full.bm25, None, None, ALWAYS, 10)).values()
    assert bm25 > 0
    assert cosine == 0.0


def test_what_was_flushed_is_there_after_opening_again(tmp_path: Path) -> None:
    """A closed shard answers as before when it is opened again."""
    bench = Bench(EdgeShard(tmp_path / "shard", DIMENSION))
    bench.upsert([_point(n) for n in range(20)])
    before = bench.ask(_request(None))
    bench.shard.close()
    bench.shard = EdgeShard(tmp_path / "shard", DIMENSION)
    bench.engine = HybridEngine(bench.shard, bench.entries)
    assert bench.ask(_request(None)) == before
    bench.shard.close()


def test_a_damaged_shard_says_so(tmp_path: Path) -> None:
    """A folder that holds no usable shard is reported as such, so that it can be built anew."""
    (tmp_path / "shard" / "segments").mkdir(parents=True)
    (tmp_path / "shard" / "edge_config.json").write_text("{broken")
    with pytest.raises(EngineBrokenError, match="cannot be opened"):
        EdgeShard(tmp_path / "shard", DIMENSION)
