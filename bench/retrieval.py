"""Benchmark of retrieval: recall and nDCG of a question's evidence by entry, with intervals.

Every method uses the shipped embedder and the real engine, in a temporary folder. Nothing is fitted here; conversations
are only measured.
"""

import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from itertools import chain
from math import log2
from pathlib import Path, PurePosixPath
from statistics import fmean

import numpy as np
from msgspec import structs

from bench.aids import NOBODY, Aids
from bench.asked import CHAT, AskedConversation, read_beam, read_locomo, read_realtalk
from gateway.errors import StrandlineError
from gateway.importers.imported import ImportFormatError
from workspaces.access import scope_of
from workspaces.memory.entry import Document, Entry
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.embeddings.local import LocalEmbedder
from workspaces.memory.index.engine import DayRange, Scores
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.ranking import WITHOUT_LATE, Pool, identifiers_in_text, question_of, rank
from workspaces.memory.text.chunking import token_count
from workspaces.memory.text.dates import date_in

DEPTHS = (5, 10, 25, 50)
BUDGETS = (500, 1_000, 2_000)
"""Budgets of a prompt for results, in tokens, citations included."""
RESAMPLES = 1_000
ALWAYS = DayRange(None, None)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the locations of its answer."""

    text: str
    kind: str
    evidence: frozenset[tuple[str, int]]
    """Path and line of each entry of the answer; never empty."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One agent's notes with questions about them."""

    name: str
    notes: Mapping[str, str]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one question."""

    corpus: str
    kind: str
    recall: Mapping[int, float]
    """Share of the evidence among the first n, by n."""
    within: Mapping[int, float]
    """Share of the evidence within a budget of tokens, by budget."""
    ndcg: float
    """Of the first ten; every piece of evidence counts equally."""


Searched = Callable[[str], Sequence[Entry]]
"""A method on one corpus: from a question's text to entries, best first."""


def outcome(corpus: str, question: Question, found: Sequence[Entry]) -> Outcome:
    """Score *found*, best first, against the evidence of *question*."""
    is_evidence = [_pieces(entry, question) for entry in found]
    total = len(question.evidence)

    def recall(depth: int) -> float:
        return len(set().union(*is_evidence[:depth])) / total

    gain = sum(1 / log2(place + 2) for place, pieces in enumerate(is_evidence[:10]) if pieces)
    best = sum(1 / log2(place + 2) for place in range(min(total, 10)))
    return Outcome(
        corpus=corpus,
        kind=question.kind,
        recall={depth: recall(depth) for depth in DEPTHS},
        within={budget: recall(_fitting(found, budget)) for budget in BUDGETS},
        ndcg=min(gain / best, 1.0),
    )


def _pieces(entry: Entry, question: Question) -> set[tuple[str, int]]:
    return {
        (p, line) for p, line in question.evidence if p == entry.path and entry.start_line <= line <= entry.end_line
    }


def _fitting(found: Sequence[Entry], budget: int) -> int:
    spent = 0
    for number, entry in enumerate(found):
        spent += token_count(f"{entry.citation} {entry.text}")
        if spent > budget:
            return number
    return len(found)


class Bench:
    """One indexed corpus, and the methods that search it."""

    def __init__(self, corpus: Corpus, embedder: Embedder, folder: Path, aids: Aids = NOBODY) -> None:
        """Index *corpus* in *folder*; *aids* are the providers for methods."""
        self._aids = aids
        self._embedder = embedder
        self._index = Index(folder, embedder)
        for path, text in corpus.notes.items():
            digest = blake2b(text.encode()).hexdigest()
            named = date_in(PurePosixPath(path).stem)
            for _ in self._index.building.put(
                Document(path, scope_of(PurePosixPath(path)), text, named, digest), digest
            ):
                pass
        self._index.commit(complete=True)
        self._engine = self._index.answering.engine
        self._manifest = self._index.answering.manifest
        self._vectors = self._index.answering.vectors
        self.today = max(
            (day for path in corpus.notes if (day := date_in(PurePosixPath(path).stem))), default=date(1970, 1, 1)
        )

    def close(self) -> None:
        """Release the folder."""
        self._index.close()

    def default(self, text: str) -> list[Entry]:
        """Return the results of a search as shipped."""
        return self._find(text, self._embedder)

    def found(self, text: str, limit: int) -> list[MatchingEntry]:
        """Return the results of a search as shipped, with the parts of their scores."""
        return Finder(self._engine, self._manifest, self._embedder, self._vectors).find(
            structs.replace(self._asked(text), limit=limit)
        )

    def rerank(self, text: str) -> list[Entry]:
        """Return the results of a search as shipped, reordered by the configured reranker."""
        if self._aids.rerank is None:
            raise StrandlineError("no reranker is configured")
        return [found.entry for found in self._aids.rerank(text, self.found(text, DEPTHS[-1]))]

    def keywords(self, text: str) -> list[Entry]:
        """Return the results of a search without an embedder."""
        return self._find(text, None)

    def pooled(self, text: str) -> list[Entry]:
        """Return the shipped ranking without the token vectors, as for a hosted embedder."""
        scores, entries = self._all(text)
        question = question_of(text, self.today)
        standing = list(self._manifest.points.among(scores.ids.tolist()).values())
        pool = Pool(scores, standing, [identifiers_in_text(question, entry.text) for entry in entries])
        return [entries[each.row] for each in rank(question, pool, WITHOUT_LATE, self.today)]

    def dense(self, text: str) -> list[Entry]:
        """Rank by the pooled vectors alone."""
        scores, entries = self._all(text)
        return _by(entries, scores.cosine)

    def bm25(self, text: str) -> list[Entry]:
        """Rank by BM25 over date and entry alone."""
        scores, entries = self._all(text)
        return _by(entries, scores.bm25)

    def seeds(self, text: str) -> list[Entry]:
        """Rank by 0.7 cosine + 0.3 / (1 + place in the BM25 order), the reference systems' default."""
        scores, entries = self._all(text)
        places = {entry.citation: place for place, entry in enumerate(self.bm25(text))}
        worded = [0.3 / (1 + places.get(entry.citation, len(places))) for entry in entries]
        return _by(entries, 0.7 * scores.cosine + worded)

    def substring(self, text: str) -> list[Entry]:
        """Search for the whole query as a substring, newest first."""
        _, entries = self._all(text)
        found = [entry for entry in entries if text.casefold() in entry.text.casefold()]
        return _by(found, [(entry.date or date.min).toordinal() for entry in found])

    def _find(self, text: str, embedder: Embedder | None) -> list[Entry]:
        finder = Finder(self._engine, self._manifest, embedder, self._vectors)
        return [found.entry for found in finder.find(self._asked(text))]

    def _all(self, text: str) -> tuple[Scores, list[Entry]]:
        """Score every entry: a baseline must not suffer from a short list."""
        request = Finder(self._engine, self._manifest, self._embedder).request(self._asked(text))
        scores = self._engine.score(
            structs.replace(request, tokens=None), np.array(sorted(self._manifest.points), np.int64)
        )
        ids = scores.ids.tolist()
        known = self._engine.entries(ids)
        return scores, [known[id_] for id_ in ids]

    def _asked(self, text: str) -> SearchRequest:
        return SearchRequest(text, None, ALWAYS, DEPTHS[-1], None, self.today)


def _by(entries: Sequence[Entry], scores: Iterable[float]) -> list[Entry]:
    """Order by *scores*, best first; ties by citation."""
    ordered = sorted(zip(entries, scores, strict=True), key=lambda pair: (-pair[1], pair[0].path, pair[0].position))
    return [entry for entry, _ in ordered[: DEPTHS[-1]]]


METHODS: Mapping[str, Callable[[Bench], Searched]] = {
    "default": lambda bench: bench.default,
    "keywords": lambda bench: bench.keywords,
    "pooled": lambda bench: bench.pooled,
    "dense": lambda bench: bench.dense,
    "bm25": lambda bench: bench.bm25,
    "seeds": lambda bench: bench.seeds,
    "substring": lambda bench: bench.substring,
}
"""By the name that `--method` takes; the shipped defaults come first."""
ASSISTED: Mapping[str, Callable[[Bench], Searched]] = {
    "rerank": lambda bench: bench.rerank,
}
"""Methods that need a provider, and are measured only when named."""
_EVERY = {**METHODS, **ASSISTED}


def run(file: Path, methods: Sequence[str], aids: Aids = NOBODY) -> "Report":
    """Measure *methods* on the conversations in *file*, the shipped defaults always and first.

    *file* is in LoCoMo's format, or a folder of chats in REALTALK's or BEAM's.

    Raises ImportFormatError, and StrandlineError when one of *aids* fails or no question can be measured.
    """
    corpora = [corpus_of(conversation) for conversation in conversations_in(file)]
    if not any(corpus.questions for corpus in corpora):
        raise ImportFormatError(f"{file.name} has no question whose evidence is among its turns")
    return measure(corpora, list(dict.fromkeys(["default", *methods])), aids=aids)


def conversations_in(file: Path) -> list[AskedConversation]:
    """Return the conversations of *file*, in any of the formats that `run` takes. Raises ImportFormatError."""
    if not file.is_dir():
        return read_locomo(file)
    chats = [read_beam(each.parent) for each in sorted(file.glob(f"*/{CHAT}"))]
    return [chat for each in chats or map(read_realtalk, sorted(file.glob("*.json"))) for chat in each]


def corpus_of(conversation: AskedConversation) -> Corpus:
    """Return *conversation* with the locations of its questions' evidence."""
    questions = [
        Question(
            asked.text,
            asked.kind,
            frozenset((at.path, at.line) for at in map(conversation.places.__getitem__, asked.evidence)),
        )
        for asked in conversation.questions
    ]
    return Corpus(conversation.agent, conversation.notes, questions)


def measure(
    corpora: Sequence[Corpus], methods: Sequence[str], embedder: Embedder | None = None, aids: Aids = NOBODY
) -> "Report":
    """Run every question of *corpora* with each of *methods* (names of `METHODS` or `ASSISTED`)."""
    embedder = embedder or LocalEmbedder()
    outcomes: dict[str, list[Outcome]] = {name: [] for name in methods}
    for corpus in corpora:
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as folder:
            bench = Bench(corpus, embedder, Path(folder), aids)
            for name in methods:
                search = _EVERY[name](bench)
                outcomes[name] += [outcome(corpus.name, q, search(q.text)) for q in corpus.questions]
            bench.close()
    return Report(outcomes)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of each method; the first one is the default."""

    outcomes: Mapping[str, Sequence[Outcome]]

    def as_json(self) -> dict[str, object]:
        """Return all figures in per cent: the first method's at the top, every method's below `methods`."""
        methods = {name: _figures(outcomes) for name, outcomes in self.outcomes.items()}
        return {**next(iter(methods.values()), {}), "methods": methods}

    def as_text(self) -> str:
        """Return Markdown tables of the methods, and of the first method's kinds and conversations."""
        figures = [*(f"R@{n}" for n in DEPTHS), "nDCG@10", *(f"in {b:,} tokens" for b in BUDGETS), "R@10, 95 %"]
        first = next(iter(self.outcomes.values()), [])
        names = list(dict.fromkeys(each.corpus for each in first))
        methods = [[name, *_row(outcomes)] for name, outcomes in self.outcomes.items()]
        kinds = [[kind, *_row(_of_kind(first, kind))] for kind in _kinds(first)]
        apart = [[name, *_row(_of(first, name))] for name in names]
        without = [[f"all but {name}", *_row(_but(first, name))] for name in names if len(names) > 1]
        drawn = "conversations" if len(names) > 1 else "questions"
        note = f"{len(first)} questions. Intervals: bootstrap over {drawn}, of one conversation over its questions."
        tables = [_table(["method", *figures], methods), _table(["kind", *figures], kinds)]
        return "\n\n".join([*tables, _table(["conversation", *figures], [*apart, *without]), note])


def interval(outcomes: Sequence[Outcome], depth: int) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of recall at *depth*, in per cent.

    Whole corpora are resampled, since questions of one conversation do well or badly together; for a single corpus, its
    questions are resampled, which says nothing about other notes.
    """
    return interval_of([(each.corpus, each.recall[depth]) for each in outcomes])


def interval_of(values: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval, as `interval`, of the mean of *values*, each with its corpus, in per cent."""
    by_corpus: dict[str, list[float]] = {}
    for corpus, value in values:
        by_corpus.setdefault(corpus, []).append(value)
    draw = random.Random(0)
    groups = list(by_corpus.values())
    if len(groups) == 1:
        groups = [[value] for value in groups[0]]
    means = sorted(fmean(chain(*draw.choices(groups, k=len(groups)))) for _ in range(RESAMPLES))
    return 100 * means[RESAMPLES // 40], 100 * means[-RESAMPLES // 40 - 1]


def _figures(outcomes: Sequence[Outcome]) -> dict[str, object]:
    if not outcomes:
        return {}
    by_kind = {kind: _with_interval(_of_kind(outcomes, kind)) for kind in _kinds(outcomes)}
    corpora = list(dict.fromkeys(each.corpus for each in outcomes))
    return {
        **_with_interval(outcomes),
        "by_kind": by_kind,
        "by_conversation": {name: _with_interval(_of(outcomes, name)) for name in corpora},
        "leaving_out": {name: _with_interval(_but(outcomes, name)) for name in corpora if len(corpora) > 1},
    }


def _with_interval(outcomes: Sequence[Outcome]) -> dict[str, object]:
    low, high = interval(outcomes, 10)
    return {**_means(outcomes), "recall_at_10_interval": [round(low, 1), round(high, 1)]}


def _means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    values = {f"recall_at_{n}": fmean(each.recall[n] for each in outcomes) for n in DEPTHS}
    values |= {"ndcg_at_10": fmean(each.ndcg for each in outcomes)}
    values |= {f"recall_in_{b}_tokens": fmean(each.within[b] for each in outcomes) for b in BUDGETS}
    return {name: round(100 * value, 1) for name, value in values.items()} | {"questions": len(outcomes)}


def _row(outcomes: Sequence[Outcome]) -> list[str]:
    if not outcomes:
        return []
    low, high = interval(outcomes, 10)
    figures = [f"{value:.1f}" for name, value in _means(outcomes).items() if name != "questions"]
    return [*figures, f"{low:.1f} to {high:.1f}"]


def _of(outcomes: Sequence[Outcome], corpus: str) -> list[Outcome]:
    return [each for each in outcomes if each.corpus == corpus]


def _but(outcomes: Sequence[Outcome], corpus: str) -> list[Outcome]:
    return [each for each in outcomes if each.corpus != corpus]


def _of_kind(outcomes: Sequence[Outcome], kind: str) -> list[Outcome]:
    return [each for each in outcomes if each.kind == kind]


def _kinds(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(each.kind for each in outcomes))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
