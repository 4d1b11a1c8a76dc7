"""This file is what a search finds: a passage, where it stands, and how it was scored."""

from dataclasses import dataclass
from datetime import date

from workspaces.access import Scope
from workspaces.memory.exact_search import Day
from workspaces.memory.file_search import PlainHit
from workspaces.memory.wire import Frame, day_in

LONGEST_SNIPPET = 700
"""In characters (the reference systems' own limit)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a query."""

    path: str
    start_line: int
    """From 1; both ends belong to it."""
    end_line: int
    snippet: str
    """At most 700 characters."""
    section: str
    date: date | None
    scope: Scope
    score: float
    """Orders the hits of one query; not comparable between queries."""
    similarity: float
    """The dense part: cosine of the query's and the passage's vectors; 0 without an embedder."""
    late: float
    """The dense part by words: how well each word of the query is met by its nearest in the passage."""
    keyword: float
    """The sparse part: BM25."""
    matched: float
    """Share of the query's words, weighted by rarity, that the passage holds; 0 to 1."""
    relevance: float
    """How much it bears on the query, 0 to 1, whatever else was found: for thresholds (`ranking.CLEAR`)."""
    as_of: Day | None = None
    """The day at whose end it stood there; `None` is now."""

    @property
    def citation(self) -> str:
        """Where it stands, as `path#Lx-Ly`, with `@` and a day for what stood there then."""
        return f"{self.path}#L{self.start_line}-L{self.end_line}{f'@{self.as_of}' if self.as_of else ''}"


def hit_of_frame(frame: Frame) -> Hit:
    """Return what the worker found."""
    text: str = frame["text"]
    return Hit(
        path=frame["path"],
        start_line=frame["start_line"],
        end_line=frame["end_line"],
        snippet=_snippet(text),
        section=frame["section"],
        date=day_in(frame["date"]),
        scope=Scope(frame["scope"]),
        score=frame["score"],
        similarity=frame["similarity"],
        late=frame["late"],
        keyword=frame["keyword"],
        matched=frame["matched"],
        relevance=frame["relevance"],
    )


def hit_of_line(found: PlainHit) -> Hit:
    """Return what was found by words alone, in the files."""
    document = found.document
    return Hit(
        path=document.path,
        start_line=found.line,
        end_line=found.line,
        snippet=_snippet(found.text),
        section="",
        date=document.date,
        scope=document.scope,
        score=found.matched,
        similarity=0.0,
        late=0.0,
        keyword=found.matched,
        matched=found.matched,
        relevance=found.relevance,
    )


def _snippet(text: str) -> str:
    return text if len(text) <= LONGEST_SNIPPET else f"{text[: LONGEST_SNIPPET - 1]}…"
