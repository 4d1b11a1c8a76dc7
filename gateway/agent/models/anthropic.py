"""Client of Anthropic's Messages API; a model's thoughts are sent back with the calls that followed from them."""

import hashlib
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx2
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic

from gateway.agent.entries import ToolCall, Usage
from gateway.agent.models.errors import failed_within, status_error, unreachable
from gateway.agent.models.messages import (
    UNSHOWN,
    Answered,
    Returned,
    Seen,
    UnansweredMessages,
    picture_data,
    voices,
    with_person_first,
)
from gateway.agent.models.opaque_state import OpaqueStates
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.provider import CallPiece, Finish, Piece, TextPiece, ThoughtPiece
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, events
from workspaces.lazy_pattern import lazy_pattern

ANTHROPIC_URL = "https://api.anthropic.com"
CONNECT_TIMEOUT_S = 10.0
OUTPUT_TOKENS = 16_000
"""The API requires a bound. As in Anthropic's examples of thinking, which counts towards it (platform.claude.com,
Adaptive thinking); less than `reserve_tokens` keeps free, so that a full window has room for it."""

_FINISHES = {
    "max_tokens": Finish("length"),
    "model_context_window_exceeded": Finish("length"),
    "refusal": Finish("filtered"),
}
"""Every other reason (`end_turn`, `tool_use`, `stop_sequence`) means that the reply is whole."""
_CACHED = {"type": "ephemeral"}
_SOUND_ID = lazy_pattern(r"[a-zA-Z0-9_-]+")

Json = dict[str, Any]


class AnthropicProvider:
    """The official client, for requests, their errors and connections; messages are plain JSON both ways.

    The client's own path walks over declared types: decision 0011. No temperature is sent: the API takes none since its
    version 2026-10-21, which the client asks for (platform.claude.com, Versions).
    """

    def __init__(self, settings: HostedSettings) -> None:
        self._settings = settings
        self._thoughts: OpaqueStates[Sequence[Json]] = OpaqueStates()
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(settings.request_timeout_s, connect=CONNECT_TIMEOUT_S),
            trust_env=not settings.is_here,
            headers={"Accept-Encoding": "identity"},  # a cap on the bytes sent must be one on the bytes read
        )
        sdk = AsyncAnthropic(
            api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
            base_url=settings.base_url or ANTHROPIC_URL,
            timeout=settings.request_timeout_s,
            max_retries=0,
            open_telemetry=False,  # turns have spans of their own
            http_client=self._http,
        )
        self._messages = sdk.messages.with_streaming_response  # loads here, on a thread, and not at the first request

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request* as it arrives. Raises ModelError, BrokenReplyError or httpx2's HTTPError."""
        name = self._settings.name
        reading = _AnthropicReply(name, self._thoughts)
        try:
            async with self._messages.create(
                model=self._settings.model,
                max_tokens=self._settings.output_tokens or OUTPUT_TOKENS,
                messages=(),
                stream=True,
                extra_body=body_of(request, seen, self._thoughts),
            ) as response:
                async for event in events(response.iter_bytes(), _is_last):
                    for piece in reading.pieces(event):
                        yield piece
        except APIStatusError as exc:
            raise status_error(name, exc.status_code, exc.body, exc.response.headers) from exc
        except APIConnectionError as exc:
            raise unreachable(name) from exc

    async def close(self) -> None:
        await self._http.aclose()


# --- requests


def body_of(request: ModelRequest, seen: Seen, thoughts: OpaqueStates[Sequence[Json]]) -> Json:
    """Return *request* in the API's format, with marks up to which its cache may keep it.

    Two of the four marks that the API allows: after the constant part, and at the end, as the next request begins with
    all of this one.
    """
    body: Json = {"messages": []}
    if request.stable:
        body["system"] = [{"type": "text", "text": request.stable, "cache_control": _CACHED}]
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    blocks: list[Json] = []
    for voice in with_person_first(voices(request, seen)):
        role, said = _role_and_blocks(voice, thoughts)
        blocks += said
        _append(body["messages"], role, said)
    if blocks:
        blocks[-1]["cache_control"] = _CACHED
    return body | (_past_tools(blocks) if not request.tools else {})


def _past_tools(blocks: list[Json]) -> Json:
    """Return the fields for a history with tool calls where no tools are offered: each called tool must be named."""
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    if not names:
        return {}
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"tools": tools, "tool_choice": {"type": "none"}}


def _append(messages: list[Json], role: str, said: list[Json]) -> None:
    """Add the blocks *said*; consecutive ones of one role become one message, so that results stand together."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += said
    elif said:
        messages.append({"role": role, "content": [*said]})


def _role_and_blocks(
    voice: UnansweredMessages | Answered | Returned, thoughts: OpaqueStates[Sequence[Json]]
) -> tuple[str, list[Json]]:
    """Return the role of *voice* and its blocks; the API rejects blank text blocks."""
    match voice:
        case UnansweredMessages(text=text, pictures=pictures):
            return "user", [*_text(text), *map(_picture, pictures)] or _text(UNSHOWN)
        case Answered(text=text, calls=calls):
            thought = thoughts.get(calls[0].id) if calls else None
            return "assistant", [*(thought or ()), *_text(text), *map(_call, calls)]
        case Returned(call_id=call_id, text=text):
            return "user", [{"type": "tool_result", "tool_use_id": _id(call_id), "content": text}]


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _picture(uri: str) -> Json:
    mime, data = picture_data(uri)
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def _call(call: ToolCall) -> Json:
    return {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": json.loads(call.arguments)}


def _id(call_id: str) -> str:
    """Return *call_id* in a form that the API takes: an id of another provider, whose model failed, may not fit."""
    if _SOUND_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"


def _tool(spec: ToolSpec) -> Json:
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.parameters)}


# --- replies


def _is_last(event: object) -> bool:
    return isinstance(event, dict) and event.get("type") == "message_stop"


class _AnthropicReply:
    """One reply while it is read: its usage and its thoughts arrive in parts."""

    def __init__(self, name: str, thoughts: OpaqueStates[Sequence[Json]]) -> None:
        self._name = name
        self._thoughts = thoughts
        self._usage: Json = {}
        self._thinking: list[Json] = []
        self._first_call = ""
        self._has_spoken = False
        self._is_ordered = True
        """Its thoughts came before everything else; otherwise the order would change, which the API rejects."""

    def pieces(self, event: object) -> Sequence[Piece]:
        """Return the pieces of *event*.

        Raises ModelError if it reports a failure, BrokenReplyError if it is malformed.
        """
        try:
            return tuple(self._pieces(event)) if isinstance(event, dict) else ()
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as exc:
            raise BrokenReplyError("sent an event that cannot be read") from exc

    def _pieces(self, event: Json) -> Iterator[Piece]:
        match event.get("type"):
            case "error":
                raise failed_within(self._name, event.get("error"))
            case "message_start":
                self._count(event["message"].get("usage"))
            case "content_block_start":
                yield from self._begin_block(int(event["index"]), event["content_block"])
            case "content_block_delta":
                yield from self._block_delta(int(event["index"]), event["delta"])
            case "message_delta":
                self._count(event.get("usage"))
                yield self._counted()
                if reason := event["delta"].get("stop_reason"):
                    self._keep()
                    yield _FINISHES.get(reason, Finish("stop"))

    def _begin_block(self, place: int, block: Json) -> Iterator[Piece]:
        match block.get("type"):
            case "text":
                self._has_spoken = True
                yield TextPiece(str(block.get("text") or ""))
            case "tool_use":
                call_id = f"call_{uuid4().hex[:24]}"  # a proxy may reuse an id in another conversation
                self._first_call = self._first_call or call_id
                whole = json.dumps(block["input"]) if block.get("input") else ""
                yield CallPiece(place, call_id, str(block["name"]), whole)
            case "thinking":
                self._think({"type": "thinking", "thinking": "", "signature": "", **block})
            case "redacted_thinking":
                self._think(dict(block))

    def _block_delta(self, place: int, delta: Json) -> Iterator[Piece]:
        match delta.get("type"):
            case "text_delta":
                yield TextPiece(str(delta["text"]))
            case "input_json_delta":
                yield CallPiece(place, "", "", str(delta["partial_json"]))
            case "thinking_delta":
                self._thinking[-1]["thinking"] += str(delta["thinking"])
                yield ThoughtPiece(len(delta["thinking"]))
            case "signature_delta":
                self._thinking[-1]["signature"] += str(delta["signature"])

    def _think(self, block: Json) -> None:
        self._is_ordered = not self._has_spoken and not self._first_call
        self._thinking.append(block)

    def _keep(self) -> None:
        if self._first_call and self._thinking and self._is_ordered:
            self._thoughts[self._first_call] = tuple(self._thinking)

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        self._usage |= {key: value for key, value in (usage or {}).items() if value is not None}

    def _counted(self) -> Usage:
        """Return the usage; tokens read from the cache, or written to it, are not part of the input in this API."""
        read, kept, cached, written = (
            int(self._usage.get(key) or 0)
            for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        )
        return Usage(read + kept + cached, written, cached)
