"""Providers for the retrieval bench: reranking.

Any failure ends the measurement: a figure in which some questions lack the provider's part would be meaningless.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gateway.config import Config
from gateway.errors import ConfigError, StrandlineError
from workspaces.memory.index.endpoint_errors import EndpointError
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.rerank import Reranker

PATIENCE_S = 30.0
"""Timeout of one request; a search of the gateway waits `deadline_s`."""

Reorder = Callable[[str, Sequence[MatchingEntry]], Sequence[MatchingEntry]]
"""Reorders the results of a question. Raises StrandlineError."""


@dataclass(frozen=True, slots=True)
class Aids:
    """Providers available to a method; `None` if not configured."""

    rerank: Reorder | None = None


NOBODY = Aids()


@contextmanager
def configured(config: Config, environ: Mapping[str, str], methods: Sequence[str]) -> Iterator[Aids]:
    """Yield the providers for *methods*, as configured. Raises ConfigError for a missing one."""
    reranker = _reranker(config, environ) if "rerank" in methods else None
    try:
        yield Aids(_reorder(reranker) if reranker else None)
    finally:
        if reranker:
            reranker.close()


def _reranker(config: Config, environ: Mapping[str, str]) -> Reranker:
    settings = replace(config.memory.rerank, enabled=True, deadline_s=PATIENCE_S)
    source = settings.api_key()
    if source is None:
        raise ConfigError("--method rerank needs [memory.rerank]")
    return Reranker(settings, source.read(environ))


def _reorder(reranker: Reranker) -> Reorder:
    def reorder(question: str, found: Sequence[MatchingEntry]) -> Sequence[MatchingEntry]:
        try:
            return reranker.reordered(question, found)
        except EndpointError as exc:
            raise StrandlineError(f"--method rerank: {exc}") from exc

    return reorder
