"""Working stand-ins for memory's heavy parts: a tiny embedder, and the worker without its process."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding, QueryEmbedding
from workspaces.memory.index.engine import FloatArray
from workspaces.memory.index.request_handler import RequestHandler
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.wire import Decoder, Frame, encode

P = ParamSpec("P")
T = TypeVar("T")
TODAY = date(2026, 3, 10)
DIMENSION = 16


class WordsEmbedder:
    """Maps each word to its own random direction: texts with common words are near, and a call costs nothing."""

    languages = "any"

    def __init__(self, name: str = "words", dimension: int = DIMENSION) -> None:
        self.name = name
        self.dimension = dimension
        self.texts: list[str] = []
        """Every indexed text, in order of embedding."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.texts += texts
        return [self._embedding(text) for text in texts]

    def embed_query(self, text: str) -> QueryEmbedding:
        words = text.lower().split()
        tokens = _rows(words, TOKEN_DIMENSION)
        return QueryEmbedding(self._pooled(words), tokens, tuple(map(_number, words)))

    def _embedding(self, text: str) -> Embedding:
        words = text.lower().split()
        tokens = _rows(words, TOKEN_DIMENSION).astype(np.float16)
        return Embedding(self._pooled(words), tokens, frozenset(map(_number, words)))

    def _pooled(self, words: Sequence[str]) -> FloatArray:
        total = _rows(words, self.dimension).sum(axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-9), np.float32)


def _rows(words: Sequence[str], dimension: int) -> FloatArray:
    rows = [np.random.default_rng(_number(word)).standard_normal(dimension) for word in words]
    lengths = [row / np.linalg.norm(row) for row in rows]
    return np.array(lengths, np.float32).reshape(-1, dimension)


def _number(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=3).digest())


class HandlerWorker:
    """The worker's request handler, called in-process; every frame passes through the wire encoding."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.handler = RequestHandler(embedder, "" if embedder else "no model in this test", time.monotonic)
        self.calls: list[str] = []
        """Names of the operations called, in order."""
        self.frames: list[Frame] = []
        """Frames of the requests, as received by the worker."""
        self.killed_after: int | None = None
        """After this many further steps of a `put`, everything stops, like a kill."""
        self.is_running = True
        self.wakes = 0
        self.rehearsed: Path | None = None

    async def wake(self, folder: Path | None = None) -> None:
        self.wakes += 1
        self.rehearsed = folder

    async def call(self, op: str, folder: Path, arguments: Mapping[str, object]) -> Frame:
        self.calls.append(op)
        request = _through_wire({"op": op, "folder": str(folder), **arguments})
        self.frames.append(request)
        return _through_wire(self._long(request) if op in self.handler.long else self.handler.answer(request))

    def _long(self, request: Frame) -> Frame:
        work = self.handler.long[request["op"]](request)
        while True:
            try:
                next(work)
            except StopIteration as finished:
                done: Frame = finished.value
                return done
            if self.killed_after is not None:
                self.killed_after -= 1
                if self.killed_after < 0:
                    raise KilledError


class KilledError(Exception):
    """The worker was killed in the middle."""


def _through_wire(frame: Frame) -> Frame:
    [again] = Decoder().feed(encode(frame))
    return again


async def run_here(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run *function* on the calling thread."""
    return function(*args, **kwargs)


class SetClock:
    """Memory's clocks, which stand still until a test advances them."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def clock(self) -> MemoryClock:
        return MemoryClock(lambda: self.now_s, lambda: TODAY)
