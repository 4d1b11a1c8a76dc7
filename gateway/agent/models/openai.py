"""This file speaks OpenAI's chat protocol, to OpenAI or to any server that speaks it too."""

from functools import cached_property
from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.chat.completions import AsyncCompletions
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from gateway.agent.models.settings import HostedSettings

OPENAI_URL = "https://api.openai.com/v1"

_PROFILE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True, json_schema_transformer=None)
"""Without the first the library takes a stream that breaks off for one that ended well; the second spares it a walk
over every tool's schema at every request, which our plain schemas do not need."""


def openai_model(settings: HostedSettings, client: httpx2.AsyncClient) -> OpenAIChatModel:
    """Return the model that *settings* name; it never tries again by itself."""
    sdk = _Client(
        api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
        base_url=settings.base_url or OPENAI_URL,
        timeout=settings.request_timeout_s,
        max_retries=0,
        http_client=client,
    )
    own = settings.base_url is None
    provider = OpenAIProvider(openai_client=sdk) if own else OpenAICompatibleProvider("compatible", openai_client=sdk)
    return OpenAIChatModel(settings.model, provider=provider, profile=_PROFILE)


class _Completions(AsyncCompletions):
    """Sends messages and tools as they are: the SDK's walk over their types takes 0.4 ms a message, each time."""

    async def create(self, **request: Any) -> Any:
        plain = {name: request.pop(name) for name in ("messages", "tools") if isinstance(request.get(name), list)}
        body = {**(request.pop("extra_body", None) or {}), **plain}
        return await super().create(messages=[], extra_body=body, **request)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class _Client(AsyncOpenAI):
    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)
