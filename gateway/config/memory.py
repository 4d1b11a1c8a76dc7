"""Settings of memory: its part of the prompt, and its search."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from gateway.agent.settings import RecallMode
from gateway.settings.secrets import SecretSource, refuse_two_places
from gateway.settings.section import EnvName, RootedPath, Url
from workspaces.memory.index.embeddings.settings import KEY_ENVS, Embeddings
from workspaces.memory.index.settings import GENTLE, USUAL_RERANKING, Cut, Reranking
from workspaces.memory.query import MOST_RESULTS, USUAL_SEARCH
from workspaces.memory.watch import How
from workspaces.prompt_limits import Limits

ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


@dataclass(frozen=True, slots=True)
class EmbeddingSettings(Embeddings):
    """The embedding provider, and the source of its key."""

    base_url: Url | None = None
    api_key_env: EnvName | None = None
    api_key_file: RootedPath | None = None

    def __post_init__(self) -> None:
        refuse_two_places("api_key", self.api_key_env, self.api_key_file)
        named = [key for key in ("model", "dimension", "base_url", "api_key_env", "api_key_file") if getattr(self, key)]
        if named and self.provider not in KEY_ENVS:
            raise ValueError(f'{named[0]} needs a provider that is named, such as provider = "cohere"')
        Embeddings.__post_init__(self)

    def api_key(self) -> SecretSource | None:
        """Return the source of the named provider's key; `None` if none is named or a self-hosted server needs none."""
        if self.provider not in KEY_ENVS:
            return None
        has_usual_key = self.api_key_env is None and self.api_key_file is None
        if has_usual_key and self.provider == "openai" and self.base_url is not None:
            return None
        env = KEY_ENVS[self.provider] if has_usual_key else self.api_key_env
        return SecretSource.of("memory.embeddings.api_key", env, self.api_key_file)


@dataclass(frozen=True, slots=True)
class RerankSettings(Reranking):
    """Whether a provider reranks the best notes before they are shown."""

    enabled: bool = False
    base_url: Url = USUAL_RERANKING.base_url
    api_key_env: EnvName = "CO_API_KEY"

    def api_key(self) -> SecretSource | None:
        """Return the source of the key, `None` while reranking is off."""
        return SecretSource.of("memory.rerank.api_key", self.api_key_env, None) if self.enabled else None


@dataclass(frozen=True, slots=True)
class MemorySettings(Limits):
    """Memory in the prompt, and its search."""

    user_file_in_groups: bool = False
    transcripts: bool = True
    undo_buttons: bool = True
    checkup_days: Annotated[int, Field(ge=0, le=365)] = 0
    """0: the owner is told of no check-up unasked."""
    recall: RecallMode = "on"
    whole_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 4_000
    chunking: Cut = "entries"
    decay_floor: Annotated[float, Field(ge=0, le=1)] = GENTLE.floor
    """0 is the seeds' unbounded decay, 1 none."""
    decay_half_life_days: Annotated[float, Field(gt=0, le=36_500)] = GENTLE.half_life_days
    max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = USUAL_SEARCH.max_results
    min_score: Annotated[float, Field(ge=0, le=1)] | None = USUAL_SEARCH.min_score
    vector_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `keyword_weight`: the order is by these two alone. Not set: by the measured weights of ten parts."""
    keyword_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    offer_tools: tuple[ToolName, ...] = ()
    """Tools offered although they usually only answer when they are called."""
    hide_tools: tuple[ToolName, ...] = ()
    """Tools not offered; they still answer when they are called."""
    watch: How = "events"
    sync_every_s: Annotated[float, Field(ge=0, le=86_400)] = 0
    """0: never; the file watch and each search still update the index."""
    embeddings: EmbeddingSettings = EmbeddingSettings()
    rerank: RerankSettings = RerankSettings()

    def __post_init__(self) -> None:
        if (self.vector_weight is None) != (self.keyword_weight is None):
            raise ValueError("vector_weight and keyword_weight need each other")
        if self.vector_weight is not None and not self.vector_weight + (self.keyword_weight or 0):
            raise ValueError("vector_weight and keyword_weight must not both be 0")
