"""Synchronisation of one collection with documents: cut, compared with the stored state, embedded, stored.

The engine is changed first and the manifest is written after the engine has flushed, so that the manifest never claims
more than the engine holds.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from workspaces.memory.entry import Document, Entry
from workspaces.memory.index.engine import EngineBrokenError, Point, PointId, quantised
from workspaces.memory.index.hybrid import CollectionStore, HybridEngine
from workspaces.memory.index.late_interaction import LateInteraction
from workspaces.memory.index.manifest import Manifest, PointContent
from workspaces.memory.index.points import PointRow
from workspaces.memory.index.ranking import kind_of, speaker_of
from workspaces.memory.index.rarity import pack
from workspaces.memory.index.vectors import WAIT_S, Learning, Vectors
from workspaces.memory.text.chunking import Chunking, entries_of
from workspaces.memory.text.sparse import contextual_vector, dated_vector

T = TypeVar("T")
CUT_AT_ONCE = 30_000
"""Longest text, in characters, that is cut within a step, in some 20 ms."""
SLICE = 512
"""Entries of a document whose vectors are in memory at once, 3 MB."""
REMOVED = 500
"""Points removed in one step."""

FETCHED = 384
"""Entries per request for a provider's vectors: four calls of 96."""

LITTER = 1_000
"""Tolerated dead points, about 10 MB; the engine itself sweeps no smaller number."""
FRESH = 4_000
"""Points stored before they are swept: until then the engine has their words in memory, 2.3 kB each. A sweep takes 0.1
ms a point, and merges files of some 10,000 at most.
"""
SWEPT_AT_ONCE = 10_000
"""Most live points for an immediate sweep: a search may have to wait 3 s for it, once in as many deletions. Larger
collections are swept after a long time without use.
"""


class PutReport(Struct, frozen=True):
    """Cost of storing one document."""

    entries: int
    stored: int
    removed: int
    embedded: int
    """Texts embedded by the model."""
    reused: int
    """Texts with a cached embedding."""


class Collection:
    """One collection in one folder: the engine's shard, its manifest, and the vectors for new entries."""

    def __init__(
        self,
        folder: Path,
        dimension: int,
        vectors: Vectors | None,
        store: CollectionStore,
        chunking: Chunking = Chunking.ENTRIES,
    ) -> None:
        """Open the collection in *folder* or create it for pooled vectors of length *dimension* (0: keywords only).

        Raises EngineBrokenError or sqlite3.DatabaseError for unusable data, EngineAwayError when its server cannot be
        reached.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.shard = store.open(folder, dimension)
        self.manifest = Manifest(folder / "manifest.db")
        late = LateInteraction(self.manifest.points, vectors.store) if vectors else None
        self.engine = HybridEngine(self.shard, self.manifest.points, late)
        self.vectors = vectors
        self._chunking = chunking
        self._complete = folder / "complete"
        self._folder = folder
        is_clean = self.manifest.is_clean
        # A server may have been emptied or restored, or may still hold the data of a deleted index folder.
        is_whole = self.shard.holds(self.manifest.points)
        if is_clean and not is_whole:
            self._complete.unlink(missing_ok=True)
        if not (is_clean and is_whole):
            self._recover()
        described = f"{store.name} {vectors.store.identity}" if vectors else store.name
        stands = self.manifest.store if vectors else self.manifest.store.partition(" ")[0]  # without vectors no numbers
        if stands != described:  # another engine, which may hold an older day, or other numbers of texts
            self._complete.unlink(missing_ok=True)
            self._recover()
            self.manifest.stands_for(described)

    @property
    def is_complete(self) -> bool:
        """Whether all documents have been indexed once, so that it may answer."""
        return self._complete.exists()

    @property
    def is_gone(self) -> bool:
        """Whether it has to be opened anew: the folder was removed, or its server was away."""
        return self.shard.was_away or not self._folder.exists()

    def put(self, document: Document, stamp: str) -> Generator[None, None, PutReport]:
        """Index *document* in steps of some 10 ms; between two of them the collection may be searched.

        Only new or changed entries are embedded and stored; deleted ones are removed. The first step only starts to
        embed: several documents may be started, so that the model works while others are stored. A long one is stored
        in slices, so that its vectors need not all be in memory.
        """
        report = PutReport(len(self.manifest.points_of(document.path)), 0, 0, 0, 0)
        if document.digest != self.manifest.digest(document.path):
            report = yield from self._take(document)
        if self.manifest.stamp(document.path) != stamp:
            self.manifest.change_begins()
            self.manifest.took(document.path, stamp, document.digest)
        return report

    def _take(self, document: Document) -> Generator[None, None, PutReport]:
        wanted = yield from self._cut(document)
        slices = [dict(some) for some in _batches(wanted.items(), SLICE)]
        stored, learned = 0, [self._learn(slices[0])] if slices else []
        yield
        for place, some in enumerate(slices):
            if place + 1 < len(slices):
                learned.append(self._learn(slices[place + 1]))
            if self.vectors:
                yield from self.vectors.arrive(learned[place])
                learned[place] = structs.replace(learned[place], portions=())  # their vectors are stored
            fresh = self._fresh(some)  # again: it may have changed in between
            yield from self._store([(id_, wanted[id_]) for id_ in fresh])
            stored += len(fresh)
        gone = self.manifest.points_of(document.path).keys() - wanted.keys()
        yield from self._remove_in_steps(gone)
        embedded, reused = sum(each.embedded for each in learned), sum(each.reused for each in learned)
        return PutReport(len(wanted), stored, len(gone), embedded, reused)

    def _cut(self, document: Document) -> Generator[None, None, dict[PointId, Entry]]:
        """Return the entries of *document* by id; a long one is cut on another thread."""
        if len(document.text) <= CUT_AT_ONCE:
            return _by_id(document, self._chunking)
        return (yield from _on_thread(partial(_by_id, document, self._chunking)))

    def _learn(self, entries: Mapping[PointId, Entry]) -> Learning:
        """Start to embed those of *entries* that are new or changed."""
        if self.vectors is None:
            return NOTHING_TO_LEARN
        return self.vectors.begin([entries[id_].text for id_ in self._fresh(entries)])

    def _fresh(self, entries: Mapping[PointId, Entry]) -> list[PointId]:
        """Return those of *entries* that are new or changed."""
        known = self.manifest.digests(entries)
        return [id_ for id_, entry in entries.items() if known.get(id_) != digest(entry)]

    @property
    def owing(self) -> list[PointId]:
        """Entries waiting for a provider's vector, or to be stored again."""
        vectors = self.vectors
        if vectors is None:
            return []
        return [id_ for id_, scope in self.manifest.owing() if vectors.wants_far(scope)]

    def settle(self) -> Generator[None, None, None]:
        """Fetch missing vectors, many in one request; each vector received is kept.

        Raises EndpointError; nothing is lost then, and the next call continues.
        """
        while self.vectors and (ids := list(islice(self.owing, FETCHED))):
            yield from self.vectors.fetch(self.engine.entries(ids).values())
            still = set(self.owing)  # between two steps documents may have been added or removed
            entries = self.engine.entries([id_ for id_ in ids if id_ in still])
            yield from self._store(list(entries.items()))
            if not entries or not still - set(self.owing):
                return  # the rest needs its document

    def drop(self, paths: Iterable[str]) -> Generator[None, None, int]:
        """Remove the documents at *paths*, step by step; return the number of removed points."""
        removed = 0
        for path in paths:
            ids = self.manifest.points_of(path).keys()
            yield from self._remove_in_steps(ids)
            self.manifest.change_begins()
            self.manifest.dropped(path)
            removed += len(ids)
        return removed

    def commit(self) -> bool:
        """Make all changes durable: the engine, then the manifest; tell whether there were any."""
        if self.manifest.is_clean:
            return False
        self.shard.flush()
        if self.vectors:
            self.vectors.store.flush()
        self.manifest.commit()
        if self.is_littered and len(self.manifest.points) <= SWEPT_AT_ONCE:
            self.sweep()
        return True

    @property
    def is_littered(self) -> bool:
        """Whether dead points outnumber live ones, and are worth a sweep."""
        return self.manifest.dead > max(len(self.manifest.points), LITTER)

    def sweep(self) -> None:
        """Free the space of dead points, and the memory of fresh ones. Raises EngineBrokenError."""
        self.shard.sweep()
        self.manifest.swept()

    def complete(self) -> None:
        """Mark the collection as complete."""
        self._complete.touch()

    def close(self) -> None:
        """Release the folder; uncommitted changes are compared again when it is next opened."""
        with suppress(EngineBrokenError):
            self.shard.close()
        self.manifest.close()

    def _recover(self) -> None:
        """Remove points missing from the manifest, and mark everything else for comparison."""
        self.shard.delete(sorted(self.shard.ids() - set(self.manifest.points)))
        self.manifest.doubt_everything()

    def _store(self, entries: Sequence[tuple[PointId, Entry]]) -> Generator[None, None, None]:
        """Store *entries*; all their texts are embedded, so that a document changes in few steps."""
        most = self.shard.stores_at_once
        for start in range(0, len(entries), most):
            points = [self._point(id_, entry) for id_, entry in entries[start : start + most]]
            self.manifest.change_begins()
            yield from self._change(partial(self.shard.upsert, [point for point, *_ in points]))
            self.engine.forget(point.id for point, *_ in points)
            self.manifest.change_begins()  # there may have been a commit
            for _, row, content in points:
                self.manifest.put(row, content)
            if self.manifest.fresh >= FRESH:
                self.sweep()
            yield

    def _remove_in_steps(self, ids: Iterable[PointId]) -> Generator[None, None, None]:
        for some in _batches(ids, REMOVED):
            yield
            self.manifest.change_begins()
            self.manifest.remove(some)  # first: a search during the change must not miss an entry that it knows
            yield from self._change(partial(self.shard.delete, some))
            self.engine.forget(some)

    def _change(self, change: Callable[[], None]) -> Generator[None, None, None]:
        """Make *change*: on another thread if it may take seconds, so that the collection may be searched meanwhile."""
        if self.shard.is_remote:
            yield from _on_thread(change)
        else:
            change()

    def _point(self, id_: PointId, entry: Entry) -> tuple[Point, PointRow, PointContent]:
        words = dated_vector(entry)
        vectors = self.vectors.of(entry) if self.vectors else None
        point = Point(
            id=id_,
            entry=entry,
            bm25=quantised(words),
            bm25_context=quantised(contextual_vector(entry)),
            dense=vectors.dense if vectors else None,
        )
        is_owing = vectors is not None and vectors.owes
        hashed = OWING if is_owing else digest(entry)
        facts = entry.path, entry.position, entry.section, entry.scope, entry.date
        texts = (vectors.own, vectors.before) if vectors else (0, 0)
        row = PointRow(id_, *facts, kind_of(entry.text), speaker_of(entry.text), *texts)
        return point, row, PointContent(hashed, pack(words.indices), vectors.pieces if vectors else b"")


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while some := list(islice(remaining, size)):
        yield some


def _on_thread(work: Callable[[], T]) -> Generator[None, None, T]:
    """Return the result of *work*, waiting for it in steps."""
    with ThreadPoolExecutor(1, "collection") as thread:
        coming = thread.submit(work)
        while not coming.done():
            yield
            wait([coming], WAIT_S)
        return coming.result()


def _by_id(document: Document, chunking: Chunking) -> dict[PointId, Entry]:
    return {point_id(entry): entry for entry in entries_of(document, chunking)}


NOTHING_TO_LEARN = Learning((), 0, 0)

OWING = b""
"""The digest of a point to be stored again (`Manifest.doubt_everything` writes the same)."""


def point_id(entry: Entry) -> PointId:
    """Return the id of *entry*: derived from its path, its position and its text."""
    facts = "\0".join((entry.path, str(entry.position), entry.text))
    hashed = hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return PointId(int.from_bytes(hashed) >> 1)


def digest(entry: Entry) -> bytes:
    """Return a hash of the whole entry, line numbers and context included."""
    facts = f"{entry!r}{' others' * entry.is_others}"  # `repr` is without it: entries from before it stay as they are
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16).digest()
