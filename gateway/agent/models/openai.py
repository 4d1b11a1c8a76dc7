"""This file speaks OpenAI's chat protocol, to OpenAI or to any server that speaks it too."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, omit

from gateway.agent.entries import ToolCall, Usage
from gateway.agent.models.failures import failed_within, refused, unreachable
from gateway.agent.models.messages import Answered, Returned, Said, Seen, voices
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.provider import CallPiece, Finish, Piece, TextPiece, ThoughtPiece
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, events

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0

_FINISHES = {"length": Finish("length"), "content_filter": Finish("filtered"), "error": Finish("failed")}
"""Every other reason (`stop`, `tool_calls`, what servers of other makers say) means that the reply is whole."""

Json = dict[str, Any]


class OpenAIProvider:
    """The official client, for requests, their errors and connections; the messages are plain JSON both ways.

    The client's own way walks over the declared types of every message and every piece: decision 0011.
    """

    def __init__(self, settings: HostedSettings) -> None:
        self._settings = settings
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(settings.request_timeout_s, connect=CONNECT_TIMEOUT_S),
            headers={"Accept-Encoding": "identity"},  # a cap on what is sent must be one on what is read
        )
        self._sdk = AsyncOpenAI(
            api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
            base_url=settings.base_url or OPENAI_URL,
            timeout=settings.request_timeout_s,
            max_retries=0,
            http_client=self._http,
        )

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request* as it comes. Raises ModelError, BrokenReplyError or httpx2's HTTPError."""
        name = self._settings.name
        plain: Json = {"messages": list(_messages(request, seen))}
        if request.tools:
            plain["tools"] = [_tool(spec) for spec in request.tools]
        try:
            async with self._sdk.chat.completions.with_streaming_response.create(
                model=self._settings.model,
                messages=(),
                stream=True,
                stream_options={"include_usage": True},
                temperature=omit if temperature is None else temperature,
                extra_body=plain,
            ) as response:
                async for event in events(response.iter_bytes()):
                    for piece in read(name, event):
                        yield piece
        except APIStatusError as exc:
            raise refused(name, exc.status_code, exc.body, exc.response.headers) from exc
        except APIConnectionError as exc:
            raise unreachable(name) from exc

    async def close(self) -> None:
        await self._http.aclose()


# --- the way out


def _messages(request: ModelRequest, seen: Seen) -> Iterator[Json]:
    if request.stable:
        yield {"role": "system", "content": request.stable}
    for voice in voices(request, seen):
        match voice:
            case Said(text=text, pictures=()):
                yield {"role": "user", "content": text}
            case Said(text=text, pictures=pictures):
                shown = [{"type": "image_url", "image_url": {"url": each}} for each in pictures]
                yield {"role": "user", "content": [{"type": "text", "text": text}, *shown]}
            case Answered(text=text, calls=calls):
                said: Json = {"role": "assistant", "content": text or None}
                yield {**said, "tool_calls": [_call(call) for call in calls]} if calls else said
            case Returned(call_id=call_id, text=text):
                yield {"role": "tool", "tool_call_id": call_id, "content": text}


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool(spec: ToolSpec) -> Json:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


# --- the way back; servers leave out what they like, and add fields of their own


def read(name: str, event: object) -> Sequence[Piece]:
    """Return what *event* brings. Raises ModelError if it says that something failed, BrokenReplyError if it is odd."""
    try:
        return tuple(_pieces(name, event)) if isinstance(event, dict) else ()
    except (AttributeError, TypeError, ValueError) as exc:
        raise BrokenReplyError("sent an event that cannot be read") from exc


def _pieces(name: str, event: Json) -> Iterator[Piece]:
    if error := event.get("error"):
        raise failed_within(name, error)
    if usage := event.get("usage"):
        yield _usage(usage)
    for choice in _objects(event.get("choices"))[:1]:
        delta = choice.get("delta") or {}
        yield from _said(delta)
        for place, call in enumerate(_objects(delta.get("tool_calls"))):
            yield _call_piece(place, call)
        if reason := choice.get("finish_reason"):
            yield _FINISHES.get(reason, Finish("stop"))


def _said(delta: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the text of *delta*: in one piece, in parts as some servers have it, or a refusal in the model's words."""
    for text in (delta.get("content"), delta.get("refusal")):
        if isinstance(text, str) and text:
            yield TextPiece(text)
        for part in _objects(text):
            if part.get("type") == "text":
                yield TextPiece(str(part.get("text") or ""))
    if thought := delta.get("reasoning_content") or delta.get("reasoning"):
        yield ThoughtPiece(len(str(thought)))


def _call_piece(place: int, call: Mapping[str, Any]) -> CallPiece:
    function = call.get("function") or {}
    index = call.get("index")
    return CallPiece(
        place if index is None else int(index),
        str(call.get("id") or ""),
        str(function.get("name") or ""),
        str(function.get("arguments") or ""),
    )


def _usage(counted: Mapping[str, Any]) -> Usage:
    details = counted.get("prompt_tokens_details") or {}
    return Usage(
        int(counted.get("prompt_tokens") or 0),
        int(counted.get("completion_tokens") or 0),
        int(details.get("cached_tokens") or 0),
    )


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
