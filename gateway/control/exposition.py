"""A gateway's metrics for Prometheus: counters, and its state at the time of the request."""

import secrets
from collections.abc import Iterator, Sequence
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
        for name, help_text, labels, rows in (*_channels(state), *_queues(state), *_memories(state), *_spending(state)):
            family = GaugeMetricFamily(f"strandline_{name}", help_text, labels=labels)
            for values, value in rows:
                family.add_metric(values, value)
            yield family


_Labelled = tuple[str, str, Sequence[str], Sequence[tuple[Sequence[str], float]]]
"""A gauge with labels: name, help, names of the labels, and each row's values of them with its figure."""


def _channels(state: Status) -> Iterator[_Labelled]:
    rows = [([each.channel, each.account], each.state == "listening") for each in state.channels]
    yield "channel_listening", "Whether a bot account listens.", ["channel", "account"], rows


def _queues(state: Status) -> Iterator[_Labelled]:
    agents = state.agents
    waiting = [([each.agent], each.waiting) for each in agents]
    oldest = [([each.agent], each.oldest_waiting_s) for each in agents]
    yield "agent_waiting", "Messages that wait for an answer.", ["agent"], waiting
    yield "agent_oldest_waiting_seconds", "Since the oldest of them came.", ["agent"], oldest


def _memories(state: Status) -> Iterator[_Labelled]:
    opened = [([each.agent], each.memory) for each in state.agents if each.memory is not None]
    memories = [(agent, memory) for agent, memory in opened if not memory.away]
    keywords = [(agent, memory.mode == "keyword") for agent, memory in opened]
    yield "memory_entries", "Indexed passages.", ["agent"], [(agent, memory.entries) for agent, memory in memories]
    yield (
        "memory_owing",
        "Passages that wait for a vector.",
        ["agent"],
        [(agent, memory.owing) for agent, memory in memories],
    )
    yield "memory_keyword_only", "Whether words alone are searched.", ["agent"], keywords


def _spending(state: Status) -> Iterator[_Labelled]:
    rows = [([agent.agent, row.cause], row) for agent in state.agents for row in agent.spending]
    labels = ["agent", "cause"]
    yield "spent_tokens", "Tokens that models cost today.", labels, [(values, row.tokens) for values, row in rows]
    yield "spent_dollars", "Money that models cost today.", labels, [(values, row.money) for values, row in rows]
