"""This file answers one search in a collection: query vectors, the engine's candidates, their ranking and parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice

import numpy as np

from workspaces.access import Scope
from workspaces.memory.embeddings import QueryReader
from workspaces.memory.engine import Candidate, CandidateRequest, DayRange, Engine, FloatArray, PointId, stepped
from workspaces.memory.entry import Entry
from workspaces.memory.manifest import Manifest
from workspaces.memory.ranking import (
    KEYWORDS_ALONE,
    WITHOUT_DENSE,
    WITHOUT_LATE,
    Ranked,
    Weights,
    is_turn,
    question_of,
    rank,
    relevance,
    thinned,
)
from workspaces.memory.sparse import SparseVector, query_vector

POOL = 80
"""Candidates a leg; more find nothing more (docs/search-speed.md)."""
NEIGHBOURS = 2
"""How far the ranking looks from an entry to those beside it."""
NEIGHBOURED = 25
"""How many of the best found entries have those beside them scored too; worse ones have little to lend."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as the worker gets it; the gateway has turned `Access` into scopes."""

    text: str
    scopes: frozenset[Scope] | None
    days: DayRange
    limit: int
    min_score: float | None
    today: date


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that answers, with the parts that do not depend on the other entries."""

    entry: Entry
    score: float
    similarity: float
    late: float
    keyword: float
    matched: float
    relevance: float
    is_exact: bool
    """It holds an identifier of the query word for word."""


class Finder:
    """Searches one collection."""

    def __init__(self, engine: Engine, manifest: Manifest, embedder: QueryReader | None) -> None:
        self._engine = engine
        self._manifest = manifest
        self._embedder = embedder

    def find(self, asked: Asked) -> list[Found]:
        """Return the best `asked.limit` entries, best first; none where no scope may be searched."""
        request = self.request(asked)
        ids = self._engine.find(request)
        question, weights = question_of(asked.text, asked.today), _weights(request)
        candidates = self._engine.score(request, ids)
        best = nlargest(max(NEIGHBOURED, asked.limit), candidates, _promise(candidates))
        candidates += self._engine.score(request, self._beside(best, candidates))
        ranked = rank(question, candidates, weights, asked.today)
        found = (self._found(each, request) for each in thinned(ranked) if _is_within(each, asked.days))
        return list(islice((each for each in found if _is_clear(each, asked.min_score)), asked.limit))

    def request(self, asked: Asked) -> CandidateRequest:
        """Return what the engine is asked for: words weighted by rarity, and the vectors of the query."""
        words = self._rare(query_vector(asked.text), asked.scopes)
        if self._embedder is None:
            return CandidateRequest(asked.scopes, words, None, None, asked.days, POOL)
        query = self._embedder.embed_query(asked.text)
        tokens = self._weighted(query.tokens, query.piece_ids, asked.scopes) if len(query.tokens) else None
        return CandidateRequest(asked.scopes, words, query.pooled, tokens, asked.days, POOL)

    def _rare(self, words: SparseVector, scopes: frozenset[Scope] | None) -> SparseVector:
        """Multiply each word's weight by its IDF, counted in the scopes that are searched."""
        idf = self._manifest.words.idf(words.indices, scopes)
        values = [weight * rarity for weight, rarity in zip(words.values, idf, strict=True)]
        return stepped(SparseVector(words.indices, values))

    def _weighted(self, tokens: FloatArray, pieces: Sequence[int], scopes: frozenset[Scope] | None) -> FloatArray:
        """Scale each row by its word piece's share of the query's IDF, counted in the scopes that are searched."""
        idf = np.array(self._manifest.pieces.idf(pieces, scopes), np.float32)
        return np.asarray(tokens * (idf / idf.sum())[:, np.newaxis], np.float32)

    def _beside(self, best: Sequence[Candidate], scored: Sequence[Candidate]) -> list[PointId]:
        """Return the entries beside the turns among *best* that are not *scored* yet.

        A file has one scope, so theirs is the same.
        """
        beside = (id_ for found in best if is_turn(found.entry) for id_ in self._manifest.beside(found.id, NEIGHBOURS))
        known = {candidate.id for candidate in scored}
        return [id_ for id_ in dict.fromkeys(beside) if id_ not in known]

    def _found(self, ranked: Ranked, request: CandidateRequest) -> Found:
        candidate = ranked.candidate
        matched = self._matched(candidate.id, request)
        return Found(
            entry=candidate.entry,
            score=ranked.score,
            similarity=candidate.cosine,
            late=candidate.late,
            keyword=max(candidate.bm25, candidate.bm25_context),
            matched=matched,
            relevance=relevance(candidate.cosine, candidate.late, matched),
            is_exact=bool(ranked.identifiers),
        )

    def _matched(self, id_: PointId, request: CandidateRequest) -> float:
        """Return how much of the query's IDF the entry's own words cover, 0 to 1."""
        held = set(self._manifest.points[id_].terms)
        weights = dict(zip(request.bm25.indices, request.bm25.values, strict=True))
        covered = sum(weight for term, weight in weights.items() if term in held)
        return covered / sum(weights.values()) if weights else 0.0


def _promise(candidates: Sequence[Candidate]) -> Callable[[Candidate], tuple[float, str, int]]:
    """Return a rough measure of a candidate, a tenth of the work of ranking it, that tells the better half."""
    top = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0

    def promise(candidate: Candidate) -> tuple[float, str, int]:
        roughly = candidate.late_context + candidate.cosine + candidate.bm25 / top
        return roughly, candidate.entry.path, candidate.entry.position

    return promise


def _is_clear(found: Found, min_score: float | None) -> bool:
    """An identifier that was asked for and found is never below a threshold."""
    return min_score is None or found.is_exact or found.relevance >= min_score


def _weights(request: CandidateRequest) -> Weights:
    if request.dense is None or not np.any(request.dense):
        return KEYWORDS_ALONE if request.tokens is None else WITHOUT_DENSE
    return WITHOUT_LATE if request.tokens is None else Weights()


def _is_within(ranked: Ranked, days: DayRange) -> bool:
    """A neighbour of what was found may lie outside the bounds."""
    day = ranked.candidate.entry.date
    if days.since is None and days.until is None:
        return True
    return day is not None and (days.since or date.min) <= day <= (days.until or date.max)
