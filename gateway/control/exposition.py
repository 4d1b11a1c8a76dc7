"""A gateway's metrics for Prometheus: counters, and its state at the time of the request."""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.control.operator_api import OperatorApi
from gateway.control.status_wire import Status, StatusOrder
from gateway.errors import StrandlineError
from gateway.observability.metrics import Meter
from gateway.runtime.http_server import is_numeric_or_local

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Exposition:
    """Answers `/metrics`, and passes every other path on to *app*.

    A client needs the *token*, if there is one. Without one, it must name this machine by its address: a page in a
    browser uses a host name of its own.
    """

    def __init__(self, app: ASGIApp, operator: OperatorApi, meter: Meter, token: str = "") -> None:
        self._app = app
        self._operator = operator
        self._meter = meter
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != "/metrics":
            await self._app(scope, receive, send)
            return
        response = self._refusal(Headers(scope=scope)) or await self._metrics()
        await response(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        if not self._token:
            is_known = is_numeric_or_local(headers.get("host", ""))
            return None if is_known else PlainTextResponse("the Host header must be an IP address\n", 421)
        given = headers.get("authorization", "").removeprefix("Bearer ").encode()
        if secrets.compare_digest(given, self._token):
            return None
        return PlainTextResponse("needs the token of [metrics]\n", 401, {"WWW-Authenticate": "Bearer"})

    async def _metrics(self) -> Response:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
        from prometheus_client.registry import CollectorRegistry

        try:
            state = await self._operator.ask(StatusOrder())
        except StrandlineError as exc:  # the state is unreadable: Prometheus marks the gateway as down
            return PlainTextResponse(f"{exc}\n", 503)
        if state.store_trouble:
            return PlainTextResponse(f"{state.store_trouble}\n", 503)
        now = CollectorRegistry()
        now.register(StatusCollector(state))
        text = generate_latest(self._meter.registry) + generate_latest(now)
        return Response(text, media_type=CONTENT_TYPE_LATEST)


class StatusCollector:
    """The current state, as Prometheus collects it."""

    def __init__(self, state: Status) -> None:
        self._state = state

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

        state = self._state
        yield InfoMetricFamily("strandline_build", "The program.", {"version": state.version})
        for name, help_text, value in (
            ("ready", "Whether it takes messages.", state.ready),
            ("uptime_seconds", "Since its start.", state.uptime_s),
            ("inbox_waiting", "Messages that were accepted and not answered yet.", state.inbox_waiting),
            ("outbox_queued", "Replies that were not sent yet.", state.outbox_queued),
            ("outbox_dead", "Replies that a platform refused for good.", state.outbox_dead),
            ("approvals_waiting", "Changes of files that wait for the owner.", state.approvals_waiting),
            ("quarantined", "Rows in quarantine, which wait for the owner.", state.quarantined),
        ):
            yield GaugeMetricFamily(f"strandline_{name}", help_text, value)
        reasons = CounterMetricFamily(
            "strandline_reasons", "How often each reason code was counted.", labels=["reason"]
        )
        for reason, count in sorted(state.reasons.items()):
            reasons.add_metric([reason], count)
        yield reasons
        listening = GaugeMetricFamily(
            "strandline_channel_listening", "Whether a bot account listens.", labels=["channel", "account"]
        )
        for channel in state.channels:
            listening.add_metric([channel.channel, channel.account], channel.state == "listening")
        yield listening
        yield from _queues(state)
        yield from _memories(state)
        yield from _spending(state)


def _queues(state: Status) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily

    waiting = GaugeMetricFamily("strandline_agent_waiting", "Messages that wait for an answer.", labels=["agent"])
    oldest = GaugeMetricFamily(
        "strandline_agent_oldest_waiting_seconds", "Since the oldest of them came.", labels=["agent"]
    )
    for agent in state.agents:
        waiting.add_metric([agent.agent], agent.waiting)
        oldest.add_metric([agent.agent], agent.oldest_waiting_s)
    yield from (waiting, oldest)


def _memories(state: Status) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily

    entries = GaugeMetricFamily("strandline_memory_entries", "Indexed passages.", labels=["agent"])
    owing = GaugeMetricFamily("strandline_memory_owing", "Passages that wait for a vector.", labels=["agent"])
    degraded = GaugeMetricFamily(
        "strandline_memory_keyword_only", "Whether words alone are searched.", labels=["agent"]
    )
    for agent in state.agents:
        if agent.memory is not None:
            entries.add_metric([agent.agent], agent.memory.entries)
            owing.add_metric([agent.agent], agent.memory.owing)
            degraded.add_metric([agent.agent], agent.memory.mode == "keyword")
    yield from (entries, owing, degraded)


def _spending(state: Status) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily

    tokens = GaugeMetricFamily("strandline_spent_tokens", "Tokens that models cost today.", labels=["agent", "cause"])
    money = GaugeMetricFamily("strandline_spent_dollars", "Money that models cost today.", labels=["agent", "cause"])
    for agent in state.agents:
        for row in agent.spending:
            tokens.add_metric([agent.agent, row.cause], row.tokens)
            money.add_metric([agent.agent, row.cause], row.money)
    yield from (tokens, money)
