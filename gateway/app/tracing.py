"""Traces of turns with OpenTelemetry: the turn, each model call, each tool, each send.

The parts always create their spans (`gateway/observability/spans.py`); this module sets up their export.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from opentelemetry import trace

from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry
from gateway.agent.models.port import Model, ModelRequest, OnText, WrappedModel
from gateway.config import TraceSettings
from gateway.errors import ConfigError
from gateway.inbound.queue_modes import Item
from gateway.observability.spans import span
from gateway.runtime.lanes import RetryLater
from gateway.stores.rows import InboxRow
from workspaces.extras import install_command

FLUSH_MS = 3_000
"""Milliseconds that shutdown waits for the collector to accept spans (our choice)."""

Work = Callable[[Item], Awaitable[RetryLater | None]]


@contextmanager
def tracing(settings: TraceSettings) -> Iterator[None]:
    """Send the spans of this block to the collector of *settings*, once per process.

    An unavailable collector loses spans, never a turn. Raises ConfigError if OpenTelemetry's SDK is not installed.
    """
    if not settings.enabled:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
    except ModuleNotFoundError as exc:
        raise ConfigError(f"[traces] needs {exc.name}: {install_command('traces')}, or set enabled = false") from exc
    resource = Resource.create({"service.name": settings.service})
    provider = TracerProvider(resource=resource, sampler=ParentBasedTraceIdRatio(settings.share))
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.endpoint, timeout=FLUSH_MS / 1000))
    )
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.force_flush(FLUSH_MS)
        provider.shutdown()


def traced(work: Work) -> Work:
    """Return *work*, called by a lane, with a span around each message's turn."""

    async def work_traced(item: Item) -> RetryLater | None:
        if not isinstance(item, InboxRow):
            return await work(item)
        with span("turn", turn=item.turn_id, channel=item.message.address.channel) as found:
            later = await work(item)
            found.set_attribute("strandline.postponed", later is not None)
            return later

    return work_traced


def traced_agent(agent: Agent, settings: TraceSettings) -> Agent:
    """Return *agent*, with traced models if *settings* enable it."""
    return agent.with_models(lambda model: TracedModel(model, agent.id)) if settings.enabled else agent


class TracedModel(WrappedModel):
    """Wraps a `Model` with a span around each call."""

    def __init__(self, model: Model, agent: str) -> None:
        super().__init__(model)
        self._agent = agent

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        with span(f"chat {self.name}", agent=self._agent) as found:
            answer = await self._model.reply(request, on_text)
            found.set_attribute("gen_ai.response.model", answer.model)
            found.set_attribute("gen_ai.usage.input_tokens", answer.usage.input_tokens)
            found.set_attribute("gen_ai.usage.output_tokens", answer.usage.output_tokens)
            return answer
