"""This file says what is needed to reach a hosted model."""

from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class HostedSettings:
    """One model of a provider, or of a server that speaks OpenAI's protocol (Ollama, vLLM, llama.cpp)."""

    name: str
    """What the configuration calls it."""
    provider: Literal["cohere", "openai", "anthropic", "google"]
    model: str
    """What the provider calls it."""
    api_key: SecretStr | None = None
    """`None` for a server that asks for none."""
    base_url: str | None = None
    """`None` for the provider's own address."""
    window_tokens: int = 128_000
    request_timeout_s: float = 120.0
    """For one attempt, from the request to the end of its stream."""
    temperature: float | None = None
    """Used where a request names none; `None` leaves it to the provider."""
    vision: bool = False
    """It takes pictures."""
    output_tokens: int | None = None
    """Longest reply, its thoughts included; heard by Anthropic and Google. `None` leaves it to the client's file."""
    picture_bytes: int = 14 * 1024 * 1024
    """Of all pictures that one request shows; in Base64 they stay below 20 MB, which is what Google takes."""
