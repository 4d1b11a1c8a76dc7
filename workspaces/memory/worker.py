"""This file is the memory worker: the one child process that holds the embedding model and all open collections.

Started as `python -m workspaces.memory.worker`, it reads requests from stdin and answers on stdout until stdin ends,
which it does when the gateway ends, however it ends. The first frame is `init`: how to embed, with the provider's key,
which travels nowhere else. One thread does all work: indexing goes in small steps, and a search that arrives is
served between two of them. What entries owe of a provider's vectors is fetched when there is nothing else to do.
"""

import logging
import os
import queue
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from workspaces.access import Scope
from workspaces.memory.chunking import Chunking
from workspaces.memory.embeddings import Embedder
from workspaces.memory.embeddings.choose import choose_embedder
from workspaces.memory.embeddings.joined import Joined, Reading
from workspaces.memory.embeddings.settings import HostedEmbedding, may_leave
from workspaces.memory.endpoint import EndpointError
from workspaces.memory.engine import DayRange
from workspaces.memory.finder import Asked, Finder, Found
from workspaces.memory.hybrid import Shelf
from workspaces.memory.index import CACHE, Index
from workspaces.memory.rerank import Reranker
from workspaces.memory.settings import GENTLE, Decay, QdrantServer, Reranking
from workspaces.memory.wire import AS_OF, Decoder, Frame, WireError, day_in, day_out, document_in, encode, scopes_in

CLOSE_AFTER_S = 600.0
"""An index that nobody asked for this long is closed: an open shard maps about 36 MB."""
BUSY_EVERY_S = 1.0
"""How often a long request says that it is alive."""
SETTLE_EVERY_S = 1.0
"""How often it is looked whether a provider that failed may be asked again."""
READ_SIZE = 1 << 16

_log = logging.getLogger(__name__)

STAYS_HERE = "private notes stay on this machine, which has no embedding model of its own"

Work = Generator[None, None, Frame]
Send = Callable[[Frame], None]


@dataclass(slots=True)
class _Open:
    index: Index
    used_at: float


class Desk:
    """Answers requests on indexes, which it opens when they are first named."""

    def __init__(
        self, embedder: Embedder | None, reason: str, clock: Callable[[], float], shelf: Shelf | None = None
    ) -> None:
        """*reason* says why there is no embedder, or is empty; *shelf* keeps the collections elsewhere."""
        self._shelf = shelf
        self.reranker: Reranker | None = None
        self.chunking = Chunking.ENTRIES
        self.decay = GENTLE
        self._embedder = embedder
        self._reason = reason
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._operations: dict[str, Callable[[Index, Frame], Frame]] = {
            "stamps": self._stamps,
            "drop": self._drop,
            "commit": self._commit,
            "search": self._search,
            "status": self._status,
        }
        self.long: Mapping[str, Callable[[Frame], Work]] = {"put": self.put, "discard": self.discard}
        """Operations that take steps, one after the other; the others are answered between two steps."""

    def answer(self, request: Frame) -> Frame:
        """Do a short request at once; `ping` only says that we live. Raises KeyError for an unknown operation."""
        if request["op"] == "ping":
            return {}
        return self._operations[request["op"]](self._index(request["folder"]), request)

    def put(self, request: Frame) -> Work:
        """Take in a document, step by step."""
        index = self._index(request["folder"])
        report = yield from index.building.put(document_in(request["document"]), request["stamp"])
        return {
            "entries": report.entries,
            "stored": report.stored,
            "removed": report.removed,
            "embedded": report.embedded,
            "reused": report.reused,
        }

    def discard(self, request: Frame) -> Work:
        """Close and remove an index, once what was begun on it has ended."""
        yield  # a first step is taken at once, the rest in its turn
        folder = Path(request["folder"])
        if held := self._open.pop(str(folder), None):
            held.index.close()
        shutil.rmtree(folder, ignore_errors=True)
        return {}

    @property
    def may_owe(self) -> bool:
        """Whether vectors come from a provider, so that entries may have to wait for them."""
        return isinstance(self._embedder, Joined)

    @property
    def is_owing(self) -> bool:
        """Whether entries wait for a provider that may be asked now."""
        if not isinstance(self._embedder, Joined) or self._embedder.far.endpoint.trouble:
            return False
        return any(held.index.owing for held in self._open.values())

    def settle(self) -> Work:
        """Fetch what the entries of all open indexes owe; a provider that fails is asked again later."""
        try:
            for held in list(self._open.values()):
                yield from held.index.settle()
        except EndpointError as exc:
            _log.warning("entries wait for their vectors: %s", exc)
        return {}

    def close_unused(self) -> None:
        """Close every index that was not used for long."""
        for folder, held in list(self._open.items()):
            if self._clock() - held.used_at > CLOSE_AFTER_S:
                self._open.pop(folder).index.close_for_long()

    def close(self) -> None:
        """Close every index."""
        while self._open:
            self._open.popitem()[1].index.close()
        if isinstance(self._embedder, Joined):
            self._embedder.close()
        if self.reranker:
            self.reranker.close()

    def _index(self, folder: str) -> Index:
        held = self._open.get(folder)
        if held is not None and held.index.is_gone:
            self._open.pop(folder).index.close()
            held = None
        if held is None:
            held = self._open[folder] = _Open(self._opened(Path(folder)), self._clock())
        held.used_at = self._clock()
        return held.index

    def _opened(self, folder: Path) -> Index:
        if folder.parent.name != AS_OF:
            for left in {*map(str, folder.glob(f"{AS_OF}/*"))} - self._open.keys():  # by a worker that was killed
                shutil.rmtree(left, ignore_errors=True)
            return Index(folder, self._embedder, self._shelf, chunking=self.chunking)
        here = self._embedder.near if isinstance(self._embedder, Joined) else self._embedder
        return Index(folder, here, cache=folder.parent.parent / CACHE, chunking=self.chunking)

    def _stamps(self, index: Index, request: Frame) -> Frame:
        return {"stamps": index.building.manifest.stamps()}

    def _drop(self, index: Index, request: Frame) -> Frame:
        return {"removed": index.building.drop(request["paths"])}

    def _commit(self, index: Index, request: Frame) -> Frame:
        index.commit(complete=bool(request["complete"]))
        return {}

    def _search(self, index: Index, request: Frame) -> Frame:
        collection, asked = index.answering, replace(_asked(request), decay=self.decay)
        reader = _reader(index.answering_embedder, asked.scopes)
        found, unranked = self._ordered(Finder(collection.engine, collection.manifest, reader), asked)
        answer = {
            "hits": [_found_out(each) for each in found],
            "shortfall": "",
            "unranked": unranked,
            **self._mode(index),
        }
        return answer | _shortfall(reader) if isinstance(reader, Reading) else answer

    def _ordered(self, finder: Finder, asked: Asked) -> tuple[list[Found], str]:
        """Return what was found, reranked where that is wanted, allowed and possible, or why it is not."""
        if self.reranker is None or not may_leave(self.reranker.leaves, asked.scopes):
            return finder.find(asked), ""
        found = finder.find(replace(asked, limit=max(asked.limit, self.reranker.top)))
        try:
            return self.reranker.reordered(asked.text, found)[: asked.limit], ""
        except EndpointError as exc:
            return found[: asked.limit], str(exc)

    def _status(self, index: Index, request: Frame) -> Frame:
        manifest = index.building.manifest
        return {
            "documents": len(manifest.stamps()),
            "entries": len(manifest.points),
            "embedder": self._embedder.name if self._embedder else None,
            "languages": self._embedder.languages if self._embedder else None,
            "embedded": index.vectors.embedded if index.vectors else 0,
            "reused": index.vectors.reused if index.vectors else 0,
            "owing": index.owing,
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


def _reader(embedder: Embedder | None, scopes: frozenset[Scope] | None) -> Embedder | Reading | None:
    return embedder.reading(scopes) if isinstance(embedder, Joined) else embedder


def _shortfall(reading: Reading) -> Frame:
    """Say what a search went without."""
    if reading.is_by_words_alone:
        return {"mode": "keyword", "reason": reading.shortfall or STAYS_HERE}
    return {"shortfall": reading.shortfall}


def _asked(request: Frame) -> Asked:
    today = day_in(request["today"])
    if today is None:
        raise ValueError("a search without today's date")
    return Asked(
        text=request["text"],
        scopes=scopes_in(request["scopes"]),
        days=DayRange(day_in(request["since"]), day_in(request["until"])),
        limit=request["limit"],
        min_score=request["min_score"],
        today=today,
    )


def _found_out(found: Found) -> Frame:
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
        "relevance": found.relevance,
    }


@dataclass(slots=True)
class _Job:
    id: int | None
    """`None`: nobody waits for it."""
    work: Work
    spoke_at: float


class Loop:
    """Serves requests in order, but short ones between the steps of long ones."""

    def __init__(self, desk: Desk, send: Send, clock: Callable[[], float]) -> None:
        self._desk = desk
        self._send = send
        self._clock = clock
        self._jobs: deque[_Job] = deque()
        self._settling: _Job | None = None

    def run(self, requests: "queue.SimpleQueue[Frame | None]") -> None:
        """Serve until `None` arrives."""
        while True:
            is_busy = bool(self._jobs or self._settling)
            try:
                request = requests.get(block=not is_busy, timeout=None if is_busy else self._idle_s())
            except queue.Empty:
                self._step() if is_busy else self._rest()
                continue
            if request is None:
                return
            self._begin(request)

    def _idle_s(self) -> float:
        """Return how long nothing is to be done."""
        return SETTLE_EVERY_S if self._desk.may_owe else CLOSE_AFTER_S

    def _rest(self) -> None:
        """Use the time in which nobody asks: close what is not used, fetch what entries owe."""
        self._desk.close_unused()
        if self._desk.is_owing:
            self._settling = _Job(None, self._desk.settle(), self._clock())

    def _begin(self, request: Frame) -> None:
        long = self._desk.long.get(request["op"])
        work = long(request) if long else _at_once(self._desk, request)
        job = _Job(request["id"], work, self._clock())
        if not self._advance(job):  # a long one's first step hands its texts to the model, so that none waits for it
            self._jobs.append(job)

    def _step(self) -> None:
        self._speak()
        if self._jobs:
            if self._advance(self._jobs[0]):
                self._jobs.popleft()
        elif self._settling and self._advance(self._settling):
            self._settling = None

    def _advance(self, job: _Job) -> bool:
        """Do the next step of *job* and say whether it was the last."""
        try:
            next(job.work)
        except StopIteration as finished:
            self._reply(job, {"done": finished.value})
            return True
        except Exception as exc:  # noqa: BLE001 — the border of a request: it fails, the others go on
            _log.error("a memory request failed", exc_info=exc)
            self._reply(job, {"failed": f"{type(exc).__name__}: {exc}"})
            return True
        return False

    def _speak(self) -> None:
        """Say now and then, for the job that is done and for all that wait behind it, that we live."""
        now = self._clock()
        for job in self._jobs:
            if now - job.spoke_at > BUSY_EVERY_S:
                job.spoke_at = now
                self._reply(job, {"busy": True})

    def _reply(self, job: _Job, reply: Frame) -> None:
        if job.id is not None:
            self._send({"id": job.id, **reply})


def _at_once(desk: Desk, request: Frame) -> Work:
    yield from ()
    return desk.answer(request)


def frames(stream: BinaryIO) -> Iterator[Frame]:
    """Give the frames of *stream* until it ends or goes out of step."""
    decoder = Decoder()
    while data := os.read(stream.fileno(), READ_SIZE):
        yield from decoder.feed(data)


def main() -> None:
    """Serve the gateway on stdin and stdout."""
    stdin, stdout = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not land among the frames
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(stdin, requests), daemon=True).start()
    init = requests.get()
    if init is None:
        return
    desk = open_desk(init)
    try:
        Loop(desk, lambda frame: _write(stdout, frame), time.monotonic).run(requests)
    except BrokenPipeError:
        _log.warning("the gateway is gone")
    finally:
        desk.close()


def open_desk(init: Frame) -> Desk:
    """Return the desk that the frame `init` describes (`client.WorkerSettings.init`)."""
    hosted = [HostedEmbedding.of_frame(each) for each in init["hosted"]]
    chosen = choose_embedder(init["embedder"], hosted, init["threads"])
    desk = Desk(chosen.embedder, chosen.reason, time.monotonic, _shelf(init["qdrant"]))
    desk.chunking, desk.decay = Chunking(init["chunking"]), Decay(**init["decay"])
    desk.reranker = Reranker(Reranking.of_frame(init["rerank"])) if init["rerank"] else None
    return desk


def _shelf(server: Frame | None) -> Shelf | None:
    """Return where collections are kept: on a server, or (`None`) in the index folders."""
    if server is None:
        return None
    from workspaces.memory.server import connect

    return connect(QdrantServer.of_frame(server))


def _read(stdin: BinaryIO, requests: "queue.SimpleQueue[Frame | None]") -> None:
    try:
        for frame in frames(stdin):
            requests.put(frame)
    except WireError:
        _log.exception("the gateway's stream is out of step")
    requests.put(None)


def _write(stdout: BinaryIO, frame: Frame) -> None:
    stdout.write(encode(frame))
    stdout.flush()


if __name__ == "__main__":
    main()
