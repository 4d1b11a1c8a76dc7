"""This file joins a provider's pooled vectors to the local model's token vectors, and decides what may leave.

A note is indexed at once by what this machine knows; the provider's vector is fetched afterwards, for many notes in
one call, so that no search and no new note waits for a network.
"""

from collections.abc import Sequence

import numpy as np

from workspaces.access import Scope
from workspaces.memory.index.embeddings import TOKEN_DIMENSION, Embedder, Embedding, QueryEmbedding
from workspaces.memory.index.embeddings.hosted import HostedEmbedder
from workspaces.memory.index.embeddings.settings import Leaves, may_leave
from workspaces.memory.index.endpoint import EndpointError


class Joined:
    """An `Embedder` of two: *near* on this machine, *far* at a provider.

    Its own `embed` and `embed_query` never leave the machine; their pooled vectors are zeros, which the engine leaves
    out: one collection has one length of pooled vectors, and that is the provider's.
    """

    def __init__(self, near: Embedder | None, far: HostedEmbedder, leaves: Leaves) -> None:
        self.near = near
        self.far = far
        self.name = f"{far.name}+{near.name if near else 'words'}-{leaves}"
        self.dimension = far.dimension
        self.languages = "those of the provider's model"
        self._leaves = leaves

    def may_leave(self, scopes: frozenset[Scope] | None) -> bool:
        """Say whether text of *scopes* may be sent; `None` is every scope, the private one among them."""
        return may_leave(self._leaves, scopes)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return what this machine knows of *texts*."""
        if self.near is None:
            return [Embedding(self._nothing(), np.zeros((0, TOKEN_DIMENSION), np.float16), frozenset()) for _ in texts]
        return [Embedding(self._nothing(), each.tokens, each.piece_ids) for each in self.near.embed(texts)]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return what this machine knows of a search's text."""
        if self.near is None:
            return QueryEmbedding(self._nothing(), np.zeros((0, TOKEN_DIMENSION), np.float32), ())
        near = self.near.embed_query(text)
        return QueryEmbedding(self._nothing(), near.tokens, near.piece_ids)

    def reading(self, scopes: frozenset[Scope] | None) -> "Reading":
        """Return how a query over *scopes* is to be read: it says as much as the notes that it looks for."""
        return Reading(self, self.may_leave(scopes))

    def close(self) -> None:
        """End what is under way."""
        self.far.close()

    def _nothing(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.zeros(self.dimension, np.float32)


class Reading:
    """Reads one query: here, and by the provider where that is allowed and answers in time."""

    def __init__(self, embedder: Joined, may_leave: bool) -> None:
        self._embedder = embedder
        self._may_leave = may_leave
        self.shortfall = ""
        """Why the provider did not take part, although it should; empty when it did or must not."""

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

    @property
    def is_by_words_alone(self) -> bool:
        """Whether no vector was there to search by."""
        return self._embedder.near is None and (bool(self.shortfall) or not self._may_leave)
