"""Text embeddings: the protocol of an embedder, its data and its error.

    EmbedderUnavailableError    the embedder cannot be used at all; memory continues with keywords

`local` holds the bundled embedder, `multilingual` one for other languages (`transformer` is common to both), `hosted`
those of providers, `joined` combines a provider's with the local one and `choose` picks one; each is imported when it
is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKEN_DIMENSION = 128
"""Length of one token vector."""


class EmbedderUnavailableError(Exception):
    """The embedder cannot be used; the text is a plain reason for the operator."""


class Embedding(Struct, frozen=True, eq=False):
    """Vectors of one indexed text.

    An empty text has a pooled vector of zeros (cosine 0 with everything) and no token vectors; a text of nothing but
    stop words and punctuation has no token vectors either.
    """

    pooled: npt.NDArray[np.float32]
    """Shape [dimension], length 1."""
    tokens: npt.NDArray[np.float16]
    """Shape [n, 128], one row for each meaningful word piece, in the order of the text; each row has length 1."""
    piece_ids: frozenset[int]
    """Distinct word pieces of the rows of `tokens`, for counting in how many texts a word piece occurs."""


class QueryEmbedding(Struct, frozen=True, eq=False):
    """Vectors of one query; the caller weights the token vectors by the rarity of their word pieces."""

    pooled: npt.NDArray[np.float32]
    """Shape [dimension], length 1 (zeros for an empty query)."""
    tokens: npt.NDArray[np.float32]
    """Shape [m, 128], rows of length 1; m is 0 if the query has only stop words and punctuation."""
    piece_ids: tuple[int, ...]
    """Word piece of each row of `tokens`, length m; comparable with `Embedding.piece_ids` of the same embedder."""


class QueryReader(Protocol):
    """The part of an embedder that a search needs."""

    def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a query."""


@runtime_checkable
class Vocabulary(Protocol):
    """An embedder that knows which words there are."""

    def is_word(self, text: str) -> bool:
        """Tell whether *text*, in small letters, is a common word or name."""


class ChangeWeights(Struct, frozen=True, eq=False):
    """A logistic regression on pooled vectors: whether a message says that something is different from before."""

    direction: npt.NDArray[np.float32]
    """Shape [dimension], length 1."""
    scale: float
    constant: float

    def logits(self, cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the logits of texts by the *cosines* of their pooled vectors with the direction, shape [n]."""
        return cosines * self.scale + self.constant


@runtime_checkable
class ChangeReader(Protocol):
    """An embedder whose pooled vectors tell messages of changes (`scripts/train_change.py`)."""

    @property
    def change(self) -> ChangeWeights:
        """Weights for its pooled vectors of passages."""


class Embedder(QueryReader, Protocol):
    """A model that turns texts into vectors; its calls block, so they belong in a worker."""

    @property
    def name(self) -> str:
        """Name of model and variant; vectors with different names are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a pooled vector."""

    @property
    def languages(self) -> str:
        """Supported languages, in plain words."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one embedding for each of *texts*, in order; texts may have any length."""
