"""Embeddings by a provider: Cohere, or a server with OpenAI's `/embeddings` (OpenAI, Gemini, Voyage, vLLM).

EndpointError as `endpoint_errors` says; a wrong number or length of vectors is a refusal
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Literal

import numpy as np

from workspaces.memory.index.embeddings.settings import HostedEmbedding
from workspaces.memory.index.endpoint import Endpoint, Patience, ProviderAccount
from workspaces.memory.index.endpoint_errors import EndpointRefusedError
from workspaces.memory.index.engine import FloatArray

TEXTS_A_CALL = 96
"""Cohere's limit; other providers accept more."""
TOKENS_A_CALL = 8_000
"""Small enough for every provider, large enough to make network latency irrelevant."""
BYTES_A_TOKEN = 3
"""Conservative: English has 4 to 5 bytes a token, Chinese and Japanese 3."""
CALLS_AT_ONCE = 4
QUERY_DEADLINE_S = 0.6
"""After this time a search proceeds without the provider."""

Purpose = Literal["document", "query"]


class HostedEmbedder:
    """A provider's pooled vectors; closed by `close`."""

    def __init__(self, settings: HostedEmbedding, patience: Patience | None = None) -> None:
        account = ProviderAccount(settings.provider, settings.base_url, settings.api_key, settings.timeout_s)
        self.endpoint = Endpoint(account, patience)
        self.name = f"{settings.provider}-{settings.model}-{settings.dimension}"
        self.dimension = settings.dimension
        self._settings = settings

    def begin(self, texts: Sequence[str]) -> "Future[list[FloatArray]]":
        """Start embedding texts for the index; the result has a vector for each, in order, of length 1 or 0."""
        return self.endpoint.begin(self._embed(texts))

    def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query. Raises EndpointError after 0.6 s at the latest; one attempt only."""
        [vector] = self.endpoint.within(QUERY_DEADLINE_S, self._call([text], "query", tries=1))
        return vector

    def close(self) -> None:
        """Cancel pending requests."""
        self.endpoint.close()

    async def _embed(self, texts: Sequence[str]) -> list[FloatArray]:
        """Embed *texts*, four calls at once; empty texts, which providers refuse, get vectors of zeros."""
        limit = asyncio.Semaphore(CALLS_AT_ONCE)
        vectors = [np.zeros(self.dimension, np.float32) for _ in texts]

        async def embed(batch: Sequence[int]) -> None:
            async with limit:
                found = await self._call([texts[number] for number in batch], "document")
            for number, vector in zip(batch, found, strict=True):
                vectors[number] = vector

        try:
            async with asyncio.TaskGroup() as calls:
                for batch in batches(texts):
                    calls.create_task(embed(batch))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return vectors

    async def _call(self, texts: Sequence[str], purpose: Purpose, tries: int | None = None) -> list[FloatArray]:
        asked = [_truncated(text) for text in texts]
        is_cohere = self._settings.provider == "cohere"
        path, body = _cohere(self._settings, asked, purpose) if is_cohere else _openai(self._settings, asked, purpose)
        answer = await self.endpoint.post(path, body, tries)
        try:
            rows = answer["embeddings"]["float"] if is_cohere else _in_order(answer["data"])
            vectors = np.array(rows, np.float32)
        except (KeyError, TypeError, ValueError):
            vectors = np.zeros(0, np.float32)
        if vectors.shape != (len(asked), self.dimension) or not np.isfinite(vectors).all():
            raise self._misfit(vectors)
        return list(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))

    def _misfit(self, vectors: FloatArray) -> EndpointRefusedError:
        got = f"{vectors.shape[0]} vectors of length {vectors.shape[1]}" if vectors.ndim == 2 else "no usable vectors"
        reason = f"{self._settings.provider}: it sent {got}; check model and dimension ({self.dimension})"
        self.endpoint.give_up(reason, Patience().refused_pause_s)
        return EndpointRefusedError(reason)


def batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Split the non-empty *texts* into calls: the indices of each call's texts."""
    batch: list[int] = []
    tokens = 0
    for number, text in enumerate(texts):
        if not text.strip():
            continue
        cost = _tokens(text)
        if batch and (len(batch) == TEXTS_A_CALL or tokens + cost > TOKENS_A_CALL):
            yield batch
            batch, tokens = [], 0
        batch.append(number)
        tokens += cost
    if batch:
        yield batch


def _tokens(text: str) -> int:
    return min(-(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN), TOKENS_A_CALL)


def _truncated(text: str) -> str:
    """Return the part of *text* that a model reads; a lone surrogate is not valid for a provider."""
    return text.encode("utf-8", "replace")[: TOKENS_A_CALL * BYTES_A_TOKEN].decode("utf-8", "ignore")


def _cohere(settings: HostedEmbedding, texts: Sequence[str], purpose: Purpose) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "model": settings.model,
        "texts": list(texts),
        "input_type": f"search_{purpose}",
        "embedding_types": ["float"],
        "truncate": "END",
    }
    has_lengths = "-v3" not in settings.model and "-v2" not in settings.model
    return "/v2/embed", body | ({"output_dimension": settings.dimension} if has_lengths else {})


def _openai(settings: HostedEmbedding, texts: Sequence[str], purpose: Purpose) -> tuple[str, dict[str, Any]]:
    """Return OpenAI's request; only Voyage tells questions from notes there, and names the dimension differently."""
    body: dict[str, Any] = {"model": settings.model, "input": list(texts)}
    if settings.provider == "voyage":
        return "/embeddings", body | {"input_type": purpose, "output_dimension": settings.dimension}
    body["encoding_format"] = "float"
    has_lengths = settings.model.startswith(("text-embedding-3", "gemini-embedding"))
    return "/embeddings", body | ({"dimensions": settings.dimension} if has_lengths else {})


def _in_order(data: Sequence[Any]) -> list[Any]:
    return [row["embedding"] for row in sorted(data, key=lambda row: row["index"])]
