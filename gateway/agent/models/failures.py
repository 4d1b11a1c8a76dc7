"""This file turns the errors of providers' SDKs into ours; what a provider wrote stays out of the message."""

from pydantic_ai import exceptions as wire

from gateway.agent.models.wire import BrokenReplyError
from gateway.errors import ModelError, ModelOverflowError, ModelRefusedError, ModelUnavailableError

_OVERFLOW_MARKS = ("context size", "context length", "context window", "too many tokens", "prompt is too long")
"""How servers that send no code (llama.cpp, Ollama, vLLM, proxies) word a request that does not fit."""
_PASSING = {408, 409, 423, 425, 429, 499}
"""Client errors that another try may cure."""


def as_model_error(name: str, error: Exception) -> ModelError:
    """Return *error* as one of ours; *name* is the model's name in the configuration."""
    match error:
        case BrokenReplyError():
            return ModelUnavailableError(f"{name}: the provider {error}")
        case wire.ModelContextWindowExceededError():
            return ModelOverflowError(f"{name}: the request is larger than the model's window")
        case wire.ContentFilterError():
            return ModelRefusedError(f"{name}: the provider's content filter stopped the reply")
        case wire.ModelHTTPError(status_code=status):
            return _from_status(name, status, error)
        case _:
            return _unavailable(name, error)


def _unavailable(name: str, error: Exception) -> ModelUnavailableError:
    match error:
        case wire.ModelConnectionError():
            return ModelUnavailableError(f"{name}: cannot be reached; is its address right and its server running?")
        case wire.ModelAPIError(retry_after=retry_after):
            return ModelUnavailableError(f"{name}: the reply broke off", retry_after)
        case _:
            return ModelUnavailableError(f"{name}: the reply cannot be used ({type(error).__name__})")


def _from_status(name: str, status: int, error: wire.ModelHTTPError) -> ModelError:
    if _is_overflow(status, error):
        return ModelOverflowError(f"{name}: the request is larger than the model's window")
    if isinstance(error, wire.ModelQuotaExceededError):
        return ModelRefusedError(f"{name}: the account's quota is used up (HTTP {status})")
    if status >= 500 or status in _PASSING:
        return ModelUnavailableError(f"{name}: the provider answered HTTP {status}", error.retry_after)
    match status:
        case 401 | 403 | 498:
            mend = "check its API key"
        case 404:
            mend = "check `model` and `base_url`"
        case _:
            mend = "the provider does not accept the request"
    return ModelRefusedError(f"{name}: HTTP {status}; {mend}")


def _is_overflow(status: int, error: wire.ModelHTTPError) -> bool:
    said = str(error.body).lower()
    return status == 413 or (status in {400, 422, 500} and any(mark in said for mark in _OVERFLOW_MARKS))
