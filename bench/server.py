"""Benchmark of an index on a Qdrant server beside the embedded engine: indexing, searches, and requests a search.

python -m bench.server http://127.0.0.1:6333 [--others URL ...] [--sizes 1000 10000]
                       [--other-agents 100] [--other-entries 1000] [--minutes 35]

Vectors are made as in `bench.sizes`. With `--other-agents`, as many have collections on the server before anything is
measured, or fewer if `--minutes` are over first. Collections are removed afterwards; the server should hold nothing
else.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.made_notes import TODAY, questions
from bench.sizes import RESULTS, WARM, MadeVectors, made_documents
from workspaces.memory.index.edge import EdgeCollections
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.hybrid import CollectionStore
from workspaces.memory.index.index import Index
from workspaces.memory.index.nodes import Nodes, connected
from workspaces.memory.index.server import ServerCollections
from workspaces.memory.index.settings import QdrantServer


class Counted:
    """Counts the requests to *nodes*."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.patience_s = nodes.patience_s
        self.requests = 0

    def ask(self, request: Callable[[Any], Any], **how: bool) -> Any:
        """Pass *request* on."""
        self.requests += 1
        return self._nodes.ask(request, **how)


@contextmanager
def _indexed(home: Path, agent: str, store: CollectionStore, embedder: MadeVectors, entries: int) -> Iterator[Index]:
    index = Index(home / agent / "index", embedder, store)
    try:
        for document in made_documents(entries):
            for _ in index.building.put(document, "1"):
                pass
        index.commit(complete=True)
        yield index
    finally:
        index.close()


def figures(name: str, home: Path, store: CollectionStore, entries: int, searches: int, nodes: Counted | None) -> None:
    """Print what indexing and searching *entries* in *store* costs."""
    embedder = MadeVectors()
    begun = time.perf_counter()
    with _indexed(home, "bench", store, embedder, entries) as index:
        print(
            Figure(
                f"{name}, {entries:,} entries: indexing", [entries / (time.perf_counter() - begun)], "entries/s"
            ).line()
        )
        finder = Finder(index.answering.engine, index.answering.manifest, embedder, index.answering.vectors)
        times, asked = [], []
        for number, text in enumerate(questions(WARM + searches)):
            before, begun = nodes.requests if nodes else 0, time.perf_counter()
            finder.find(SearchRequest(text, None, DayRange(None, None), RESULTS, None, TODAY))
            if number >= WARM:
                times.append((time.perf_counter() - begun) * 1000)
                asked.append(nodes.requests - before if nodes else 0)
        cuts = statistics.quantiles(times, n=100)
        told = f"p50 {cuts[49]:.1f} ms, p95 {cuts[94]:.1f} ms, requests {min(asked)} to {max(asked)}"
        print(f"{name}, {entries:,} entries: {told}, on average {statistics.mean(asked):.2f}")


def _store_others(home: Path, store: CollectionStore, agents: int, entries: int, limit_s: float) -> None:
    """Store *entries* for each of *agents*, or of fewer when *limit_s* are over, and print how many."""
    embedder, begun, stored = MadeVectors(), time.perf_counter(), 0
    while stored < agents and time.perf_counter() - begun < limit_s:
        with _indexed(home, f"other{stored}", store, embedder, entries):
            stored += 1
    print(f"{stored:,} other agents of {entries:,} entries: {time.perf_counter() - begun:.0f} s", flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.server")
    parser.add_argument("url")
    parser.add_argument("--others", nargs="*", default=[])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--other-agents", type=int, default=0, help="agents whose collections are there too")
    parser.add_argument("--other-entries", type=int, default=100, help="entries of each of them")
    parser.add_argument("--minutes", type=float, default=60, help="longest time for storing them")
    options = parser.parse_args()
    replicas = 2 if options.others else None
    server = QdrantServer(options.url, 30, "bench", other_urls=tuple(options.others), replication_factor=replicas)
    nodes = Counted(connected(server, ""))
    store = ServerCollections(server, lambda: nodes)  # type: ignore[arg-type, return-value]  # counts what it passes on
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        if options.other_agents:
            _store_others(home, store, options.other_agents, options.other_entries, options.minutes * 60)
        for size in options.sizes:
            figures("embedded", home / f"{size}", EdgeCollections(), size, options.searches, None)
            figures("server", home / f"{size}s", store, size, options.searches, nodes)
            for folder in (home / f"{size}s").glob("*/index/*/manifest.db"):
                store.remove(folder.parent)
    for each in nodes.ask(lambda client: client.get_collections()).collections:
        if each.name.startswith("bench_"):
            nodes.ask(partial(_remove, each.name))


def _remove(name: str, client: Any) -> None:
    client.delete_collection(name)


if __name__ == "__main__":
    main()
