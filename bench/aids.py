"""Providers for the retrieval bench: reranking, and a language model's sub-questions.

Any failure ends the measurement: a figure in which some questions lack the provider's part would be meaningless.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gateway.agent.models.choose import choose
from gateway.agent.models.offline import OFFLINE
from gateway.agent.models.port import Model
from gateway.agent.rewrite import is_worth_it, rewritten
from gateway.app.agents import hosted_settings
from gateway.app.memory_worker import reranking
from gateway.config import Config
from gateway.errors import ConfigError, StrandlineError
from workspaces.memory.index.endpoint import EndpointError
from workspaces.memory.index.finder import MatchingEntry
from workspaces.memory.index.rerank import Reranker
from workspaces.memory.search import Query

PATIENCE_S = 30.0
"""Timeout of one request; a search of the gateway waits `deadline_s`."""

Reorder = Callable[[str, Sequence[MatchingEntry]], Sequence[MatchingEntry]]
"""Reorders the results of a question. Raises StrandlineError."""
Rewrite = Callable[[str], Sequence[str]]
"""Returns the sub-questions of a question."""


@dataclass(frozen=True, slots=True)
class Aids:
    """Providers available to a method; `None` if not configured."""

    rerank: Reorder | None = None
    rewrite: Rewrite | None = None


NOBODY = Aids()


@contextmanager
def configured(config: Config, environ: Mapping[str, str], methods: Sequence[str]) -> Iterator[Aids]:
    """Yield the providers for *methods*, as configured. Raises ConfigError for a missing one."""
    reranker = _reranker(config, environ) if "rerank" in methods else None
    model = _model(config, environ) if "rewrite" in methods else None
    with asyncio.Runner() as runner:
        try:
            yield Aids(_reorder(reranker) if reranker else None, _rewrite(model, runner) if model else None)
        finally:
            if reranker:
                reranker.close()
            if model:
                runner.run(model.close())


def _reranker(config: Config, environ: Mapping[str, str]) -> Reranker:
    settings = reranking(config.memory.rerank.model_copy(update={"enabled": True}), environ)
    if settings is None:
        raise ConfigError("--method rerank needs [memory.rerank]")
    return Reranker(replace(settings, deadline_s=PATIENCE_S))


def _reorder(reranker: Reranker) -> Reorder:
    def reorder(question: str, found: Sequence[MatchingEntry]) -> Sequence[MatchingEntry]:
        try:
            return reranker.reordered(question, found)
        except EndpointError as exc:
            raise StrandlineError(f"--method rerank: {exc}") from exc

    return reorder


def _model(config: Config, environ: Mapping[str, str]) -> Model:
    agent = config.agents[config.default_agent]
    if agent.model == OFFLINE:
        raise ConfigError(f"--method rewrite needs a language model: set agents.{config.default_agent}.model")
    return choose([agent.model], {agent.model: hosted_settings(agent.model, config, environ)})


def _rewrite(model: Model, runner: asyncio.Runner) -> Rewrite:
    def rewrite(question: str) -> Sequence[str]:
        return runner.run(rewritten(question, model)) if is_worth_it(Query(question)) else ()

    return rewrite
