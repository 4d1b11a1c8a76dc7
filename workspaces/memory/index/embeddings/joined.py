"""Combination of a provider's pooled vectors with the local model's token vectors, and its privacy rule.

A note is indexed immediately with local vectors; the provider's vector is fetched afterwards, for many notes in one
call, so that no search and no new note waits for a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workspaces.access import Scope
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding, QueryEmbedding, Vocabulary
from workspaces.memory.index.embeddings.settings import Leaves, may_leave
from workspaces.memory.index.endpoint_errors import EndpointError

if TYPE_CHECKING:
    from workspaces.memory.index.embeddings.hosted import HostedEmbedder


class Joined:
    """An `Embedder` of two: *near* on this machine, *far* at a provider.

    Its own `embed` and `embed_query` never send text off the machine; their pooled vectors are zeros, which the engine
    leaves out: a collection has one length of pooled vectors, the provider's.
    """

    def __init__(self, near: Embedder | None, far: HostedEmbedder, leaves: Leaves) -> None:
        self.near = near
        self.far = far
        self.name = f"{far.name}+{near.name if near else 'words'}-{leaves}"
        self.dimension = far.dimension
        self.languages = "those of the provider's model"
        if not may_leave(leaves, None):
            here = f"the model on this machine, for {near.languages}, reads them" if near else "words alone find them"
            self.languages += f", which gets nothing of the owner's notes (may_leave is {leaves!r}): {here}"
        self._leaves = leaves

    def may_leave(self, scopes: frozenset[Scope] | None) -> bool:
        """Tell whether text of *scopes* may be sent; `None` is every scope, the private one included."""
        return may_leave(self._leaves, scopes)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the local vectors of *texts*."""
        if self.near is None:
            return [
                Embedding(self._no_vectors(), np.zeros((0, TOKEN_DIMENSION), np.float16), frozenset()) for _ in texts
            ]
        return [Embedding(self._no_vectors(), each.tokens, each.piece_ids) for each in self.near.embed(texts)]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the local vectors of a query."""
        if self.near is None:
            return QueryEmbedding(self._no_vectors(), np.zeros((0, TOKEN_DIMENSION), np.float32), ())
        near = self.near.embed_query(text)
        return QueryEmbedding(self._no_vectors(), near.tokens, near.piece_ids)

    def is_word(self, text: str) -> bool:
        """Tell whether the local model knows *text* as a word."""
        return isinstance(self.near, Vocabulary) and self.near.is_word(text)

    def reading(self, scopes: frozenset[Scope] | None) -> QueryEmbedder:
        """Return the reader of a query over *scopes*: the query is as private as the notes searched."""
        return QueryEmbedder(self, self.may_leave(scopes))

    def close(self) -> None:
        """Cancel pending requests."""
        self.far.close()

    def _no_vectors(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.zeros(self.dimension, np.float32)


class QueryEmbedder:
    """Embeds one query: locally, and at the provider if that is allowed and answers in time."""

    def __init__(self, embedder: Joined, may_leave: bool) -> None:
        self._embedder = embedder
        self._may_leave = may_leave
        self.shortfall = ""
        """The reason why the provider did not take part although it should; else empty."""

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the query's vectors; the pooled one is zeros without the provider."""
        near = self._embedder.embed_query(text)
        if not self._may_leave:
            return near
        try:
            return QueryEmbedding(self._embedder.far.embed_query(text), near.tokens, near.piece_ids)
        except EndpointError as exc:
            self.shortfall = str(exc)
            return near

    def is_word(self, text: str) -> bool:
        """Tell whether the local model knows *text* as a word."""
        return self._embedder.is_word(text)

    @property
    def is_by_words_alone(self) -> bool:
        """Whether no vector was available."""
        return self._embedder.near is None and (bool(self.shortfall) or not self._may_leave)
