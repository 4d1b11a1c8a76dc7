"""This file says what every engine must do; the oracle is qdrant-client's own slow in-memory mode."""

import random
import zlib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from workspaces.access import PRIVATE, Scope
from workspaces.memory import hybrid
from workspaces.memory.edge import EdgeShard
from workspaces.memory.engine import (
    Candidate,
    CandidateRequest,
    DayRange,
    EngineBrokenError,
    FloatArray,
    Point,
    PointId,
    stepped,
)
from workspaces.memory.entry import Entry
from workspaces.memory.hybrid import ALWAYS, HybridEngine, Scored, Shard, VectorQuery, Where, entry_of, payload_of
from workspaces.memory.sparse import SparseVector

DIMENSION = 8
GROUP = Scope("shared:telegram.home.-100")
OTHER = Scope("shared:telegram.home.-200")


class OracleShard:
    """A `Shard` on qdrant-client's in-memory mode, asked in the models that a server would get."""

    def __init__(self) -> None:
        self._client = QdrantClient(":memory:")
        tokens = models.VectorParams(
            size=128,
            distance=models.Distance.DOT,
            datatype=models.Datatype.FLOAT16,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        )
        sparse = models.SparseVectorParams()
        self._client.create_collection(
            "notes",
            vectors_config={
                "dense": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE),
                "tokens": tokens,
                "tokens_context": tokens,
            },
            sparse_vectors_config={"bm25": sparse, "bm25_context": sparse},
        )

    def ask(self, queries: Sequence[VectorQuery]) -> list[list[Scored]]:
        answers = self._client.query_batch_points("notes", [self._request(query) for query in queries])
        return [[(PointId(int(point.id)), point.score) for point in answer.points] for answer in answers]

    def _request(self, query: VectorQuery) -> models.QueryRequest:
        vector: Any = query.vector.tolist() if isinstance(query.vector, np.ndarray) else _sparse(query.vector)
        return models.QueryRequest(
            query=models.NearestQuery(nearest=vector),
            using=query.using,
            filter=_filter(query.where),
            limit=query.limit,
            score_threshold=query.above,
        )

    def entries(self, ids: Sequence[PointId]) -> dict[PointId, Entry]:
        records = self._client.retrieve("notes", list(ids), with_payload=True)
        return {PointId(int(record.id)): entry_of(record.payload or {}) for record in records}

    def size(self) -> int:
        return self._client.count("notes").count

    def ids(self) -> set[PointId]:
        records, _ = self._client.scroll("notes", limit=10_000, with_payload=False)
        return {PointId(int(record.id)) for record in records}

    def upsert(self, points: Sequence[Point]) -> None:
        structs = [
            models.PointStruct(id=point.id, vector=_vectors(point), payload=payload_of(point.entry)) for point in points
        ]
        if structs:
            self._client.upsert("notes", structs)

    def delete(self, ids: Sequence[PointId]) -> None:
        if ids:
            self._client.delete("notes", models.PointIdsList(points=list(ids)))

    def flush(self) -> None:
        """Memory needs none."""

    def close(self) -> None:
        self._client.close()


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _vectors(point: Point) -> dict[str, Any]:
    vectors: dict[str, Any] = {"bm25": _sparse(point.bm25), "bm25_context": _sparse(point.bm25_context)}
    if point.dense is not None:
        vectors["dense"] = point.dense.tolist()
    for name, rows in (("tokens", point.tokens), ("tokens_context", point.tokens_context)):
        if rows is not None and len(rows):
            vectors[name] = rows.tolist()
    return vectors


def _filter(where: Where) -> models.Filter:
    must: list[models.Condition] = []
    if where.scopes is not None:
        must.append(models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(map(str, where.scopes)))))
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=list(where.ids)))
    if where.days != ALWAYS:
        since, until = (day.toordinal() if day else None for day in (where.days.since, where.days.until))
        must.append(models.FieldCondition(key="day", range=models.Range(gte=since, lte=until)))
    return models.Filter(must=must)


@pytest.fixture(params=["edge", "oracle"])
def shard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shard]:
    opened: Shard = EdgeShard(tmp_path / "shard", DIMENSION) if request.param == "edge" else OracleShard()
    yield opened
    opened.close()


def _rows(chance: np.random.Generator, count: int) -> FloatArray:
    rows = chance.standard_normal((count, 128)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _terms(chance: random.Random, count: int) -> SparseVector:
    numbers = chance.sample(range(40), count)
    return stepped(SparseVector(numbers, [chance.uniform(0.5, 2.0) for _ in numbers]))


def _point(number: int, scope: Scope = PRIVATE, day: date | None = None, seed: int | None = None) -> Point:
    chance = random.Random(number if seed is None else seed)
    arrays = np.random.default_rng(number if seed is None else seed)
    tokens = _rows(arrays, 3).astype(np.float16)
    context = np.concatenate([_rows(arrays, 2).astype(np.float16), tokens])
    entry = Entry(f"memory/{scope}.md", scope, number, number + 1, number + 1, f"note {number}", "Day > Work", day, "")
    dense = arrays.standard_normal(DIMENSION).astype(np.float32)
    id_ = PointId(zlib.crc32(f"{scope} {number}".encode()))
    return Point(id_, entry, _terms(chance, 6), _terms(chance, 9), dense, tokens, context)


def _request(
    scopes: frozenset[Scope] | None, limit: int = 10, days: DayRange = ALWAYS, seed: int = 1000
) -> CandidateRequest:
    arrays = np.random.default_rng(seed)
    dense = arrays.standard_normal(DIMENSION).astype(np.float32)
    terms = SparseVector(list(range(0, 40, 5)), [1.0] * 8)
    return CandidateRequest(scopes, terms, dense, _rows(arrays, 4) / np.float32(4), days, limit)


def _ask(engine: HybridEngine, request: CandidateRequest) -> list[Candidate]:
    return engine.score(request, engine.find(request))


def _parts(candidate: Candidate) -> tuple[float, ...]:
    return (candidate.cosine, candidate.late, candidate.late_context, candidate.bm25, candidate.bm25_context)


def test_every_part_of_a_score_is_what_the_oracle_computes(tmp_path: Path) -> None:
    """Both engines find the same entries and agree on every part of every score, for every audience."""
    points = [_point(n, (PRIVATE, GROUP, OTHER)[n % 3]) for n in range(90)]
    edge, oracle = HybridEngine(EdgeShard(tmp_path / "shard", DIMENSION)), HybridEngine(OracleShard())
    for engine in (edge, oracle):
        engine.upsert(points)
    for scopes in (None, frozenset({GROUP}), frozenset({GROUP, PRIVATE})):
        ours = {c.entry: _parts(c) for c in _ask(edge, _request(scopes))}
        theirs = {c.entry: _parts(c) for c in _ask(oracle, _request(scopes))}
        assert ours.keys() == theirs.keys()
        for entry, parts in ours.items():
            assert parts == pytest.approx(theirs[entry], abs=2e-3)
    edge.close()
    oracle.close()


def test_a_request_sees_its_scopes_and_no_others(shard: Shard) -> None:
    """Neither the search nor the scoring of known ids lets another audience's entry through."""
    engine = HybridEngine(shard)
    points = [_point(n, (PRIVATE, GROUP, OTHER)[n % 3]) for n in range(30)]
    engine.upsert(points)
    request = _request(frozenset({GROUP}), limit=30)
    assert {c.entry.scope for c in _ask(engine, request)} == {GROUP}
    scored = engine.score(request, [point.id for point in points])
    assert {c.entry.scope for c in scored} == {GROUP}
    assert len(scored) == 10


def test_no_scope_means_nothing_at_all(shard: Shard) -> None:
    """A turn that may search nowhere gets nothing, not everything."""
    engine = HybridEngine(shard)
    engine.upsert([_point(1)])
    request = _request(frozenset())
    assert engine.find(request) == []
    assert engine.score(request, [_point(1).id]) == []


def test_private_notes_do_not_move_a_groups_scores(shard: Shard) -> None:
    """Not even the last bit of a score depends on what else is stored."""
    engine = HybridEngine(shard)
    engine.upsert([_point(n, GROUP) for n in range(20)])
    request = _request(frozenset({GROUP}))
    before = _ask(engine, request)
    engine.upsert([_point(n, PRIVATE) for n in range(100, 200)])
    assert _ask(engine, request) == before


def test_deleted_notes_leave_nothing_behind(shard: Shard) -> None:
    """Scores depend on what is there now, not on what once was."""
    engine = HybridEngine(shard)
    engine.upsert([_point(n) for n in range(20)])
    before = _ask(engine, _request(None))
    more = [_point(n) for n in range(100, 160)]
    engine.upsert(more)
    engine.delete([point.id for point in more] + [PointId(2**62)])
    assert _ask(engine, _request(None)) == before


def test_a_tie_at_the_cut_is_settled_by_place(shard: Shard) -> None:
    """Of equal entries the first of the file are found, in whichever order they were stored."""
    engine = HybridEngine(shard)
    points = [_point(n, seed=7) for n in range(12)]
    engine.upsert(points[7:])
    engine.upsert(points[:7])
    found = _ask(engine, _request(None, limit=4))
    assert sorted(c.entry.position for c in found) == [0, 1, 2, 3]


def test_a_tie_below_better_ones_is_settled_by_place(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the spare points show the whole tie, or a part of it and the collection is asked again."""
    points = [_point(n, seed=n // 5) for n in range(20)]
    found = []
    for spare, ordered in ((100, points), (100, points[::-1]), (1, points), (1, points[::-1])):
        monkeypatch.setattr(hybrid, "SPARE", spare)
        engine = HybridEngine(shard)
        engine.delete([point.id for point in points])
        engine.upsert(ordered)
        found.append(set(engine.find(_request(None, limit=7))))
    assert found == [found[0]] * 4


def test_dates_bound_a_search_but_not_its_scores(shard: Shard) -> None:
    """Only entries dated inside the bounds are found; their scores are those of the open search."""
    engine = HybridEngine(shard)
    engine.upsert([_point(n, day=date(2026, 3, n)) for n in range(1, 21)] + [_point(50)])
    bounded = _ask(engine, _request(None, 50, DayRange(date(2026, 3, 5), date(2026, 3, 9))))
    open_ = {c.entry: _parts(c) for c in _ask(engine, _request(None, 50))}
    assert {c.entry.date for c in bounded} == {date(2026, 3, n) for n in range(5, 10)}
    for candidate in bounded:
        assert _parts(candidate) == pytest.approx(open_[candidate.entry])


def test_a_point_that_is_stored_again_is_replaced(shard: Shard) -> None:
    """The same id keeps one entry: the newest, also where the old one had been read."""
    engine = HybridEngine(shard)
    old, new = _point(1), _point(1, day=date(2026, 5, 1))
    engine.upsert([old])
    assert [c.entry for c in _ask(engine, _request(None))] == [old.entry]
    engine.upsert([new])
    assert [c.entry for c in _ask(engine, _request(None))] == [new.entry]
    assert shard.size() == 1


def test_all_ids_can_be_listed(shard: Shard) -> None:
    """The ids of what is stored, and only those, can be compared with a manifest."""
    engine = HybridEngine(shard)
    points = [_point(n) for n in range(5)]
    engine.upsert(points)
    engine.delete([points[0].id])
    assert engine.ids() == {point.id for point in points[1:]}


def test_entries_without_meaning_or_embedder_are_found_by_word(shard: Shard) -> None:
    """Points without vectors take part in keyword search and have 0 in the other parts."""
    engine = HybridEngine(shard)
    full = _point(1)
    engine.upsert([Point(full.id, full.entry, full.bm25, full.bm25_context, None, None, None)])
    request = CandidateRequest(None, full.bm25, None, None, ALWAYS, 10)
    [found] = _ask(engine, request)
    assert found.bm25 > 0
    assert (found.cosine, found.late, found.late_context) == (0.0, 0.0, 0.0)


def test_what_was_flushed_is_there_after_opening_again(tmp_path: Path) -> None:
    """A closed shard answers as before when it is opened again."""
    engine = HybridEngine(EdgeShard(tmp_path / "shard", DIMENSION))
    engine.upsert([_point(n) for n in range(20)])
    before = _ask(engine, _request(None))
    engine.close()
    again = HybridEngine(EdgeShard(tmp_path / "shard", DIMENSION))
    assert _ask(again, _request(None)) == before
    again.close()


def test_a_damaged_shard_says_so(tmp_path: Path) -> None:
    """A folder that holds no usable shard is reported as such, so that it can be built anew."""
    (tmp_path / "shard" / "segments").mkdir(parents=True)
    (tmp_path / "shard" / "edge_config.json").write_text("{broken")
    with pytest.raises(EngineBrokenError, match="cannot be opened"):
        EdgeShard(tmp_path / "shard", DIMENSION)
