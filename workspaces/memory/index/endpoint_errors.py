"""Errors of a model provider; apart from its client, whose libraries take a worker 100 ms and 10 MB.

EndpointError                the request failed; the text is a reason for the operator, never the provider's
├── EndpointDownError        a later try may succeed: not reached, overloaded, too slow, cut off
└── EndpointRefusedError     a retry would fail the same way: key, model, request
"""


class EndpointError(Exception):
    """The request failed; the text is a plain reason for the operator."""


class EndpointDownError(EndpointError):
    """A retry may succeed."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class EndpointRefusedError(EndpointError):
    """A retry would fail the same way."""
