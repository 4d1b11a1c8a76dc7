"""An embedder of a small transformer (12 layers, 384 numbers) in int8, run on the CPU by onnxruntime.

Each text is run alone, without padding. The model quantises its activations by their range over the whole run, so texts
run together would change each other's vectors (cosine down to 0.97), and private text would show in the scores of
others. Alone, a vector depends on its text and nothing else. Cores are used by running texts in parallel, each on one
thread: measured as fast as batches over two threads, and unlike those not slowed when other work needs a core.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from workspaces.memory.index.embeddings import ChangeWeights, EmbedderUnavailableError, Embedding, QueryEmbedding

DIMENSION = 384
WINDOW = 252
"""Most word pieces of a text in a run of the model: 256 without those at its start and end."""
OVERLAP = 32
"""Word pieces shared by two windows of a long text, so that each has at least 16 before and after it."""

QUERIES_KEPT = 8
"""Queries whose vectors are kept: recall and a search ask the same, and so do the indexes of one agent."""
QUERY, PASSAGE = 0, 1
"""Kinds of text: the model was trained with a prefix for each."""

# Words without a meaning of their own, whose token vectors would only fill the index: articles, pronouns, prepositions
# without a direction that matters to a search, forms of be/do/have, question words, and the tokenizer's fragments of
# "I'm", "it's", "don't". Chosen by hand and short on purpose: the weight by rarity takes care of the rest, and of other
# languages, while a word that is wrongly here can never be found. Negations, numbers, months, "may" and "will" stay.
_STOP_WORDS = """
    a an the this that these those there here
    i me my mine you your yours he him his she her hers it its we us our ours they them their theirs
    of to in on at by for with from into as about and or but if so than then
    am is are was were be been being do does did doing have has had having
    what which who whom whose when where why how
    s t m d ll re ve didn doesn isn aren wasn weren hasn haven hadn
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

Floats: TypeAlias = npt.NDArray[np.float32]
Ids: TypeAlias = npt.NDArray[np.int64]


_NOT_YET_KNOWN = -1
"""Pieces are judged when they first occur: all of them at the start would take 40 ms and 5 MB."""


class Pieces(ABC):
    """A model's tokenizer, with a flag for meaningful word pieces."""

    def __init__(self, count: int) -> None:
        """Prepare for a vocabulary of *count* word pieces."""
        self._meaningful = np.full(count, _NOT_YET_KNOWN, np.int8)

    @abstractmethod
    def split(self, text: str) -> Ids:
        """Return the ids of the word pieces of *text*, shape [n], without those that frame every text."""

    @abstractmethod
    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is one word piece: a common word or name."""

    @abstractmethod
    def letters(self, number: int) -> str:
        """Return the text of piece *number*; empty for one that stands for no text or for an unknown one."""

    def are_meaningful(self, pieces: Ids) -> npt.NDArray[np.bool_]:
        """Return for each of *pieces* whether its vector belongs in the index: parts of words and numbers do."""
        for number in pieces[self._meaningful[pieces] == _NOT_YET_KNOWN].tolist():
            letters = self.letters(number)
            self._meaningful[number] = letters not in STOP_WORDS and any(map(str.isalnum, letters))
        return np.asarray(self._meaningful[pieces] == 1, np.bool_)


class Frame(Struct, frozen=True):
    """Word pieces around every text of a model."""

    before: tuple[tuple[int, ...], tuple[int, ...]]
    """The start and the prefix, of a query and of a passage."""
    end: int


_ONNX_TYPES: Mapping[type, int] = {np.float32: 1, np.int8: 3}
"""Numbers of types in ONNX's `TensorProto`."""


class Network:
    """The network: word pieces in, vectors out."""

    def __init__(
        self,
        file: Path,
        frame: Frame,
        weights: Mapping[str, npt.NDArray[Any]] | None = None,
        words: Callable[[Ids], Floats] | None = None,
    ) -> None:
        """Load the graph in *file*.

        *weights* are its numbers by name, if they do not stand beside it; *words* looks up the vectors of word pieces
        [n, 384], if the graph does not. Raises EmbedderUnavailableError.
        """
        import onnxruntime  # starts a thread

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            if weights is not None:
                lend = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
                values = [lend(value, _ONNX_TYPES[value.dtype.type]) for value in weights.values()]
                options.add_external_initializers(list(weights), values)
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as exc:  # onnxruntime's errors have no common parent
            raise EmbedderUnavailableError(f"the embedding model cannot be loaded: {exc}") from exc
        self._frame = frame
        self._words = words
        self._weights = weights  # the runtime reads them where they are

    def run(self, pieces: Ids, kind: int) -> tuple[Floats, Floats]:
        """Return the pooled vector [384] and the token vectors [n, 384] of *pieces* [n], all of length 1; n ≤ 252.

        Runs on the calling thread, without the GIL, and on several threads at once if several call.
        """
        before = self._frame.before[kind]
        ids = np.concatenate((before, pieces, [self._frame.end])).astype(np.int64)
        read = {"word_vectors": self._words(ids)[np.newaxis]} if self._words else {"input_ids": ids[np.newaxis]}
        inputs = {**read, "attention_mask": np.ones((1, len(ids)), np.int64)}
        pooled, hidden = self._session.run(["pooled", "hidden"], inputs)
        return pooled[0], normalised(hidden[0, len(before) : -1])


class TextWindow(Struct, frozen=True):
    """A range of a text processed in one run: pieces *start* to *end*; the token vectors in *kept* count."""

    start: int
    end: int
    kept: slice


def windows(length: int) -> Iterator[TextWindow]:
    """Split *length* word pieces into windows of equal size; each piece is kept where it has more context."""
    if length <= WINDOW:
        yield TextWindow(0, length, slice(0, length))
        return
    count = -(-(length - OVERLAP) // (WINDOW - OVERLAP))
    size = -(-(length + (count - 1) * OVERLAP) // count)
    for number in range(count):
        start = number * (size - OVERLAP)
        end = min(start + size, length)
        first = 0 if number == 0 else OVERLAP // 2
        last = end - start if number == count - 1 else end - start - OVERLAP // 2
        yield TextWindow(start, end, slice(first, last))


class TransformerEmbedder:
    """The shared part of the embedders of such a model."""

    dimension = DIMENSION

    def __init__(self, pieces: Pieces, network: Network, folder: Path, threads: int) -> None:
        """Read what belongs to the vectors from *folder*; *threads* texts run in parallel, a core each."""
        self._pieces = pieces
        self._network = network
        self._centres: Floats = np.load(folder / "centres.npy", allow_pickle=False)
        self._projection: Floats = np.load(folder / "projection.npy", allow_pickle=False)
        *direction, constant = np.load(folder / "change.npy", allow_pickle=False).tolist()
        length = float(np.linalg.norm(direction))
        self.change = ChangeWeights(np.array(direction, np.float32) / length, length, constant)
        self._threads = threads
        self._embed_query = lru_cache(QUERIES_KEPT)(self._read_query)

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is a common word or name."""
        return self._pieces.is_word(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each of *texts*; one longer than the model's window is read in several windows."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._embed, texts))

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a query; the same ones for the same text."""
        return self._embed_query(text)

    def _read_query(self, text: str) -> QueryEmbedding:
        pooled, tokens, pieces = self._read(text, QUERY)
        return QueryEmbedding(pooled, tokens, tuple(pieces.tolist()))

    def _embed(self, text: str) -> Embedding:
        pooled, tokens, pieces = self._read(text, PASSAGE)
        return Embedding(pooled, tokens.astype(np.float16), frozenset(pieces.tolist()))

    def _read(self, text: str, kind: int) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
        """Return the pooled vector, the kept token vectors, and their word pieces.

        Windows are weighted by their number of pieces, so the one window of an empty text leaves zeros.
        """
        pieces = self._pieces.split(text)
        pooled = np.zeros(DIMENSION, np.float32)
        states = []
        for window in windows(len(pieces)):
            vector, hidden = self._network.run(pieces[window.start : window.end], kind)
            pooled += vector * (window.end - window.start)
            states.append(hidden[window.kept])
        counts = self._pieces.are_meaningful(pieces)
        usual, usual_token = self._centres[kind]
        tokens = normalised((np.concatenate(states)[counts] - usual_token) @ self._projection)
        centred = normalised(pooled) - usual if len(pieces) else pooled
        return normalised(centred), tokens, pieces[counts]


def normalised(vectors: Floats) -> Floats:
    """Return *vectors* [..., n] divided by their lengths."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def check_files(folder: Path) -> None:
    """Check the files of *folder* against its SHA256SUMS: a damaged weight would silently find wrong notes.

    Raises EmbedderUnavailableError.
    """
    try:
        listed = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
        for expected, name in (line.split() for line in listed):
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != expected:
                raise EmbedderUnavailableError(f"the embedding model's file {name} is damaged: install again")
    except OSError as exc:
        raise EmbedderUnavailableError(f"the embedding model's file {exc.filename} cannot be read") from exc
    except ValueError as exc:
        raise EmbedderUnavailableError("the embedding model's SHA256SUMS is damaged: install again") from exc
