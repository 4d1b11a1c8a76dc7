"""This file is a model behind a provider's API: our history goes out as it is, and one checked reply comes back."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import httpx
import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as WireRequest
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings as WireSettings
from pydantic_ai.tools import ToolDefinition

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.agent.models.cohere import cohere_model
from gateway.agent.models.draft import Draft
from gateway.agent.models.failures import as_model_error
from gateway.agent.models.messages import Note, noted, paired, spoken
from gateway.agent.models.openai import openai_model
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, guard
from gateway.errors import ModelFloodError, ModelUnavailableError

CONNECT_TIMEOUT_S = 10.0
TEXT_CAP = 400_000
"""Longest reply, in characters, arguments included: more than any model writes in one go."""
CUT_NOTE = "\n\n[The reply was cut here: the model reached its output limit.]"


class HostedModel:
    """A model of Cohere, or of any server that speaks OpenAI's protocol."""

    def __init__(self, settings: HostedSettings, retry: Retry | None = None) -> None:
        self.name = settings.name
        self.window_tokens = settings.window_tokens
        self._settings = settings
        self._retry = retry or Retry()
        timeout_s = settings.request_timeout_s
        plain = {"Accept-Encoding": "identity"}  # what is guarded must be what is sent
        self._client: httpx.AsyncClient | httpx2.AsyncClient
        self._wire: WireModel
        if settings.provider == "cohere":
            timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
            self._client = httpx.AsyncClient(timeout=timeout, headers=plain, event_hooks={"response": [guard]})
            self._wire = cohere_model(settings, self._client)
        else:
            timeout2 = httpx2.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
            self._client = httpx2.AsyncClient(timeout=timeout2, headers=plain, event_hooks={"response": [guard]})
            self._wire = openai_model(settings, self._client)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises ModelError, after bounded retries, when there is no usable reply."""
        draft = Draft(on_text)

        async def attempt() -> ReplyEntry:
            try:
                return self._entry(await self._ask(request, draft), request)
            except ModelUnavailableError:
                draft.attempt_failed()
                raise

        return await self._retry(attempt)

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, request: ModelRequest, draft: Draft) -> ModelResponse:
        """Return one complete response. Raises ModelError."""
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                return await self._stream(request, draft)
        except TimeoutError as exc:
            limit = f"no answer within {self._settings.request_timeout_s:g} seconds"
            raise ModelUnavailableError(f"{self.name}: {limit}") from exc
        except (AgentRunError, BrokenReplyError, httpx.HTTPError, httpx2.HTTPError) as exc:
            raise as_model_error(self.name, exc) from exc

    async def _stream(self, request: ModelRequest, draft: Draft) -> ModelResponse:
        temperature = self._settings.temperature if request.temperature is None else request.temperature
        stream = model_request_stream(
            self._wire,
            _history(request),
            model_settings=WireSettings() if temperature is None else WireSettings(temperature=temperature),
            model_request_parameters=ModelRequestParameters(function_tools=_tools(request)),
            instrument=False,
        )
        size = 0
        async with stream as events:
            async for event in events:
                text, length = _piece(event)
                size += length
                if size > TEXT_CAP:
                    raise ModelFloodError(TEXT_CAP)
                if text:
                    await draft(text)
            return events.get()

    def _entry(self, response: ModelResponse, request: ModelRequest) -> ReplyEntry:
        """Return *response* as an entry. Raises ModelUnavailableError if it is not whole."""
        _check_finish(self.name, response)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        calls = tuple(_calls(response, {call.id for call in _known_calls(request)}))
        if not text.strip() and not calls:
            raise ModelUnavailableError(f"{self.name}: the reply is empty")
        for call in calls:
            _check_arguments(self.name, call)
        note = CUT_NOTE if response.finish_reason == "length" and not calls else ""
        counted = response.usage
        usage = Usage(counted.input_tokens, counted.output_tokens, counted.cache_read_tokens)
        return ReplyEntry(text + note, calls, self.name, usage)


def _check_finish(name: str, response: ModelResponse) -> None:
    """A stream that breaks off cleanly raises nothing in the libraries: it lacks its finish reason."""
    raw = (response.provider_details or {}).get("finish_reason")
    if response.finish_reason is None and raw in {None, "TIMEOUT"}:
        raise ModelUnavailableError(f"{name}: the reply broke off")
    if response.finish_reason == "error":
        raise ModelUnavailableError(f"{name}: the provider reports an error within the reply")


def _check_arguments(name: str, call: ToolCall) -> None:
    try:
        json.loads(call.arguments)
    except (ValueError, RecursionError) as exc:
        raise ModelUnavailableError(f"{name}: the arguments of a tool call are not JSON") from exc


def _calls(response: ModelResponse, taken: set[str]) -> Iterator[ToolCall]:
    """Yield the calls; servers that number the calls of each reply anew get ids that are unique in the history."""
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            call_id = part.tool_call_id
            if not call_id or call_id in taken:
                call_id = f"call_{uuid4().hex[:24]}"
            taken.add(call_id)
            yield ToolCall(call_id, part.tool_name, _arguments(part))


def _arguments(part: ToolCallPart) -> str:
    """Return the arguments as they came; the library's `args_as_json_str` would make broken JSON look whole."""
    return part.args or "{}" if isinstance(part.args, str) else json.dumps(part.args or {})


def _known_calls(request: ModelRequest) -> Iterator[ToolCall]:
    for entry in request.entries:
        if isinstance(entry, ReplyEntry):
            yield from entry.calls


def _piece(event: ModelResponseStreamEvent) -> tuple[str, int]:
    """Return the text to show that *event* brings, and how many characters it adds to the reply."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text, len(text)
        case PartDeltaEvent(delta=delta):
            return "", len(str(getattr(delta, "args_delta", None) or getattr(delta, "content_delta", None) or ""))
        case _:
            return "", 0


# --- the way out


def _tools(request: ModelRequest) -> list[ToolDefinition]:
    return [
        ToolDefinition(name=spec.name, description=spec.description, parameters_json_schema=dict(spec.parameters))
        for spec in request.tools
    ]


def _history(request: ModelRequest) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    entries = noted(paired(request.entries), request.volatile)
    asked: list[ModelRequestPart] = [SystemPromptPart(content=request.stable)] if request.stable else []
    for entry in entries:
        if isinstance(entry, ReplyEntry):
            if asked:
                messages.append(WireRequest(parts=asked))
                asked = []
            messages.append(ModelResponse(parts=list(_answered(entry))))
        else:
            _ask_with(asked, entry)
    return [*messages, WireRequest(parts=asked)] if asked else messages


def _ask_with(asked: list[ModelRequestPart], entry: Note | Entry) -> None:
    """Add *entry* to a request; messages in a row become one, for many chat templates want voices to take turns."""
    match entry:
        case ResultEntry(call_id=call_id, name=name, text=text, is_error=is_error):
            content = f"Error: {text}" if is_error else text
            asked.append(ToolReturnPart(tool_name=name, content=content, tool_call_id=call_id))
        case UserEntry() | Note():
            said = spoken(entry) if isinstance(entry, UserEntry) else entry.framed
            match asked[-1:]:
                case [UserPromptPart(content=str(before)) as last]:
                    asked[-1] = replace(last, content=f"{before}\n\n{said}")
                case _:
                    asked.append(UserPromptPart(content=said))


def _answered(reply: ReplyEntry) -> Iterator[ModelResponsePart]:
    if reply.text:
        yield TextPart(content=reply.text)
    for call in reply.calls:
        yield ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id)
