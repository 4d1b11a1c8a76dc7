"""Search results: a passage, its location and its scores."""

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import accumulate

from msgspec import Struct, structs

from workspaces.access import Scope
from workspaces.memory.entry import cited_path
from workspaces.memory.exact_search import Day
from workspaces.memory.file_search import PlainHit
from workspaces.memory.text.dialogue import LineKind, read_line
from workspaces.memory.wire import Frame, day_in

LONGEST_SNIPPET = 700
"""In characters (the reference systems' own limit)."""
CLEAR = 0.4
"""The best hit's score below which nothing clearly fits the question (docs/measurements/retrieval.md).

On two development conversations of LoCoMo 3.9 % of the questions that memory can answer fall below it, and 38 % of
those that it cannot; at 0.45, which was set for another encoder, 7.0 and 39.4 %.
"""


class Hit(Struct, frozen=True):
    """A passage that matches a query."""

    path: str
    start_line: int
    """From 1; both ends are included."""
    end_line: int
    snippet: str
    """At most 700 characters."""
    section: str
    date: date | None
    scope: Scope
    score: float
    """How well the passage alone fits the query, 0 to 1, independent of other hits; 1 with an identifier of the query.

    The hits of a query are ordered by more, such as their neighbours and the days that the query names.
    """
    similarity: float
    """Dense score: cosine of the query's and the passage's vectors; 0 without an embedder."""
    late: float
    """Late-interaction score: how well each word of the query matches its nearest in the passage."""
    keyword: float
    """Sparse score: BM25."""
    matched: float
    """Share of the query's words, weighted by rarity, in the passage; 0 to 1."""
    is_others: bool = False
    """It holds other people's words."""
    is_answer: bool = False
    """An agent said it, not a person: it gives no value."""
    is_house: bool = False
    """It stays on the owner's machines."""
    as_of: Day | None = None
    """The day at whose end it was there; `None` is now."""
    before: str = ""
    """The line above it to which it leaves its subject: "it's in the tent bag" says little alone."""
    after: str = ""
    """The line below that leaves its subject to it."""
    mark: str = ""
    """Whether it holds, as far as rules tell: `now, since` or `until` a day, or `contradicts` a citation."""

    @property
    def citation(self) -> str:
        """Location, as `path#Lx-Ly`, with `@` and a day for earlier notes."""
        return f"{self.path}#L{self.start_line}-L{self.end_line}{f'@{self.as_of}' if self.as_of else ''}"

    @property
    def passage(self) -> str:
        """The snippet between the lines that it is understood with."""
        return "\n".join(filter(None, (self.before, self.snippet, self.after)))

    @property
    def relevance(self) -> float:
        """The score without regard to identifiers: the mean of the known parts, as `ranking.relevance`."""
        known = 1 + (self.similarity != 0) + (self.late != 0)
        return min(max((self.similarity + self.late + self.matched) / known, 0.0), 1.0)


def moment_of(hit: Hit) -> tuple[date, str, int]:
    """Return the sort key of the age of *hit*: its day, and where it stands; an undated note holds now."""
    return hit.date or date.max, hit.path, hit.start_line


def until_mark(newer: Hit) -> str:
    """Return the mark of a hit that *newer*, which has a day, replaced."""
    return f"until {newer.date}, now {newer.citation}"


def since_mark(hit: Hit) -> str:
    """Return the mark of *hit*, which has a day, where it holds now."""
    return f"now, since {hit.date}"


def as_shown(hits: Sequence[Hit]) -> list[Hit]:
    """Return *hits*, best first, each with at least the score of the next: what orders them knows more than its own."""
    scores = [*accumulate((hit.score for hit in reversed(hits)), max)]
    raised = zip(hits, reversed(scores), strict=True)
    return [hit if hit.score == score else structs.replace(hit, score=score) for hit, score in raised]


def each_once(hits: Iterable[Hit]) -> list[Hit]:
    """Return *hits*, best first, each line once: what a better one's passage shows is left out, marked hits stay."""
    shown: set[tuple[str, str]] = set()
    found = []
    for hit in hits:
        if hit.mark or (hit.path, hit.snippet) not in shown:
            before, after = ("" if (hit.path, text) in shown else text for text in (hit.before, hit.after))
            if (before, after) != (hit.before, hit.after):
                hit = structs.replace(hit, before=before, after=after)
            found.append(hit)
            shown |= {(hit.path, text) for text in (before, hit.snippet, after)}
    return found


def hit_of_frame(frame: Frame) -> Hit:
    """Return the hit in the worker's answer."""
    text: str = frame["text"]
    return Hit(
        path=cited_path(frame["path"]),
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
        is_others=frame["others"],
        is_answer=frame["kind"] == LineKind.ANSWER,
        before=_snippet(frame["before"]),
        after=_snippet(frame["after"]),
    )


def hit_of_line(found: PlainHit) -> Hit:
    """Return a hit of the keyword search in the files."""
    document = found.document
    return Hit(
        path=cited_path(document.path),
        start_line=found.line,
        end_line=found.line,
        snippet=_snippet(found.text),
        section="",
        date=document.date,
        scope=document.scope,
        score=found.score,
        similarity=0.0,
        late=0.0,
        keyword=found.matched,
        matched=found.matched,
        is_others=found.is_others,
        is_answer=read_line(found.text).is_answer,
    )


def _snippet(text: str) -> str:
    return text if len(text) <= LONGEST_SNIPPET else f"{text[: LONGEST_SNIPPET - 1]}…"
