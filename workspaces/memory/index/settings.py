"""Settings of a Qdrant server and a reranker; cheap to import, also in the gateway."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from workspaces.memory.index.embeddings.settings import Leaves

VERSION = 9
"""Version of an index's layout, increased when chunking, tokens or vectors change the stored data."""

Cut = Literal["entries", "windows"]
"""Unit of cutting notes (`chunking.Chunking`)."""


@dataclass(frozen=True, slots=True)
class Decay:
    """Decay of a dated entry's score with age; the defaults are measured (docs/measurements/retrieval.md)."""

    floor: float = 0.98
    """Lowest share of a score left by age; 1 turns decay off, 0 is the unbounded decay of the reference systems."""
    half_life_days: float = 30.0
    """After this time half of the possible decay has happened."""


GENTLE = Decay()


@dataclass(frozen=True, slots=True)
class Blend:
    """Two weights in place of the measured ones, as the reference systems have them: 0.7 and 0.3."""

    vector: float
    """Of the cosine."""
    keyword: float
    """Of BM25 as a share of the best candidate's."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranking model at Cohere."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    top: int = 50
    """Number of the best entries that it reads."""
    deadline_s: float = 0.4
    leaves: Leaves = "shared"

    def as_frame(self) -> dict[str, Any]:
        """Encode it for the worker; the frame contains the key and travels only through the pipe."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Decode it in the worker."""
        return cls(**frame)


@dataclass(frozen=True, slots=True)
class QdrantCluster:
    """Replication of a collection in a cluster; unset values are left to the server."""

    replication_factor: int | None = None
    """Number of nodes with each point, for new collections."""
    write_consistency_factor: int | None = None
    """Number of these that must confirm a write."""
    read_consistency: int | Literal["majority", "quorum", "all"] | None = None
    """Number of these that must agree on an answer."""


ONE_NODE = QdrantCluster()


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """A Qdrant server or cluster used in place of the embedded engine."""

    url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 5.0
    """For one request, in whole seconds; a search falls back to the files before that."""
    prefix: str = "strandline"
    """Prefix of each collection's name: gateways that share a server need different ones."""
    layout: Literal["agent", "shared"] = "agent"
    """A collection per agent, or one for all: Qdrant advises against thousands of collections."""
    cluster: QdrantCluster = ONE_NODE

    def as_frame(self) -> dict[str, Any]:
        """Encode it for the worker; the frame contains the key and travels only through the pipe."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Decode it in the worker."""
        return cls(**{**frame, "cluster": QdrantCluster(**frame["cluster"])})
