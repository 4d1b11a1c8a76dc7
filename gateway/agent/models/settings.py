"""Settings of a hosted model."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Self

from pydantic import Field, SecretStr

from gateway.plugins import MODELS, plugins
from gateway.settings.secrets import SecretSource, refuse_two_places
from gateway.settings.section import EnvName, RootedPath, Temperature, Url

PROVIDER_WINDOW = 128_000
"""Assumed for a model at its provider's own address: Command A, GPT-4o, Claude and Gemini accept as many or more."""
OWN_SERVER_WINDOW = 32_000
"""Assumed of a package's model, or one at another address: self-hosted servers often run with a small window, and some
truncate longer input without notice."""

Price = Annotated[float, Field(ge=0, le=100_000)]
"""US dollars per million tokens."""


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """One model of a provider, or of a server that speaks OpenAI's protocol (Ollama, vLLM, llama.cpp)."""

    provider: str
    """Name of its entry point of `strandline.models`."""
    model: Annotated[str, Field(min_length=1)]
    """Name at the provider."""
    base_url: Url | None = None
    """`None` for the provider's own address."""
    window_tokens: Annotated[int, Field(ge=4_000)] | None = None
    """Most tokens that it accepts, its answer included; `None` for the assumption of `window`."""
    output_tokens: Annotated[int, Field(ge=256)] | None = None
    """Longest reply, its thoughts included; OpenAI's and Cohere's clients do not use it.

    With `None` the client's module decides.
    """
    request_timeout_s: Annotated[float, Field(gt=0, le=3_600)] = 120
    """For one attempt, from the request to the end of its stream, in seconds."""
    temperature: Temperature | None = None
    """Used where a request names none; with `None` the provider decides."""
    vision: bool = False
    """The model accepts images."""
    pictures_mb: Annotated[int, Field(ge=1, le=200)] = 14
    """Most megabytes of pictures in one request; in Base64 they stay below 20 MB, Google's limit."""

    @property
    def window(self) -> int:
        """The most tokens that the model accepts, its answer included: as set, or a safe assumption."""
        return self.window_tokens or (PROVIDER_WINDOW if self.is_known and not self.base_url else OWN_SERVER_WINDOW)

    @property
    def picture_bytes(self) -> int:
        return self.pictures_mb * 1024 * 1024

    @property
    def is_known(self) -> bool:
        """Whether its provider is one of Strandline's own."""
        plugin = plugins(MODELS).get(self.provider)
        return plugin is not None and plugin.is_built_in


@dataclass(frozen=True, slots=True)
class ModelSettings(ModelConnection):
    """A language model as configured; agents refer to it by name."""

    api_key_env: EnvName | None = None
    api_key_file: RootedPath | None = None
    price_in: Price | None = None
    price_out: Price | None = None
    price_cached: Price | None = None

    def __post_init__(self) -> None:
        if (self.price_in is None) is not (self.price_out is None):
            raise ValueError("has one of price_in and price_out; set both, in dollars for a million tokens")
        if self.price_cached is not None and self.price_in is None:
            raise ValueError("has price_cached without price_in and price_out; set all three, or none")
        if self.output_tokens is not None and self.provider in {"cohere", "openai"}:
            raise ValueError(f'has output_tokens, which a model of provider = "{self.provider}" does not take')
        refuse_two_places("api_key", self.api_key_env, self.api_key_file)
        if self._has_no_key and not self.works_without_key:
            raise ValueError("needs api_key_env, the name of an environment variable, or api_key_file, a path")

    @property
    def works_without_key(self) -> bool:
        """Self-hosted servers (Ollama, vLLM, llama.cpp) and models of packages often need no key."""
        return not self.is_known or (self.provider == "openai" and self.base_url is not None)

    @property
    def _has_no_key(self) -> bool:
        return self.api_key_env is None and self.api_key_file is None

    def api_key(self, name: str) -> SecretSource | None:
        """Return the source of the key, `None` if the model needs none; *name* is the model's name in the file."""
        if self._has_no_key:
            return None
        return SecretSource.of(f"models.{name}.api_key", self.api_key_env, self.api_key_file)


@dataclass(frozen=True, slots=True)
class HostedSettings(ModelConnection):
    """A model together with its key, as its provider's client needs it."""

    _: KW_ONLY
    name: str
    """Name in the configuration."""
    api_key: SecretStr | None = None
    """`None` for a server without authentication."""
    fault: str = ""
    """Why it cannot be asked: its key is missing. Empty if it can."""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty for a file."""
    is_here: bool = False
    """It runs on the owner's machines, as the host of `base_url` tells."""

    @classmethod
    def of(cls, name: str, model: ModelConnection, api_key: SecretStr | None, fault: str, key_env: str) -> Self:
        """Return the settings of *model* with its key; until somebody says otherwise, it runs elsewhere."""
        shared = {each.name: getattr(model, each.name) for each in fields(ModelConnection)}
        return cls(**shared, name=name, api_key=api_key, fault=fault, key_env=key_env)
