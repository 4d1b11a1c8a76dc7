"""This file says what is needed to reach a Qdrant server and a reranker; it is light, so the gateway may import it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from workspaces.memory.index.embeddings.settings import Leaves

Cut = Literal["entries", "windows"]
"""How notes are cut (`chunking.Chunking`)."""


@dataclass(frozen=True, slots=True)
class Decay:
    """How age lowers a dated entry's score; the defaults are measured (docs/retrieval.md)."""

    floor: float = 0.98
    """What age leaves of a score at least; 1 turns decay off, 0 is the unbounded decay of the systems this follows."""
    half_life_days: float = 30.0
    """After this time half of what age may take is taken."""


GENTLE = Decay()


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranking model at Cohere."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    top: int = 50
    """How many of the best entries it reads."""
    deadline_s: float = 0.4
    leaves: Leaves = "shared"

    def as_frame(self) -> dict[str, Any]:
        """Write it for the worker; the frame holds the key and travels through the pipe alone."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Read it in the worker."""
        return cls(**frame)


@dataclass(frozen=True, slots=True)
class QdrantCluster:
    """How several nodes of one server keep a collection; what is not set, the server decides."""

    replication_factor: int | None = None
    """Nodes that have each point, for collections that are made from now on."""
    write_consistency_factor: int | None = None
    """Of these, how many have to confirm a write."""
    read_consistency: int | Literal["majority", "quorum", "all"] | None = None
    """How many of them have to agree on an answer."""


ONE_NODE = QdrantCluster()


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """A Qdrant server or cluster that keeps the collections instead of the embedded engine."""

    url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 5.0
    """For one request, in whole seconds; a search answers from the files before that."""
    prefix: str = "strandline"
    """Begins each collection's name: gateways that share a server need different ones."""
    layout: Literal["agent", "shared"] = "agent"
    """A collection an agent, or one for all: Qdrant advises against thousands of collections."""
    cluster: QdrantCluster = ONE_NODE

    def as_frame(self) -> dict[str, Any]:
        """Write it for the worker; the frame holds the key and travels through the pipe alone."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Read it in the worker."""
        return cls(**{**frame, "cluster": QdrantCluster(**frame["cluster"])})
