"""Settings of a hosted embedding model, and the defaults of known providers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from workspaces.access import PRIVATE, Scope

Provider = Literal["cohere", "openai", "gemini", "voyage"]
Leaves = Literal["shared", "everything"]
"""Text that may be sent to a provider: notes of shared scopes only, or private ones too."""


def may_leave(leaves: Leaves, scopes: frozenset[Scope] | None) -> bool:
    """Tell whether text of *scopes* may be sent; `None` is every scope, the private one included."""
    return leaves == "everything" or (scopes is not None and PRIVATE not in scopes)


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults of a provider."""

    base_url: str
    model: str
    dimension: int
    key_env: str


PRESETS: Mapping[Provider, Preset] = {
    "cohere": Preset("https://api.cohere.com", "embed-v4.0", 1024, "CO_API_KEY"),
    "openai": Preset("https://api.openai.com/v1", "text-embedding-3-small", 1536, "OPENAI_API_KEY"),
    "gemini": Preset(
        "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-embedding-001", 1536, "GEMINI_API_KEY"
    ),
    "voyage": Preset("https://api.voyageai.com/v1", "voyage-3.5", 1024, "VOYAGE_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class HostedEmbedding:
    """One embedding model of a provider, or of a server with OpenAI's protocol."""

    provider: Provider
    model: str
    dimension: int
    """Length of its vectors."""
    base_url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 30.0
    leaves: Leaves = "shared"

    def as_frame(self) -> dict[str, Any]:
        """Encode it for the worker; the frame contains the key and travels only through the pipe."""
        return asdict(self)

    @classmethod
    def of_frame(cls, frame: Mapping[str, Any]) -> Self:
        """Decode it in the worker."""
        return cls(**frame)
