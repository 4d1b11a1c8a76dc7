"""Spans for traces: duration and outcome, never message text.

They use OpenTelemetry's own interface, which does nothing until `tracing` has set a provider.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context


@contextmanager
def span(name: str, *, apart: bool = False, **facts: str | float) -> Iterator[trace.Span]:
    """Put a span around the block; it records only the type of an error, whose text may contain people's words.

    An *apart* span starts a trace of its own: work in a lane of many turns belongs to none of them.
    """
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # tracing is off
        yield trace.INVALID_SPAN
        return
    tracer, around = trace.get_tracer("strandline"), Context() if apart else None
    with tracer.start_as_current_span(name, around, record_exception=False, set_status_on_exception=False) as found:
        found.set_attributes({f"strandline.{key}": value for key, value in facts.items()})
        try:
            yield found
        except BaseException as exc:
            found.set_status(trace.StatusCode.ERROR, type(exc).__name__)
            raise
