"""Stored embeddings, and those of an earlier version."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.memory import WordsEmbedder
from workspaces.memory.index.embedding_store import RECENT_BYTES, EmbeddingStore
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedding
from workspaces.memory.index.late_interaction import ROW_BYTES

MODEL = "words"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddingStore]:
    with closing(EmbeddingStore(tmp_path / "texts.db")) as store:
        yield store


def _embedded(*texts: str) -> list[tuple[str, Embedding]]:
    return list(zip(texts, WordsEmbedder().embed(texts), strict=True))


def test_a_text_is_stored_once(store: EmbeddingStore) -> None:
    """Under one number, in 66 bytes a token vector and one a number of the pooled one."""
    store.put(MODEL, _embedded("red bicycle", "blue moon"))
    store.put(MODEL, _embedded("red bicycle"))
    found = store.get(MODEL, "red bicycle")
    assert found is not None
    assert found.id == 1
    assert store.tokens([1, 2, 3]).keys() == {1, 2}
    assert len(store.tokens([1])[1]) == 2 * ROW_BYTES
    assert store.get("other", "red bicycle") is None


def test_an_embedding_reads_the_same_new_and_from_the_file(tmp_path: Path) -> None:
    """Or an entry that is stored again after a restart would have other scores."""
    with closing(EmbeddingStore(tmp_path / "texts.db")) as store:
        store.put(MODEL, _embedded("red bicycle"))
        new = store.get(MODEL, "red bicycle")
    with closing(EmbeddingStore(tmp_path / "texts.db")) as store:
        read = store.get(MODEL, "red bicycle")
    assert new is not None
    assert read is not None
    assert (new.id, new.pieces, new.pooled.tolist()) == (read.id, read.pieces, read.pooled.tolist())


def test_a_provider_that_gives_no_pooled_vector_takes_no_space(store: EmbeddingStore) -> None:
    """Zeros are not stored."""
    store.put(MODEL, [("text", Embedding(np.zeros(4_096, np.float32), np.zeros((0, 128), np.float16), frozenset()))])
    found = store.get(MODEL, "text")
    assert found is not None
    assert len(found.pooled) == 0


def test_embeddings_in_memory_are_bounded_by_their_size(store: EmbeddingStore) -> None:
    """However long the texts are; the newest are there, and what went is read from the file."""
    pooled, tokens = np.ones(384, np.float32), np.ones((2, TOKEN_DIMENSION), np.float16)
    long = Embedding(pooled, tokens, frozenset(range(20_000)))
    for number in range(100):
        store.put(MODEL, [(f"text {number % 80}", long)])
    held = sum(each.size for each in store._recent.values())
    assert RECENT_BYTES / 2 < held <= RECENT_BYTES
    assert next(reversed(store._recent)) == (MODEL, "text 19")
    assert (MODEL, "text 20") not in store._recent
    assert store.get(MODEL, "text 20") is not None


def test_the_store_does_not_grow_for_ever(store: EmbeddingStore) -> None:
    """The oldest texts that no entry uses are deleted, and no number is given twice."""
    store.put(MODEL, _embedded(*"abcdef"))
    store.shrink(6, lambda: pytest.fail("nothing is to be deleted"))
    store.shrink(3, lambda: [0, 2, 2, 6])
    assert [store.get(MODEL, text) is not None for text in "abcdef"] == [False, True, False, False, True, True]
    store.shrink(0, lambda: [2])
    store.put(MODEL, _embedded("g"))
    found = store.get(MODEL, "g")
    assert found is not None
    assert found.id == 7


def test_what_was_flushed_leaves_no_log(tmp_path: Path, store: EmbeddingStore) -> None:
    """It would take as much space as a thousand texts."""
    store.put(MODEL, _embedded("red bicycle"))
    assert (tmp_path / "texts.db-wal").stat().st_size > 0
    store.flush()
    assert (tmp_path / "texts.db-wal").stat().st_size == 0
