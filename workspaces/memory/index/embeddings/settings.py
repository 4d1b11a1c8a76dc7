"""Settings of a hosted embedding model, and the defaults of known providers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from workspaces.access import PRIVATE, Scope

Provider = Literal["cohere", "openai", "gemini", "voyage"]
Leaves = Literal["shared", "everything"]
"""Text that may be sent to a provider: notes of shared scopes only, or private ones too."""


def may_leave(leaves: Leaves, scopes: frozenset[Scope] | None) -> bool:
    """Tell whether text of *scopes* may be sent; `None` is every scope, the private one included."""
    return leaves == "everything" or (scopes is not None and PRIVATE not in scopes)


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
    may_leave: Leaves = "shared"


_GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
PRESETS: Mapping[Provider, HostedEmbedding] = {
    "cohere": HostedEmbedding("cohere", "embed-v4.0", 1024, "https://api.cohere.com"),
    "openai": HostedEmbedding("openai", "text-embedding-3-small", 1536, "https://api.openai.com/v1"),
    "gemini": HostedEmbedding("gemini", "gemini-embedding-001", 1536, _GEMINI_URL),
    "voyage": HostedEmbedding("voyage", "voyage-3.5", 1024, "https://api.voyageai.com/v1"),
}
KEY_ENVS: Mapping[str, str] = {
    "cohere": "CO_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
}
