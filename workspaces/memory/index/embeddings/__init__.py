"""This package turns texts into vectors: here are the contract of an embedder, its data and its error.

    EmbedderUnavailableError    the embedder cannot be used at all; memory goes on with keywords

`local` holds the embedder that ships with the program, `multilingual` one for other languages, `hosted` those of
providers, `joined` puts a provider's beside the local one and `choose` picks one; each is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKEN_DIMENSION = 128
"""Length of one token vector."""


class EmbedderUnavailableError(Exception):
    """An embedder that cannot be used; the text is a plain reason for the operator."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """One text of the index as vectors.

    An empty text has a pooled vector of zeros (cosine 0 with everything) and no token vectors; a text of nothing but
    stop words and punctuation has no token vectors either.
    """

    pooled: npt.NDArray[np.float32]
    """Shape [dimension], length 1."""
    tokens: npt.NDArray[np.float16]
    """Shape [n, 128], one row for each word piece that carries meaning, in the order of the text; each row has
    length 1."""
    piece_ids: frozenset[int]
    """The distinct word pieces among the rows of `tokens`, to count in how many texts a word piece occurs."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryEmbedding:
    """One query as vectors; the caller weights the token vectors by how rare their word piece is."""

    pooled: npt.NDArray[np.float32]
    """Shape [dimension], length 1 (zeros for an empty query)."""
    tokens: npt.NDArray[np.float32]
    """Shape [m, 128], rows of length 1; m is 0 where a query has nothing but stop words and punctuation."""
    piece_ids: tuple[int, ...]
    """The word piece of each row of `tokens`, length m; comparable with `Embedding.piece_ids` of the same embedder."""


class QueryReader(Protocol):
    """What a search needs of an embedder."""

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a search's text."""


class Embedder(QueryReader, Protocol):
    """A model that turns texts into vectors; its calls block, so they belong to a worker."""

    @property
    def name(self) -> str:
        """Name of model and variant; vectors of different names are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a pooled vector."""

    @property
    def languages(self) -> str:
        """The languages it is good at, in plain words."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each of *texts*, in their order; they may be of any length."""
