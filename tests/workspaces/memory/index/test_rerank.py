"""Reranking: its effect, the texts sent, and its failure, which only adds a notice."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.embedding_stub import EmbeddingStub, refusal
from tests.fakes.memory import HandlerWorker, WordsEmbedder
from tests.fakes.notes import IndexedNotes
from tests.workspaces.turns import GROUP, MAIN, OWN
from workspaces.memory.index.request_handler import Ordering
from workspaces.memory.index.rerank import Reranker
from workspaces.memory.index.settings import Reranking
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex

NOTES = "- tea\n- tea with milk in the morning\n- the order AB-12345 of tea\n"


@pytest.fixture
def stub() -> Iterator[EmbeddingStub]:
    with EmbeddingStub() as stub:
        yield stub


@pytest.fixture
def worker(stub: EmbeddingStub) -> Iterator[HandlerWorker]:
    worker = HandlerWorker(WordsEmbedder())
    reranker = Reranker(Reranking(base_url=stub.url, may_leave="everything"), "key")
    worker.handler.ordering = Ordering(reranker=reranker)
    yield worker
    worker.handler.close()


@pytest.fixture
def index(worker: HandlerWorker, tmp_path: Path) -> MemoryIndex:
    home = IndexedNotes(tmp_path, worker)
    for path in ("MEMORY.md", f"{OWN}/2026-03-01.md"):
        home.write(path, NOTES)
    return home.index


async def test_the_provider_orders_what_was_found(stub: EmbeddingStub, index: MemoryIndex) -> None:
    """By Cohere's own schema; the stub puts the longest first, which no fusion does."""
    hits = (await index.search(Query("tea", max_results=2), GROUP)).hits
    assert [hit.snippet for hit in hits] == ["tea with milk in the morning", "the order AB-12345 of tea"]
    assert stub.problems == []
    assert stub.bodies[0]["model"] == "rerank-v4.0-fast"


async def test_an_exact_identifier_still_wins(index: MemoryIndex) -> None:
    """No provider's opinion comes before a word-for-word match."""
    hits = (await index.search(Query("AB-12345 tea"), GROUP)).hits
    assert hits[0].snippet == "the order AB-12345 of tea"


@pytest.mark.parametrize("fault", ["refusal", "hang", "nonsense"])
async def test_a_failure_keeps_the_order_and_says_so(stub: EmbeddingStub, index: MemoryIndex, fault: str) -> None:
    """Within its deadline; what the provider said is the owner's to know."""
    stub.always = {"refusal": refusal(500), "hang": stub.hang, "nonsense": lambda: (200, {}, {"results": []})}[fault]
    await index.sync()
    begun = time.monotonic()
    result = await index.search(Query("tea"), GROUP)
    assert time.monotonic() - begun < 15
    assert result.hits[0].snippet == "tea"
    assert result.notice == "not reranked"
    assert "not reranked: cohere rerank" in (await index.search(Query("tea"), MAIN)).notice


async def test_private_notes_are_not_sent_unless_they_may(
    stub: EmbeddingStub, worker: HandlerWorker, index: MemoryIndex
) -> None:
    """With `shared`, a question over private notes asks nobody; one over a group's notes does."""
    assert worker.handler.ordering.reranker is not None
    worker.handler.ordering.reranker.may_leave = "shared"
    result = await index.search(Query("tea"), MAIN)
    assert (stub.bodies, result.notice) == ([], "")
    await index.search(Query("tea"), GROUP)
    assert len(stub.bodies) == 1
