"""The bundled embedder: e5-small-v2 in int8, run on the CPU by onnxruntime.

Each text is run alone, without padding. The model quantises its activations by their range over the whole run, so texts
run together would change each other's vectors (cosine down to 0.97), and private text would show in the scores of
others. Alone, a vector depends on its text and nothing else. Cores are used by running texts in parallel, each on one
thread: measured as fast as batches over two threads, and unlike those not slowed when other work needs a core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from workspaces.memory.index.embeddings import EmbedderUnavailableError, Embedding, QueryEmbedding

MODEL_FOLDER = Path(__file__).parent / "e5"
DIMENSION = 384
WINDOW = 252
"""Most word pieces of a text in a run of the model: 256 without [CLS], [SEP] and the prefix."""
OVERLAP = 32
"""Word pieces shared by two windows of a long text, so that each has at least 16 before and after it."""

_CLS, _SEP = 101, 102
QUERY, PASSAGE = 0, 1
"""Kinds of text: the model was trained with a prefix for each."""
_PREFIXES = (23032, 1024), (6019, 1024)
"""The word pieces of "query:" and "passage:"."""

# Words without a meaning of their own, whose token vectors would only fill the index: articles, pronouns, prepositions
# without a direction that matters to a search, forms of be/do/have, question words, and the tokenizer's fragments of
# "I'm", "it's", "don't". Chosen by hand and short on purpose: the weight by rarity takes care of the rest, while a word
# that is wrongly here can never be found. Negations, numbers, months, "may" and "will" stay.
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


_NOT_YET_KNOWN = -1
"""Pieces are judged when they first occur: all of them at the start would take 40 ms and 5 MB."""


class WordPieces:
    """The model's tokenizer, with a flag for meaningful word pieces."""

    def __init__(self, file: Path) -> None:
        """Read the tokenizer from *file*; raises EmbedderUnavailableError."""
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as exc:  # tokenizers raises nothing narrower
            raise EmbedderUnavailableError(f"the embedding model's tokenizer cannot be read: {exc}") from exc
        self._meaningful = np.full(self._tokenizer.get_vocab_size(), _NOT_YET_KNOWN, np.int8)

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is one word piece: a common word or name."""
        return text.isalpha() and self._tokenizer.token_to_id(text) is not None

    def split(self, text: str) -> npt.NDArray[np.int64]:
        """Return the ids of the word pieces of *text*, shape [n], without [CLS] and [SEP]."""
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def are_meaningful(self, pieces: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each of *pieces* whether its vector belongs in the index."""
        for number in pieces[self._meaningful[pieces] == _NOT_YET_KNOWN].tolist():
            self._meaningful[number] = _is_meaningful(self._tokenizer.id_to_token(number) or "")
        return np.asarray(self._meaningful[pieces] == 1, np.bool_)


def _is_meaningful(piece: str) -> bool:
    """Tell whether *piece* is part of a word or number; [UNK] is not: all unknown words would be one word."""
    is_special = piece.startswith("[") and piece.endswith("]")
    return not is_special and piece not in STOP_WORDS and any(character.isalnum() for character in piece)


class EmbeddingModel:
    """The network: word pieces in, vectors out."""

    def __init__(self, file: Path) -> None:
        """Load the network from *file*; raises EmbedderUnavailableError."""
        import onnxruntime  # starts a thread

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as exc:  # onnxruntime's errors have no common parent
            raise EmbedderUnavailableError(f"the embedding model cannot be loaded: {exc}") from exc

    def run(self, pieces: npt.NDArray[np.int64], kind: int) -> tuple[Floats, Floats]:
        """Return the pooled vector [384] and the token vectors [n, 384] of *pieces* [n], all of length 1; n ≤ 252.

        Runs on the calling thread, without the GIL, and on several threads at once if several call.
        """
        begin = [_CLS, *_PREFIXES[kind]]
        ids = np.concatenate((begin, pieces, [_SEP])).astype(np.int64)[np.newaxis]
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        pooled, hidden = self._session.run(["pooled", "hidden"], inputs)
        return pooled[0], _normalised(hidden[0, len(begin) : -1])


@dataclass(frozen=True, slots=True)
class TextWindow:
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


class LocalEmbedder:
    """The embedder without account or network; it takes about 60 MB."""

    name = "e5-small-v2-int8-centred"
    dimension = DIMENSION
    languages = "English"

    def __init__(self, folder: Path = MODEL_FOLDER, threads: int = 2) -> None:
        """Load the model in *folder*; *threads* is the number of texts in parallel, one core each.

        Raises EmbedderUnavailableError if a file is missing or differs from the bundled one.
        """
        with ThreadPoolExecutor(2) as beside:
            checked, model = beside.submit(_check_files, folder), beside.submit(EmbeddingModel, folder / "model.onnx")
            try:
                self._pieces = WordPieces(folder / "tokenizer.json")
                self._model = model.result()
                self._centres: Floats = np.load(folder / "centres.npy", allow_pickle=False)
                self._projection: Floats = np.load(folder / "projection.npy", allow_pickle=False)
            finally:
                checked.result()  # its reason comes first: a damaged file may fail to load in any way
        self._threads = threads

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is a common English word or name."""
        return self._pieces.is_word(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each of *texts*; one longer than the model's window is read in several windows."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._embed, texts))

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a query."""
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
            vector, hidden = self._model.run(pieces[window.start : window.end], kind)
            pooled += vector * (window.end - window.start)
            states.append(hidden[window.kept])
        counts = self._pieces.are_meaningful(pieces)
        usual, usual_token = self._centres[kind]
        tokens = _normalised((np.concatenate(states)[counts] - usual_token) @ self._projection)
        centred = _normalised(pooled) - usual if len(pieces) else pooled
        return _normalised(centred), tokens, pieces[counts]


def _normalised(vectors: Floats) -> Floats:
    """Return *vectors* [..., n] divided by their lengths."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _check_files(folder: Path) -> None:
    """Check the files of *folder* against its SHA256SUMS: a damaged weight would silently find wrong notes."""
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
