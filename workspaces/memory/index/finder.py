"""One search in a collection: query vectors, the engine's candidates, their ranking and score parts."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice

import numpy as np
from msgspec import Struct, structs

from workspaces.access import Scope
from workspaces.memory.entry import Entry
from workspaces.memory.index.embeddings import ChangeReader, QueryReader
from workspaces.memory.index.engine import (
    CandidateRequest,
    Column,
    DayRange,
    EngineAwayError,
    FloatArray,
    Ids,
    PointId,
    Scores,
    quantised,
)
from workspaces.memory.index.hybrid import ALWAYS, HybridEngine, distinct
from workspaces.memory.index.manifest import Manifest
from workspaces.memory.index.order import (
    DECLARING,
    MatchingEntry,
    answer_first,
    in_turn,
    reordered,
    takes_back,
    with_translated,
)
from workspaces.memory.index.passages import Places, needed_after, needed_before
from workspaces.memory.index.ranking import (
    FITTING,
    KEYWORDS_ALONE,
    LEAST,
    LEAST_BESIDE,
    REACH,
    WITHOUT_DENSE,
    WITHOUT_LATE,
    ParsedQuery,
    Pool,
    Ranked,
    Weights,
    answers,
    blended,
    identifiers_in_text,
    question_of,
    rank,
    relevance,
)
from workspaces.memory.index.rarity import unpack
from workspaces.memory.index.repetitions import shown_once, without_near_duplicates, without_noted_orders
from workspaces.memory.index.settings import GENTLE, Blend, Decay
from workspaces.memory.index.spelling import OFTEN, Spelling
from workspaces.memory.index.successor import Successors, may_have_changed
from workspaces.memory.index.translation import Translation
from workspaces.memory.index.vectors import Vectors
from workspaces.memory.index.word_coverage import covered_shares
from workspaces.memory.text.answer_kind import AnswerKind, asked_kind
from workspaces.memory.text.day_spans import latest
from workspaces.memory.text.dialogue import TOLD, LineKind, is_evidence, read_line, refers_back
from workspaces.memory.text.list_questions import asks_for_several
from workspaces.memory.text.nicknames import renamed
from workspaces.memory.text.sparse import SparseVector, query_vector

POOL = 50
"""Candidates per search; more rarely find more (docs/measurements/search-speed.md)."""
NEIGHBOURED = 25
"""Number of the best candidates whose neighbours are scored too; worse ones have little to lend."""
CORRECTED = 6
"""Number of the best results that may have been corrected right afterwards."""
SPARE = 2
"""Results read beyond those wanted, in place of orders that a note follows."""
LONGEST_SPAN, MOST_SPANS = 32, 3
"""Days of a named span, and number of spans, that are searched apart; each takes as long as the search itself."""
DEPTH = 12
"""Least number of results among which those that hold the kind of answer asked for are looked for."""
LOOKUP_WORDS = 3
"""Most words of a query that looks a single word up; a longer one with one such word asks for more."""
WITHOUT_WORD = 0.35
"""Least score of an entry that lacks the only word of a query, if others hold it."""
LISTED_SPEAKER = 0.15
"""`Weights.speaker` for a question for several things: most of its answers were said by whom it names."""
LEAST_LISTED = 0.05
"""Least score of further items of a list, if something fits: they are told in other words than the question's."""


class SearchRequest(Struct, frozen=True):
    """A search request in the worker; the gateway has turned `Access` into scopes."""

    text: str
    scopes: frozenset[Scope] | None
    days: DayRange
    limit: int
    min_score: float | None
    today: date
    decay: Decay = GENTLE
    blend: Blend | None = None


class Finder:
    """Searches one collection."""

    def __init__(
        self,
        engine: HybridEngine,
        manifest: Manifest,
        embedder: QueryReader | None,
        vectors: Vectors | None = None,
    ) -> None:
        """*vectors* are those that were stored; without them, no later line that changed the best result is found."""
        self._engine = engine
        self._manifest = manifest
        self._embedder = embedder
        reader: object = embedder
        change = reader.change if isinstance(reader, ChangeReader) else None
        self._successors = None if vectors is None else Successors(engine, manifest.points, vectors, change)
        self._spelling = Spelling(manifest.words, embedder, self._tells)
        self._translation = Translation(manifest.words)

    def find(self, asked: SearchRequest) -> list[MatchingEntry]:
        """Return the best `asked.limit` entries, best first; none if no scope may be searched.

        If one of the best declares another name of somebody in the query, that is searched for too, unless it asks
        for a name; and so are the words of other languages in the notes for the things that it names.
        """
        found = self._best(asked)
        if asked.blend:
            return found[: asked.limit]
        has_days = bool(question_of(asked.text, asked.today).dates)
        for query in () if has_days else self._translation.queries(asked.text, asked.scopes):
            others = [each for each in self._best(structs.replace(asked, text=query.text)) if _tells(each, asked.text)]
            found = with_translated(found, others, query, asked.text, asked.min_score or 0.0)
        if asked_kind(asked.text) is AnswerKind.NAME:
            return found[: asked.limit]
        if other := renamed(asked.text, [read_line(each.entry.text).text for each in found[:DECLARING]]):
            others = [each for each in self._best(structs.replace(asked, text=other)) if _tells(each, asked.text)]
            found = answer_first(in_turn(others, found), asked.text)
        return found[: asked.limit]

    def _best(self, asked: SearchRequest) -> list[MatchingEntry]:
        request, question = self.request(asked), question_of(asked.text, asked.today)
        scores = self._engine.score(request, self._candidates(request, question, asked.today))
        scores = scores.merged(self._engine.score(request, self._neighbours(scores, max(NEIGHBOURED, asked.limit))))
        ids: list[PointId] = scores.ids.tolist()
        pool = Pool(scores, list(self._manifest.points.among(ids).values()), self._identifiers_in(question, ids))
        ranked = rank(question, pool, _decayed(self._weights(request, asked), asked.decay), asked.today)
        within = (each for each in ranked if asked.days.includes(pool.entries[each.row].date))
        matched = self._matched_shares(request.bm25, pool)
        is_lookup = len(request.bm25.indices) == 1 and len(asked.text.split()) <= LOOKUP_WORDS
        told = _Telling(self._engine, pool, matched, request.dense is not None, asked, is_lookup).found(within)
        evidence = without_near_duplicates(each for each in told if _tells(each, asked.text))
        found = without_noted_orders(list(islice(evidence, max(asked.limit, DEPTH) + SPARE)))
        if asked.blend:
            return found
        found = self._with_corrections(reordered(found, asked.text), pool)
        if self._successors and may_have_changed(asked.text, asked.today):
            found = self._successors.placed(found, asked.text, request, scores.ids)
        return self._with_context(found, pool)

    def _with_context(self, found: Sequence[MatchingEntry], pool: Pool) -> list[MatchingEntry]:
        """Return *found*, best first, the first ones with the lines that they are understood with."""
        places = Places(pool.entries)
        beside = [places.beside(each.entry, each.kind) for each in found[:DEPTH]]
        ids: list[PointId] = pool.scores.ids.tolist()
        read = self._engine.entries([ids[row] for pair in beside for row in pair if row is not None])
        said = [[None if row is None else read.get(ids[row]) for row in pair] for pair in beside]
        first = [
            structs.replace(
                each, before=needed_before(each.entry, before), after=needed_after(after, is_best=not place)
            )
            for place, (each, (before, after)) in enumerate(zip(found, said, strict=False))
        ]
        return [*shown_once(first), *found[DEPTH:]]

    def _with_corrections(self, found: Sequence[MatchingEntry], pool: Pool) -> list[MatchingEntry]:
        """Return *found*, best first, with what takes a value of one of the best back above it: it shares no word."""
        places = {(entry.path, entry.position): row for row, entry in enumerate(pool.entries)}
        best = [(each, places.get((each.entry.path, each.entry.position + 1))) for each in found[:CORRECTED]]
        rows = [row for _, row in best if row is not None and pool.entries[row].kind is LineKind.SAYS]
        entries = self._engine.entries(pool.scores.ids[rows].tolist())
        ordered = list(found)
        for each, row in best:
            later = entries.get(PointId(int(pool.scores.ids[row]))) if row in rows else None
            if later is not None and takes_back(later, each.entry):
                ordered = [other for other in ordered if other.entry != later]
                ordered.insert(ordered.index(each), structs.replace(each, entry=later))
        return ordered

    def _candidates(self, request: CandidateRequest, question: ParsedQuery, today: date) -> Ids:
        """Return the candidates of *request*, and those of the days that the question names: words find few of them."""
        spans = [latest(each, today) for each in question.dates]
        ranges = (DayRange(each.first, each.last) for each in spans if (each.last - each.first).days < LONGEST_SPAN)
        requests = [request, *(structs.replace(request, days=days) for days in islice(ranges, MOST_SPANS))]
        return distinct(self._engine.find(each) for each in requests)

    def request(self, asked: SearchRequest) -> CandidateRequest:
        """Return the engine's request: words weighted by rarity, and the vectors of the query."""
        text = self._spelling.corrected(asked.text, asked.scopes)
        words = self._rare(query_vector(text), asked.scopes)
        if self._embedder is None:
            return CandidateRequest(asked.scopes, words, None, None, asked.days, POOL)
        query = self._embedder.embed_query(text)
        tokens = self._weight_pieces(query.tokens, query.piece_ids, asked.scopes) if len(query.tokens) else None
        return CandidateRequest(asked.scopes, words, query.pooled, tokens, asked.days, POOL)

    def _tells(self, word: int, scopes: frozenset[Scope] | None) -> bool:
        """Tell whether somebody states something with the word of this number, which few entries of *scopes* hold."""
        words = quantised(SparseVector([word], [1.0]))
        ids = self._engine.find(CandidateRequest(scopes, words, None, None, ALWAYS, OFTEN)).tolist()
        told = [id_ for id_, row in self._manifest.points.among(ids).items() if row.kind in TOLD]
        return any(word in unpack(held) for held in self._manifest.terms(told).values())

    def _weights(self, request: CandidateRequest, asked: SearchRequest) -> Weights:
        if asked.blend is not None:
            return blended(asked.blend)
        if request.dense is None or not np.any(request.dense):
            return KEYWORDS_ALONE if request.tokens is None else WITHOUT_DENSE
        if request.tokens is None:
            return WITHOUT_LATE
        return Weights(speaker=LISTED_SPEAKER) if asks_for_several(asked.text) else Weights()

    def _rare(self, words: SparseVector, scopes: frozenset[Scope] | None) -> SparseVector:
        """Multiply each word's weight by its IDF in the searched scopes."""
        idf = self._manifest.words.idf(words.indices, scopes)
        values = [weight * rarity for weight, rarity in zip(words.values, idf, strict=True)]
        return quantised(SparseVector(words.indices, values))

    def _weight_pieces(self, tokens: FloatArray, pieces: Sequence[int], scopes: frozenset[Scope] | None) -> FloatArray:
        """Scale each row by its word piece's share of the query's IDF in the searched scopes."""
        idf = np.array(self._manifest.pieces.idf(pieces, scopes), np.float32)
        return np.asarray(tokens * (idf / idf.sum())[:, np.newaxis], np.float32)

    def _neighbours(self, scores: Scores, best: int) -> Ids:
        """Return the unscored neighbours of the turns among the *best* of *scores*.

        A file has one scope, so theirs is the same.
        """
        rows = self._manifest.points.among(scores.ids.tolist())
        ids = scores.ids[np.argsort(-_promise(scores), kind="stable")[:best]].tolist()
        turns = [rows[id_] for id_ in ids if rows[id_].kind is not LineKind.NOTE]
        return np.sort(np.array(self._manifest.points.beside(turns, REACH, rows.values()), np.int64))

    def _matched_shares(self, words: SparseVector, pool: Pool) -> Column:
        """Return the share of *words* in each entry of *pool* or in the question that it answers."""
        turns = {(each.path, each.position): row for row, each in enumerate(pool.entries) if each.kind != LineKind.NOTE}
        answered = list(range(len(pool.entries)))
        for (path, position), row in turns.items():
            asked = turns.get((path, position - 1), row)
            if answers(pool.entries[asked], pool.entries[row]):
                answered[row] = asked
        ids: list[PointId] = pool.scores.ids.tolist()
        held = self._manifest.terms(ids)
        return covered_shares(words, [held[id_] for id_ in ids], answered)

    def _identifiers_in(self, question: ParsedQuery, ids: Sequence[PointId]) -> list[frozenset[str]]:
        """Return the identifiers of *question* in each entry; if it has none, no entry is read."""
        if not question.identifiers:
            return [frozenset()] * len(ids)
        entries = _all_entries(self._engine, ids)
        return [identifiers_in_text(question, entries[id_].text) for id_ in ids]


def _tells(found: MatchingEntry, query: str) -> bool:
    """Tell whether *found* may answer *query*, and is not that message itself."""
    return is_evidence(found.entry.text, query, found.kind)


class _Telling(Struct, frozen=True, eq=False):
    """Reads ranked entries that pass the threshold, best first, as far as needed."""

    engine: HybridEngine
    pool: Pool
    matched: Column
    """The share of the query's IDF covered by each entry's words and by the question it answers, 0 to 1."""
    has_vectors: bool
    asked: SearchRequest
    is_lookup: bool
    """It asks for one word."""

    def found(self, ranked: Iterator[Ranked]) -> Iterator[MatchingEntry]:
        scores = self._scores(self.pool.scores.late)
        is_strict = self.is_lookup or self.asked.min_score is not None
        in_context = scores if is_strict else self._scores(self.pool.scores.late_context)
        least = self._least_beside(max(scores, default=0.0))
        passing = (each for each in ranked if self._passes(each, in_context[each.row], least))
        while some := list(islice(passing, self.engine.reads_at_once)):
            ids = [PointId(int(self.pool.scores.ids[each.row])) for each in some]
            entries = _all_entries(self.engine, ids)
            for each, id_ in zip(some, ids, strict=True):
                entry, score = entries[id_], scores[each.row]
                if self._passes(each, score, least) or (not is_strict and refers_back(read_line(entry.text).text)):
                    yield self._matching_entry(each, entry, score)

    def _scores(self, late: Column) -> list[float]:
        """Return each entry's `Hit.score`, with its own *late* or that of its context."""
        scores = relevance(self.pool.scores.cosine, late, self.matched)
        scores[[bool(held) for held in self.pool.held]] = 1.0
        return scores.tolist()  # type: ignore[no-any-return]  # numpy types tolist() as Any

    def _passes(self, ranked: Ranked, score: float, least: float) -> bool:
        """Tell whether it passes the threshold; by default all of a day that the query names does."""
        if self.asked.min_score is not None:
            return score >= self.asked.min_score
        return not self.has_vectors or score >= self._least(ranked.row, least) or ranked.part("date") > 0

    def _least_beside(self, best: float) -> float:
        """Return the least score of an entry beside one of the score *best*."""
        if best >= LEAST and asks_for_several(self.asked.text):
            return LEAST_LISTED
        return LEAST_BESIDE if best >= FITTING else LEAST

    def _least(self, row: int, least: float) -> float:
        """Return the least score of an entry: where a word is looked up and found, one without it has to fit well."""
        return WITHOUT_WORD if self.is_lookup and self.matched.any() and not self.matched[row] else least

    def _matching_entry(self, ranked: Ranked, entry: Entry, score: float) -> MatchingEntry:
        scores, row = self.pool.scores, ranked.row
        return MatchingEntry(
            entry=entry,
            score=score,
            similarity=float(scores.cosine[row]),
            late=float(scores.late[row]),
            keyword=float(max(scores.bm25[row], scores.bm25_context[row])),
            matched=float(self.matched[row]),
            is_exact=bool(self.pool.held[row]),
            rank=ranked.score,
            subject=ranked.part("subject"),
            kind=self.pool.entries[ranked.row].kind,
        )


def _all_entries(engine: HybridEngine, ids: Sequence[PointId]) -> dict[PointId, Entry]:
    """Return the entries of the distinct *ids*. Raises EngineAwayError if one is missing: the files have all."""
    entries = engine.entries(ids)
    if len(entries) < len(ids):
        raise EngineAwayError("the index lacks notes: a node of its server has not caught up yet")
    return entries


def _promise(scores: Scores) -> Column:
    """Return a rough score of each candidate, at a tenth of the cost of ranking, that finds the better half."""
    return np.asarray(scores.late_context + scores.cosine + scores.bm25 / (scores.bm25.max(initial=0.0) or 1.0))


def _decayed(weights: Weights, decay: Decay) -> Weights:
    return structs.replace(weights, floor=decay.floor, half_life_days=decay.half_life_days)
