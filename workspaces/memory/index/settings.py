"""Settings of a Qdrant server and a reranker; cheap to import, also in the gateway."""

import re
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from annotated_types import Interval, MinLen
from msgspec import Struct

from workspaces.memory.index.embeddings.settings import Leaves

VERSION = 9
"""Version of an index's layout, increased when chunking, tokens or vectors change the stored data."""

Cut = Literal["entries", "windows"]
"""Unit of cutting notes (`chunking.Chunking`)."""


class Decay(Struct, frozen=True):
    """Decay of a dated entry's score with age; the defaults are measured (docs/measurements/retrieval.md)."""

    floor: float = 0.98
    """Lowest share of a score left by age; 1 turns decay off, 0 is the unbounded decay of the reference systems."""
    half_life_days: float = 30.0
    """After this time half of the possible decay has happened."""


GENTLE = Decay()


class Blend(Struct, frozen=True):
    """Two weights in place of the measured ones, as the reference systems have them: 0.7 and 0.3."""

    vector: float
    """Of the cosine."""
    keyword: float
    """Of BM25 as a share of the best candidate's."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranking model at Cohere."""

    model: Annotated[str, MinLen(1)] = "rerank-v4.0-fast"
    base_url: str = "https://api.cohere.com"
    top: Annotated[int, Interval(ge=2, le=200)] = 50
    """Number of the best entries that it reads."""
    deadline_s: Annotated[float, Interval(gt=0, le=10)] = 0.4
    may_leave: Leaves = "shared"


USUAL_RERANKING = Reranking()

_Nodes = Annotated[int, Interval(ge=1, le=32)] | None


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """A Qdrant server or cluster used in place of the embedded engine."""

    url: str | None = None
    """Not set: the embedded engine."""
    timeout_s: Annotated[float, Interval(ge=1, le=60)] = 5
    """For one request, in whole seconds; a search falls back to the files before that."""
    prefix: str = "strandline"
    """Prefix of each collection's name: gateways that share a server need different ones."""
    replication_factor: _Nodes = None
    """Number of nodes with each point, for new collections; not set: the server's own default."""
    write_consistency_factor: _Nodes = None
    """Number of these that must confirm a write."""
    read_consistency: _Nodes | Literal["majority", "quorum", "all"] = None
    """Number of these that must agree on an answer."""
    other_urls: tuple[str, ...] = ()
    """Further nodes of the same cluster, asked while the one at `url` does not answer."""
    ca_file: str | None = None
    """PEM file of the authority of the server's certificate; not set: the well-known ones."""

    def __post_init__(self) -> None:
        confirmed, replicas = self.write_consistency_factor, self.replication_factor
        if confirmed is not None and replicas is not None and confirmed > replicas:
            raise ValueError(
                f"write_consistency_factor must not be more than replication_factor, which is {replicas}: "
                "no write would be confirmed"
            )


ONE_NODE = QdrantServer()
MAJOR = 1
OLDEST = (1, 10)
"""Oldest release with one query interface and multivectors, by Qdrant's release notes."""


def version_fault(version: str) -> str:
    """Return why a server of *version* cannot hold the index, or nothing."""
    release = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if release >= OLDEST and release[:1] == (MAJOR,):
        return ""
    return f"it is Qdrant {version}; run {'.'.join(map(str, OLDEST))} or a newer release of version {MAJOR}"


def settings_frame(kind: type[Reranking | QdrantServer], settings: Reranking | QdrantServer | None) -> Any:
    """Encode *settings* for the worker as *kind*, without what a gateway adds to them; `None` stays `None`."""
    return None if settings is None else {each.name: getattr(settings, each.name) for each in fields(kind)}
