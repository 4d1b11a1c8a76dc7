"""This file speaks to Cohere's chat API, and keeps the plan that it writes before it calls tools."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
from cohere import (
    AssistantChatMessageV2,
    AsyncClientV2,
    ContentDeltaV2ChatStreamResponse,
    ToolPlanDeltaV2ChatStreamResponse,
    V2ChatStreamResponse,
)
from cohere.types import (
    ChatContentDeltaEventDelta,
    ChatContentDeltaEventDeltaMessage,
    ChatContentDeltaEventDeltaMessageContent,
)
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.cohere import CohereModel
from pydantic_ai.providers.cohere import CohereProvider

from gateway.agent.models.settings import HostedSettings

_PLAN = -1
"""The plan's place among the parts of a reply; Cohere numbers the others from 0."""


def cohere_model(settings: HostedSettings, client: httpx.AsyncClient) -> CohereModel:
    """Return the model that *settings* name; it never tries again by itself."""
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    sdk = AsyncClientV2(
        api_key=key,
        base_url=settings.base_url,
        client_name="strandline",
        timeout=settings.request_timeout_s,
        max_retries=0,
        httpx_client=client,
        log_warning_experimental_features=False,
    )
    return _Planning(settings.model, provider=CohereProvider(cohere_client=sdk))


class _Planning(CohereModel):
    """Reads `tool_plan` as the text of a reply that calls tools, and sends such a text back as `tool_plan`."""

    async def _chat(self, *args: Any, **kwargs: Any) -> Any:
        answer = await super()._chat(*args, **kwargs)
        return _with_plan(answer) if isinstance(answer, AsyncIterator) else answer

    def _map_model_response(self, message: ModelResponse) -> AssistantChatMessageV2 | None:
        sent = super()._map_model_response(message)
        if sent is None or not sent.tool_calls or not message.text:
            return sent
        return AssistantChatMessageV2(role="assistant", tool_calls=sent.tool_calls, tool_plan=message.text)


async def _with_plan(events: AsyncIterator[V2ChatStreamResponse]) -> AsyncIterator[V2ChatStreamResponse]:
    async for event in events:
        yield _as_text(event) if isinstance(event, ToolPlanDeltaV2ChatStreamResponse) else event


def _as_text(event: ToolPlanDeltaV2ChatStreamResponse) -> ContentDeltaV2ChatStreamResponse:
    plan = event.delta.message.tool_plan if event.delta and event.delta.message else None
    content = ChatContentDeltaEventDeltaMessageContent(text=plan)
    delta = ChatContentDeltaEventDelta(message=ChatContentDeltaEventDeltaMessage(content=content))
    return ContentDeltaV2ChatStreamResponse(index=_PLAN, delta=delta)
