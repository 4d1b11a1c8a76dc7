"""Settings of a hosted model."""

from dataclasses import dataclass

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """One model of a provider, or of a server that speaks OpenAI's protocol (Ollama, vLLM, llama.cpp)."""

    name: str
    """Name in the configuration."""
    provider: str
    """Name of its entry point of `strandline.models`."""
    model: str
    """Name at the provider."""
    api_key: SecretStr | None = None
    """`None` for a server without authentication."""
    base_url: str | None = None
    """`None` for the provider's own address."""
    window_tokens: int = 128_000
    request_timeout_s: float = 120.0
    """For one attempt, from the request to the end of its stream, in seconds."""
    temperature: float | None = None
    """Used where a request names none; with `None` the provider decides."""
    vision: bool = False
    """The model accepts images."""
    output_tokens: int | None = None
    """Longest reply, its thoughts included; OpenAI's and Cohere's clients do not use it.

    With `None` the client's module decides.
    """
    picture_bytes: int = 14 * 1024 * 1024
    """Most bytes of pictures in one request; in Base64 they stay below 20 MB, Google's limit."""
    fault: str = ""
    """Why it cannot be asked: its key is missing. Empty if it can."""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty for a file."""
