"""Late interaction: MaxSim of a query's token vectors over those of entries, each text's stored once as whole numbers.

A row of a text's token vectors takes 66 bytes: 128 whole numbers of 4 bits and their scale, a 16-bit float. A text is
scored once per search, however many entries contain it or follow it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workspaces.memory.index.embeddings import TOKEN_DIMENSION
from workspaces.memory.index.engine import Column, FloatArray, PointId, TokenArray

_LARGEST = 7
_STEP = 0.335
"""Step of the numbers, in standard deviations of a row: the best for 16 levels of a normal distribution (J. Max,
"Quantizing for minimum distortion", 1960).
"""
_HALF = TOKEN_DIMENSION // 2
_ROWS_AT_ONCE = 512
"""Rows that are multiplied at once: all of a search's would need 10 MB and take four times as long."""
_QUERY_LARGEST = 8_000
"""Largest whole number of a query's vectors. Sums of 128 products with 0 to 15 stay below 2^24, so a 32-bit float holds
each exactly: BLAS adds up in another order elsewhere in a block, and a score's last bit would depend on other texts.
"""
ROW_BYTES = _HALF + 2

TextId = int
"""Number of a text in the embedding store; 0 is no text."""


class EntryTexts(Protocol):
    """The texts of an entry."""

    @property
    def own(self) -> TextId: ...
    @property
    def before(self) -> TextId:
        """Text of the previous entry in the section."""


class TextsOfEntries(Protocol):
    """The texts of all searchable entries."""

    def among(self, ids: Iterable[PointId]) -> Mapping[PointId, EntryTexts]:
        """Return those of the known ones among *ids*, in their order."""


class TokenReader(Protocol):
    """Access to stored token vectors."""

    def tokens(self, ids: Sequence[TextId]) -> dict[TextId, bytes]:
        """Return the packed token vectors of the known ones among *ids*."""


class LateInteraction:
    """Scores entries by their texts' token vectors."""

    def __init__(self, entries: TextsOfEntries, store: TokenReader) -> None:
        self._entries = entries
        self._store = store

    def score(self, query: FloatArray, ids: Sequence[PointId]) -> tuple[Column, Column]:
        """Return for each of *ids* the MaxSim of *query* [m, 128] by its own token vectors, and by those before too.

        0 without token vectors.
        """
        entries = list(self._entries.among(ids).values())
        columns: dict[TextId, int] = {}
        for entry in entries:
            columns.setdefault(entry.own, len(columns))
            columns.setdefault(entry.before, len(columns))
        stored = self._store.tokens(list(columns))
        nearest = _nearest(query, [stored.get(text, b"") for text in columns])
        own = nearest[[columns[entry.own] for entry in entries]]
        both = np.maximum(own, nearest[[columns[entry.before] for entry in entries]])
        return _sum(own), _sum(both)


def pack(tokens: TokenArray | FloatArray) -> bytes:
    """Return *tokens* [n, 128] in 66 bytes a row: number n beside number n + 64, each more by 8, then the scale."""
    rows = np.asarray(tokens, np.float32)
    steps = np.maximum(_STEP * np.sqrt(np.mean(rows * rows, axis=1, keepdims=True)), 1e-6)
    whole = np.clip(np.rint(rows / steps), -_LARGEST - 1, _LARGEST)
    fitting = np.sum(rows * whole, axis=1) / np.maximum(np.sum(whole * whole, axis=1), 1.0)
    unsigned = (whole + _LARGEST + 1).astype(np.uint8)
    packed = np.empty((len(rows), ROW_BYTES), np.uint8)
    packed[:, :_HALF] = unsigned[:, :_HALF] | unsigned[:, _HALF:] << 4
    packed[:, _HALF:] = fitting.astype(np.float16)[:, np.newaxis].view(np.uint8)
    return packed.tobytes()


def _nearest(query: FloatArray, texts: Sequence[bytes]) -> FloatArray:
    """Return the largest products of each row of *query* [m, 128] with a row of each of *texts*: [n, m].

    A text without rows has -inf.
    """
    nearest = np.full((len(texts), len(query)), -np.inf, np.float32)
    lengths = np.array([len(text) // ROW_BYTES for text in texts], np.int64)
    if lengths.any():
        packed = np.frombuffer(b"".join(texts), np.uint8).reshape(-1, ROW_BYTES)
        starts = np.cumsum(lengths) - lengths
        nearest[lengths > 0] = np.maximum.reduceat(_products(query, packed), starts[lengths > 0])
    return nearest


def _products(query: FloatArray, packed: NDArray[np.uint8]) -> FloatArray:
    """Return the product of each row of *packed* [n, 66] with each row of *query* [m, 128]: [n, m]."""
    steps = np.maximum(np.abs(query).max(axis=1), 1e-6) / _QUERY_LARGEST
    whole = np.rint(query / steps[:, np.newaxis])
    low, high = (np.ascontiguousarray(half.T) for half in (whole[:, :_HALF], whole[:, _HALF:]))
    products = np.empty((len(packed), len(query)), np.float32)
    for begin in range(0, len(packed), _ROWS_AT_ONCE):
        rows, found = packed[begin : begin + _ROWS_AT_ONCE], products[begin : begin + _ROWS_AT_ONCE]
        np.matmul((rows[:, :_HALF] & 15).astype(np.float32), low, out=found)
        found += (rows[:, :_HALF] >> 4).astype(np.float32) @ high
        found -= (_LARGEST + 1) * whole.sum(axis=1)
        found *= rows[:, _HALF:].copy().view(np.float16) * steps
    return products


def _sum(nearest: FloatArray) -> Column:
    """Return the sum of each row; 0 for a text without token vectors."""
    return np.where(np.isfinite(nearest[:, 0]), nearest.sum(axis=1, dtype=np.float64), 0.0)
