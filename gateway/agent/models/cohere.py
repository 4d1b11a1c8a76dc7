"""Client of Cohere's chat API; keeps the plan that the model writes before it calls tools."""

from collections.abc import AsyncGenerator, Iterator

import httpx
from cohere import (
    AssistantChatMessageV2,
    AsyncClientV2,
    ChatMessageV2,
    ContentDeltaV2ChatStreamResponse,
    ImageUrl,
    ImageUrlContent,
    MessageEndV2ChatStreamResponse,
    SystemChatMessageV2,
    TextContent,
    ToolCallDeltaV2ChatStreamResponse,
    ToolCallStartV2ChatStreamResponse,
    ToolCallV2,
    ToolCallV2Function,
    ToolChatMessageV2,
    ToolPlanDeltaV2ChatStreamResponse,
    ToolV2,
    ToolV2Function,
    UserChatMessageV2,
    V2ChatStreamResponse,
)
from cohere import Usage as CohereUsage
from cohere.core.api_error import ApiError
from cohere.v2.client import OMIT

from gateway.agent.entries import ToolCall, Usage
from gateway.agent.models.errors import status_error, unreachable
from gateway.agent.models.messages import Answered, Returned, Seen, UnansweredMessages, voices
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.provider import CallPiece, Finish, Piece, TextPiece, ThoughtPiece
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import guard

CONNECT_TIMEOUT_S = 10.0

_FINISHES = {
    "COMPLETE": Finish("stop"),
    "STOP_SEQUENCE": Finish("stop"),
    "TOOL_CALL": Finish("stop"),
    "MAX_TOKENS": Finish("length"),
    "ERROR": Finish("failed"),
    "TIMEOUT": Finish("failed"),
}
"""`ChatFinishReason` of Cohere's API, version 2."""


class CohereProvider:
    """Cohere's official client; the guard catches data that the client would skip silently."""

    def __init__(self, settings: HostedSettings) -> None:
        self._settings = settings
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.request_timeout_s, connect=CONNECT_TIMEOUT_S),
            trust_env=not settings.is_here,
            headers={"Accept-Encoding": "identity"},  # the guarded bytes must be the bytes sent
            event_hooks={"response": [guard]},
        )
        self._sdk = AsyncClientV2(
            api_key=settings.api_key.get_secret_value() if settings.api_key else "",
            base_url=settings.base_url,
            client_name="strandline",
            timeout=settings.request_timeout_s,
            max_retries=0,
            httpx_client=self._http,
            log_warning_experimental_features=False,
        )

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request* as it arrives. Raises ModelError, BrokenReplyError or httpx's HTTPError."""
        name = self._settings.name
        stream = self._sdk.chat_stream(
            model=self._settings.model,
            messages=list(_messages(request, seen)),
            tools=[_tool(spec) for spec in request.tools] or OMIT,
            temperature=OMIT if temperature is None else temperature,
        )
        try:
            async for event in stream:
                for piece in _pieces(event):
                    yield piece
        except ApiError as exc:
            if exc.status_code is None:
                raise unreachable(name) from exc
            headers = {key.lower(): value for key, value in (exc.headers or {}).items()}
            raise status_error(name, exc.status_code, exc.body, headers) from exc

    async def close(self) -> None:
        await self._http.aclose()


# --- requests; the client leaves unset fields out of a request, defaults too


def _messages(request: ModelRequest, seen: Seen) -> Iterator[ChatMessageV2]:
    if request.stable:
        yield SystemChatMessageV2(role="system", content=request.stable)
    for voice in voices(request, seen):
        match voice:
            case UnansweredMessages(text=text, pictures=()):
                yield UserChatMessageV2(role="user", content=text)
            case UnansweredMessages(text=text, pictures=pictures):
                shown = [ImageUrlContent(type="image_url", image_url=ImageUrl(url=each)) for each in pictures]
                yield UserChatMessageV2(role="user", content=[TextContent(type="text", text=text), *shown])
            case Answered(text=text, calls=()):
                yield AssistantChatMessageV2(role="assistant", content=text)
            case Answered(text=text, calls=calls):
                planned = AssistantChatMessageV2(role="assistant", tool_calls=[_call(call) for call in calls])
                yield planned.model_copy(update={"tool_plan": text}) if text else planned
            case Returned(call_id=call_id, text=text):
                yield ToolChatMessageV2(role="tool", tool_call_id=call_id, content=text)


def _call(call: ToolCall) -> ToolCallV2:
    return ToolCallV2(
        id=call.id, type="function", function=ToolCallV2Function(name=call.name, arguments=call.arguments)
    )


def _tool(spec: ToolSpec) -> ToolV2:
    function = ToolV2Function(name=spec.name, description=spec.description, parameters=dict(spec.parameters))
    return ToolV2(type="function", function=function)


# --- replies


def _pieces(event: V2ChatStreamResponse) -> Iterator[Piece]:
    match event:
        case ToolPlanDeltaV2ChatStreamResponse():
            plan = event.delta.message.tool_plan if event.delta and event.delta.message else None
            yield TextPiece(plan or "")
        case ContentDeltaV2ChatStreamResponse():
            content = event.delta.message.content if event.delta and event.delta.message else None
            if content:
                yield TextPiece(content.text or "")
                yield ThoughtPiece(len(content.thinking or ""))
        case ToolCallStartV2ChatStreamResponse() | ToolCallDeltaV2ChatStreamResponse():
            call = event.delta.message.tool_calls if event.delta and event.delta.message else None
            if call:
                yield _call_piece(event.index or 0, call)
        case MessageEndV2ChatStreamResponse():
            if event.delta and event.delta.usage:
                yield _usage(event.delta.usage)
            if event.delta and (reason := event.delta.finish_reason):
                yield _FINISHES.get(reason, Finish("stop"))


def _call_piece(place: int, call: object) -> CallPiece:
    """Return the piece of one call; the type for further arguments has neither id nor name."""
    function = getattr(call, "function", None)
    name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
    return CallPiece(place, getattr(call, "id", None) or "", name or "", arguments or "")


def _usage(counted: CohereUsage) -> Usage:
    tokens = counted.tokens
    given, written = (tokens.input_tokens, tokens.output_tokens) if tokens else (0, 0)
    return Usage(int(given or 0), int(written or 0), int(counted.cached_tokens or 0))
