"""Embedding of texts beside other work, each once."""

import errno
import itertools
import os
import queue
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fakes.memory import WordsEmbedder
from tests.fakes.patience import PATIENCE_S
from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.embedding_store import EmbeddingStore
from workspaces.memory.index.embeddings import Embedding
from workspaces.memory.index.loop import FULL_DISK_EVERY_S, Loop
from workspaces.memory.index.request_handler import RequestHandler
from workspaces.memory.index.vectors import NICENESS, PORTION, Vectors
from workspaces.memory.wire import Frame, document_out
from workspaces.memory_trim import EVERY_S


class MeetsAnother(WordsEmbedder):
    """A model that finishes a text only while another one is under way; alone it gives up."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = threading.Barrier(2, timeout=PATIENCE_S)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self._meeting.wait()
        return super().embed(texts)


class Refuses(WordsEmbedder):
    """A model that fails over its first texts."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        if not self.texts:
            self.texts += texts
            raise MemoryError
        return super().embed(texts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddingStore]:
    store = EmbeddingStore(tmp_path / "texts.db")
    yield store
    store.close()


class TellsItsPriority(WordsEmbedder):
    """A model that notes the priorities of the thread that it is called on, and of one that it starts."""

    def __init__(self) -> None:
        super().__init__()
        self.priorities: list[int] = []

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        with ThreadPoolExecutor(1) as own:
            self.priorities += [_priority(), own.submit(_priority).result()]
        return super().embed(texts)


def _priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def _put(number: int, folder: Path) -> Frame:
    document = Document(f"memory/{number}.md", PRIVATE, f"- apple number {number}\n", None, f"digest {number}")
    return {"id": number, "op": "put", "folder": str(folder), "document": document_out(document), "stamp": "1"}


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux alone")
def test_notes_are_embedded_at_a_lower_priority(store: EmbeddingStore) -> None:
    """On the model's own threads too; the thread that serves searches keeps its priority."""
    before, embedder = _priority(), TellsItsPriority()
    vectors = Vectors(embedder, store)
    for _ in vectors.arrive(vectors.begin(["apple"])):
        pass
    vectors.close()
    assert embedder.priorities == [max(before, NICENESS)] * 2
    assert _priority() == before


def test_the_next_document_is_embedded_while_the_first_waits(tmp_path: Path) -> None:
    """Of two requests that are there, both are begun; the first is stored first."""
    handler = RequestHandler(MeetsAnother(), "", lambda: 0.0)
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    for number in (1, 2):
        requests.put(_put(number, tmp_path))
    replies: list[Frame] = []

    def send(reply: Frame) -> None:
        replies.append(reply)
        if len(replies) == 2:
            requests.put(None)

    Loop(handler, send, lambda: 0.0).run(requests)
    assert [(reply["id"], reply.get("done", reply).get("stored")) for reply in replies] == [(1, 1), (2, 1)]
    handler.close()


def test_who_waits_behind_others_hears_that_we_live(tmp_path: Path) -> None:
    """Or a request that is only in the queue would be given up as lost."""
    handler = RequestHandler(WordsEmbedder(), "", lambda: 0.0)
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    seconds = itertools.count(step=5)
    replies: list[Frame] = []

    def send(reply: Frame) -> None:
        replies.append(reply)
        if sum("done" in each for each in replies) == 3:
            requests.put(None)

    for number in (1, 2, 3):
        requests.put(_put(number, tmp_path))
    Loop(handler, send, lambda: float(next(seconds))).run(requests)
    first_done = next(place for place, reply in enumerate(replies) if "done" in reply)
    assert {reply["id"] for reply in replies[:first_done]} >= {2, 3}
    handler.close()


class OnAFullDisk(WordsEmbedder):
    """A model whose vectors find no room: as the system, SQLite and the engine say it."""

    def __init__(self) -> None:
        super().__init__()
        self._errors = itertools.cycle(
            [
                OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
                sqlite3.OperationalError("database or disk is full"),
                RuntimeError("Service runtime error: No space left on device (os error 28)"),
            ]
        )

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        raise next(self._errors)


def test_a_full_disk_is_told_in_one_line_and_seldom(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each change of a note meets it, and a traceback says nothing of the remedy; the gateway hears it each time."""
    now_s = 0.0
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    replies: list[Frame] = []

    def send(reply: Frame) -> None:
        nonlocal now_s
        replies.append(reply)
        now_s = FULL_DISK_EVERY_S * (len(replies) // 3)
        requests.put(_put(len(replies) + 1, tmp_path) if len(replies) < 6 else None)

    requests.put(_put(1, tmp_path))
    handler = RequestHandler(OnAFullDisk(), "", lambda: 0.0)
    Loop(handler, send, lambda: now_s).run(requests)
    handler.close()
    told = f"the disk that holds {tmp_path} is full; free some space and it continues by itself"
    assert [reply["failed"] for reply in replies] == [told] * 6
    assert [record.getMessage() for record in caplog.records] == [f"new and changed notes are not indexed: {told}"] * 2
    assert "Traceback" not in caplog.text


class Watched:
    """A clock that is moved by hand, and what is told each time memory is given back."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.given_back_at: list[float] = []
        self.is_done = queue.SimpleQueue[None]()

    def give_back(self) -> float:
        self.given_back_at.append(self.now_s)
        self.is_done.put(None)
        return 0.0


def test_memory_is_given_back_a_minute_after_something_was_done(tmp_path: Path) -> None:
    """Once, when nobody waits; and again after the next request, never while nothing is asked."""
    watched, handler = Watched(), RequestHandler(WordsEmbedder(), "", lambda: 0.0)
    requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    replies: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    loop = Loop(handler, replies.put, lambda: watched.now_s, watched.give_back)

    def ask(number: int) -> None:
        requests.put(_put(number, tmp_path))
        while "done" not in replies.get(timeout=60):
            pass

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(loop.run, requests)
        ask(1)
        watched.now_s = EVERY_S - 1
        ask(2)
        assert watched.given_back_at == []
        watched.now_s = EVERY_S
        ask(3)  # the clock was moved: it looks again
        watched.is_done.get(timeout=60)
        watched.now_s = 2 * EVERY_S - 1
        requests.put({"id": 4, "op": "ping"})
        replies.get(timeout=60)
        requests.put(None)
        running.result(60)
        pool.submit(handler.close).result(60)
    assert watched.given_back_at == [EVERY_S]


def test_a_text_that_is_on_its_way_is_not_sent_again(store: EmbeddingStore) -> None:
    """Two documents with the same lines cost one embedding of each, and both get it."""
    embedder = WordsEmbedder()
    vectors = Vectors(embedder, store)
    texts = [f"apple {number}" for number in range(2 * PORTION)]
    first, second = vectors.begin(texts), vectors.begin([*texts, "pear"])
    for _ in (*vectors.arrive(second), *vectors.arrive(first)):
        pass
    assert (first.embedded, first.reused) == (len(texts), 0)
    assert (second.embedded, second.reused) == (1, len(texts))
    assert sorted(embedder.texts) == sorted([*texts, "pear"])
    assert all(store.get("words", text) for text in [*texts, "pear"])
    vectors.close()


def test_a_model_that_fails_fails_once(store: EmbeddingStore) -> None:
    """What it could not embed is asked for anew with the next document."""
    vectors = Vectors(Refuses(), store)
    with pytest.raises(MemoryError):
        list(vectors.arrive(vectors.begin(["apple"])))
    again = vectors.begin(["apple"])
    list(vectors.arrive(again))
    assert again.embedded == 1
    assert store.get("words", "apple") is not None
    vectors.close()
