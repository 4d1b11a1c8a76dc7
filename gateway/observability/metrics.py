"""Counters and timers of a gateway for Prometheus, with labels bounded by the configuration."""

from functools import partial
from typing import Protocol

_ANSWER_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_MODEL_S = (0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)
_COMMIT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""Upper bounds of the histograms' buckets, in seconds; our choice, measured (docs/measurements/gateway-speed.md)."""


class Tokens(Protocol):
    """The usage of a model call, as the provider reports it."""

    @property
    def input_tokens(self) -> int: ...

    @property
    def output_tokens(self) -> int: ...

    @property
    def cached_tokens(self) -> int: ...


class Meter:
    """Counts events as they happen; state that can be read on request, such as queues, is not kept here.

    No label ever holds a session, a chat, a person or a text.
    """

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self.registry = CollectorRegistry(auto_describe=True)
        counter = partial(Counter, namespace="strandline", registry=self.registry)
        histogram = partial(Histogram, namespace="strandline", registry=self.registry)
        self._received = counter("messages_received", "Messages that were accepted.", ["channel"])
        self._sent = counter("messages_sent", "Parts of replies that a platform confirmed.", ["channel"])
        self._answers = histogram(
            "answer_seconds", "From a message's arrival to its committed answer.", ["channel"], buckets=_ANSWER_S
        )
        self._calls = histogram("model_call_seconds", "Model calls.", ["agent", "model", "outcome"], buckets=_MODEL_S)
        self._tokens = counter("model_tokens", "Tokens, as reported by providers.", ["agent", "model", "kind"])
        self._commits = histogram("store_commit_seconds", "Commits of the state.", buckets=_COMMIT_S)

    def received(self, channel: str) -> None:
        """Count an accepted message."""
        self._received.labels(channel).inc()

    def sent(self, channel: str) -> None:
        """Count a part of a reply that a platform confirmed."""
        self._sent.labels(channel).inc()

    def answered(self, channel: str, seconds: float) -> None:
        """Count a committed answer, with the seconds since the message arrived."""
        self._answers.labels(channel).observe(max(seconds, 0))

    def called(self, agent: str, model: str, seconds: float, used: Tokens | None) -> None:
        """Count a model call, with its usage, or `None` if it failed."""
        self._calls.labels(agent, model, "failed" if used is None else "replied").observe(seconds)
        if used is not None:
            for kind, count in (
                ("input", used.input_tokens),
                ("output", used.output_tokens),
                ("cached", used.cached_tokens),
            ):
                self._tokens.labels(agent, model, kind).inc(count)

    def committed(self, seconds: float) -> None:
        """Count a commit of the state or a failed attempt, with its duration."""
        self._commits.observe(seconds)
