"""Translates a provider's failures into our errors; the provider's own text stays out of the message."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from gateway.agent.models.wire import BrokenReplyError
from gateway.errors import ModelError, ModelFault, ModelOverflowError, ModelRefusedError, ModelUnavailableError

_OVERFLOW_MARKS = (
    "context_length_exceeded",
    "context size",
    "context length",
    "context window",
    "too many tokens",
    "prompt is too long",
    "exceed context limit",
    "exceeds the maximum number of tokens",
)
"""OpenAI's code for a request that does not fit, and the wording of servers that send none (Cohere, Anthropic, Google,
llama.cpp, Ollama, vLLM, proxies).
"""
_QUOTA_MARKS = ("insufficient_quota", "billing_hard_limit_reached", "credit balance is too low")
"""OpenAI's codes for an account without credit, sent with the status of a rate limit, and Anthropic's wording, with
that of a bad request.
"""
_FILTER_MARK = "content_filter"
"""Azure's code for a request blocked by its filter."""
_KEY_MARK = "api_key_invalid"
"""Google's reason for a wrong key, with the status of a bad request."""
_PASSING = {408, 409, 423, 425, 429, 499}
"""Client errors that may pass with another attempt."""


def unreachable(name: str) -> ModelUnavailableError:
    """Return the error for a server that cannot be reached; *name* is the model's name in the configuration."""
    return ModelUnavailableError(
        f"{name}: cannot be reached; is its address right and its server running?", fault=ModelFault.ADDRESS
    )


def unusable_reply(name: str, what: str) -> ModelUnavailableError:
    """Return the error for a model that answered; *what* is wrong with its reply, as a sentence without an end."""
    return ModelUnavailableError(f"{name}: {what}", fault=ModelFault.REPLY)


def connection_error(name: str, error: Exception) -> ModelUnavailableError:
    """Return the error for a broken connection or body, of whichever HTTP client."""
    match error:
        case BrokenReplyError():
            return unusable_reply(name, f"the provider {error}")
        case _ if type(error).__name__ in {"ConnectError", "ConnectTimeout"}:
            return unreachable(name)
        case _:
            return unusable_reply(name, "the reply was cut off")


def failed_within(name: str, body: object) -> ModelError:
    """Return the error for a stream that began well and then reports a failure in *body*."""
    if _says(body, _OVERFLOW_MARKS):
        return ModelOverflowError(f"{name}: the request is larger than the model's window")
    return unusable_reply(name, "the provider reports an error within the reply")


def status_error(name: str, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """Return the error for an answer of HTTP *status*."""
    if status == 413 or (status in {400, 422, 500} and _says(body, _OVERFLOW_MARKS)):
        return ModelOverflowError(f"{name}: the request is larger than the model's window")
    if status == 402 or _says(body, _QUOTA_MARKS):
        return ModelRefusedError(f"{name}: the account's quota is used up (HTTP {status})", ModelFault.QUOTA)
    if status >= 500 or status in _PASSING:
        return ModelUnavailableError(f"{name}: the provider answered HTTP {status}", retry_after_s(headers))
    mend, fault = _mend(status, body)
    return ModelRefusedError(f"{name}: HTTP {status}; {mend}", fault)


def _mend(status: int, body: object) -> tuple[str, ModelFault]:
    match status:
        case 401 | 403 | 498:
            return "check its API key", ModelFault.KEY
        case 404:
            return "check `model` and `base_url`", ModelFault.NAME
        case _ if _says(body, (_KEY_MARK,)):
            return "check its API key", ModelFault.KEY
        case _ if _says(body, (_FILTER_MARK,)):
            return "the provider's content filter stopped the request", ModelFault.OTHER
        case _:
            return "the provider does not accept the request", ModelFault.OTHER


def _says(body: object, marks: tuple[str, ...]) -> bool:
    said = str(body).lower()
    return any(mark in said for mark in marks)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the number of seconds for which the provider asks the client to wait, if it does.

    `Retry-After` holds whole seconds or a date (RFC 9110, 10.2.3); OpenAI sends `retry-after-ms` beside it. The names
    are looked up as they are written here, so *headers* must ignore case, or be in lower case.
    """
    exact, rough = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if exact.isascii() and exact.isdecimal():
        return int(exact) / 1000
    if rough.isascii() and rough.isdecimal():
        return float(rough)
    try:
        until = parsedate_to_datetime(rough)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
