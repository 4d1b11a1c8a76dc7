"""This file says what is needed to reach a Qdrant server; it is light, so that the gateway may import it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """A Qdrant server or cluster that keeps the collections instead of the embedded engine."""

    url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 5.0
    """For one request, in whole seconds; a search answers from the files before that."""
    prefix: str = "strandline"
    """Begins each collection's name: gateways that share a server need different ones."""

    def as_frame(self) -> dict[str, Any]:
        """Write it for the worker; the frame holds the key and travels through the pipe alone."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Read it in the worker."""
        return cls(**frame)
