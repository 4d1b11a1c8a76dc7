"""Reranking of the best entries by a provider (Cohere's `/v2/rerank`); off by default.

EndpointError as `endpoint_errors` says; the caller keeps the fused order then
"""

from collections.abc import Sequence
from typing import Any

from workspaces.memory.index.embeddings.settings import Leaves
from workspaces.memory.index.endpoint import Endpoint, ProviderAccount
from workspaces.memory.index.endpoint_errors import EndpointRefusedError
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.settings import Reranking


class Reranker:
    """Orders results by a provider's scores; closed by `close`."""

    def __init__(self, settings: Reranking, api_key: str) -> None:
        self.endpoint = Endpoint(ProviderAccount("cohere rerank", settings.base_url, api_key))
        self.may_leave: Leaves = settings.may_leave
        self.top = settings.top
        self._settings = settings

    def reordered(self, question: str, found: Sequence[MatchingEntry]) -> list[MatchingEntry]:
        """Return *found* in the provider's order, entries with an identifier of the question still first.

        One attempt only. Raises EndpointError after `deadline_s` at the latest.
        """
        if len(found) < 2:
            return list(found)
        body = {"model": self._settings.model, "query": question, "documents": [_entry_text(each) for each in found]}
        answer = self.endpoint.within(self._settings.deadline_s, self.endpoint.post("/v2/rerank", body, tries=1))
        order = _order(answer, len(found))
        return sorted((found[number] for number in order), key=lambda each: not each.is_exact)

    def close(self) -> None:
        """Cancel pending requests."""
        self.endpoint.close()


def _entry_text(found: MatchingEntry) -> str:
    entry = found.entry
    day = entry.date.isoformat() if entry.date else ""
    return "\n".join(filter(None, (day, entry.section, entry.text))).encode("utf-8", "replace").decode()


def _order(answer: Any, count: int) -> list[int]:
    try:
        order = [int(result["index"]) for result in answer["results"]]
    except (KeyError, TypeError, ValueError):
        order = []
    if sorted(order) != list(range(count)):
        raise EndpointRefusedError("cohere rerank: it did not order every entry once")
    return order
