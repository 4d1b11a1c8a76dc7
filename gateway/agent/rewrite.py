"""Memory search by a question and by a few sub-questions that a language model derives from it.

The request holds the question and nothing else: no note, no message and no chat name. Whatever the model returns, the
question itself is searched, and the model's text only ever serves as search text.
"""

import asyncio
import json
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from gateway.agent.entries import UserEntry
from gateway.agent.models.offline import OFFLINE
from gateway.agent.models.port import Model, ModelRequest
from gateway.errors import ModelError
from gateway.runtime.clock import utc_now
from workspaces.access import Access, Scope
from workspaces.memory.entry import Document
from workspaces.memory.exact_search import ExactQuery, ExactResult
from workspaces.memory.hits import Hit
from workspaces.memory.search import MemoryIndex, Query, SearchResult
from workspaces.memory.text.tokens import identifiers, query_terms

K = TypeVar("K", bound=Hashable)

log = structlog.get_logger()

MOST_QUERIES = 3
"""Sub-questions of one question."""
MOST_REQUESTS = 4
"""Requests in one turn; later searches go without sub-questions."""
DEADLINE_S = 4.0
"""Longest wait of a search for the model."""
LONGEST_QUESTION = 500
LONGEST_QUERY = 200
"""In characters; a longer line is not a search query."""
FEWEST_TERMS = 3
"""A question with fewer meaningful words asks one thing."""
DEPTH = 20
"""Hits of each search that are merged."""
FIRST_PLACES = 10
"""Added to a rank before its reciprocal counts: the first ranks of a list then differ little."""
SHARE = 0.5
"""Weight of a sub-question's ranks relative to the question's own; see docs/measurements/retrieval.md."""

_LONGEST_REPLY = 4_000

_ASKED = (
    "You turn a question about somebody's notes into search queries. Write one to three short queries, one a line, "
    "each for one fact that the answer needs; keep names, places and dates as they are written. No numbering, no "
    "explanation. If one search is enough, write one line."
)
_MARKS = re.compile(r"^(?:[-*•·>\"'`\[(]|\d{1,2}[.):]|\s)+")
_END_MARKS = "\"'`]),; "


async def sub_questions(question: str, model: Model) -> tuple[str, ...]:
    """Return at most three sub-questions that *model* derives from *question*; none on any failure."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            return await rewritten(question, model)
    except (ModelError, TimeoutError) as exc:
        log.info("a question was not rewritten", why=type(exc).__name__)
        return ()


async def rewritten(question: str, model: Model) -> tuple[str, ...]:
    """Return the sub-questions of *model*, however long it takes; none if it answered otherwise.

    Raises ModelError.
    """
    said = UserEntry(question[:LONGEST_QUESTION], utc_now(), "", "")
    request = ModelRequest(stable=_ASKED, volatile="", entries=[said], tools=(), temperature=0.0)
    reply = await model.reply(request, _unseen)
    return () if reply.model == OFFLINE or reply.calls else read_queries(reply.text, question)


def read_queries(text: str, question: str) -> tuple[str, ...]:
    """Read sub-questions out of a model's reply: lines in any markup; lines that are not queries are dropped."""
    known = {_folded(question), ""}
    found: list[str] = []
    for line in _lines(text[:_LONGEST_REPLY]):
        query = " ".join(_MARKS.sub("", line[: 2 * LONGEST_QUERY]).split()).rstrip(_END_MARKS)
        if _is_query(query) and _folded(query) not in known:
            known.add(_folded(query))
            found.append(query)
    return tuple(found[:MOST_QUERIES])


def _is_query(text: str) -> bool:
    return len(text) <= LONGEST_QUERY and text.isprintable() and bool(query_terms(text))


def merged(places: Sequence[Sequence[K]]) -> list[tuple[K, float]]:
    """Merge lists, the question's own first, by the ranks that each gives to an item; best first, with its score.

    Scores of different questions cannot be compared, ranks can; ties go to the first item of the earlier list.
    """
    scores: dict[K, float] = {}
    for number, items in enumerate(places):
        weight = SHARE if number else 1.0
        for place, item in enumerate(dict.fromkeys(items)):
            scores[item] = scores.get(item, 0.0) + weight / (FIRST_PLACES + place)
    return sorted(scores.items(), key=lambda scored: -scored[1])


def is_worth_it(query: Query) -> bool:
    """Return whether *query* may ask several things; a query that names an identifier does not.

    An earlier day is searched once: its index is built for each search.
    """
    return len(query_terms(query.text)) >= FEWEST_TERMS and not identifiers(query.text) and query.as_of is None


@dataclass(slots=True)
class RewritingMemory:
    """An agent's memory for one turn, with searches that also use sub-questions."""

    index: MemoryIndex
    model: Model
    requests_left: int = MOST_REQUESTS

    async def search(self, query: Query, access: Access) -> SearchResult:
        """Search as `MemoryIndex.search` does, by the question and its sub-questions, merged."""
        if self.requests_left <= 0 or not is_worth_it(query):
            return await self.index.search(query, access)
        self.requests_left -= 1
        wide = replace(query, max_results=max(query.max_results, DEPTH))
        found = await self.index.search(wide, access)
        asked = await sub_questions(query.text, self.model)
        others = [await self.index.search(replace(wide, text=text), access) for text in asked]
        hits = merged_hits([found.hits, *(other.hits for other in others)])
        told = f"also searched for: {', '.join(asked)}" if asked else ""
        notice = "; ".join(filter(None, (found.notice, told)))
        return SearchResult(tuple(hits[: query.max_results]), found.mode, notice)

    async def find_exact(self, query: ExactQuery, access: Access) -> ExactResult:
        """Delegate to `MemoryIndex.find_exact`."""
        return await self.index.find_exact(query, access)

    async def read(self, path: str, access: Access) -> Document | None:
        """Delegate to `MemoryIndex.read`."""
        return await self.index.read(path, access)

    def audience(self, path: str) -> Scope | None:
        """Delegate to `MemoryIndex.audience`."""
        return self.index.audience(path)


def merged_hits(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Merge hits of several questions; a hit of several questions has the best relevance of them."""
    if len(lists) == 1:
        return list(lists[0])
    best: dict[str, Hit] = {}
    for hit in (hit for hits in lists for hit in hits):
        known = best.setdefault(hit.citation, hit)
        best[hit.citation] = replace(known, relevance=max(known.relevance, hit.relevance))
    order = merged([[hit.citation for hit in hits] for hits in lists])
    return [replace(best[citation], score=score) for citation, score in order]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of *text*, or the texts of the JSON list that it is."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, list):
        yield from (each for each in listed if isinstance(each, str))
    else:
        yield from text.splitlines()


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?.! ")


async def _unseen(_: str) -> None:
    """Discard the draft of a search query."""
