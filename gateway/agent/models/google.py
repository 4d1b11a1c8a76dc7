"""Client of Google's Gemini API, by its official library; the signature of a call is sent back with it."""

import base64
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import cast
from uuid import uuid4

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import ValidationError

from gateway.agent.entries import ToolCall, Usage
from gateway.agent.models.errors import status_error
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
from gateway.agent.models.wire import BrokenReplyError, guard, read_out

GOOGLE_URL = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"
CONNECT_TIMEOUT_S = 10.0
UNSIGNED = b"skip_thought_signature_validator"
"""Replaces an unknown signature: from Gemini 3 on a call without any is refused (ai.google.dev, Thought signatures)."""

_REASONS = types.FinishReason
_FINISHES = {
    _REASONS.MAX_TOKENS: Finish("length"),
    _REASONS.SAFETY: Finish("filtered"),
    _REASONS.RECITATION: Finish("filtered"),
    _REASONS.BLOCKLIST: Finish("filtered"),
    _REASONS.PROHIBITED_CONTENT: Finish("filtered"),
    _REASONS.SPII: Finish("filtered"),
    _REASONS.MODEL_ARMOR: Finish("filtered"),
    _REASONS.MALFORMED_FUNCTION_CALL: Finish("failed"),
    _REASONS.UNEXPECTED_TOOL_CALL: Finish("failed"),
    _REASONS.MALFORMED_RESPONSE: Finish("failed"),
    _REASONS.OTHER: Finish("failed"),
}
"""Every other reason means that the reply is complete."""


class GoogleProvider:
    """Google's official client; the guard bounds data that the client would read without a limit."""

    def __init__(self, settings: HostedSettings) -> None:
        self._settings = settings
        self._signatures: OpaqueStates[bytes] = OpaqueStates()
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(settings.request_timeout_s, connect=CONNECT_TIMEOUT_S),
            trust_env=not settings.is_here,
            headers={"Accept-Encoding": "identity"},  # the guarded bytes must be the bytes sent
            event_hooks={"response": [guard]},
        )
        self._sdk = genai.Client(
            vertexai=False,
            api_key=settings.api_key.get_secret_value() if settings.api_key else "none",
            http_options=types.HttpOptions(
                base_url=settings.base_url or GOOGLE_URL,
                api_version=API_VERSION,
                timeout=round(settings.request_timeout_s * 1000),
                httpx_async_client=self._http,
            ),
        )
        self._models = self._sdk.aio.models  # loads here, on a thread, and not at the first request

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request* as it arrives. Raises ModelError, BrokenReplyError or httpx2's HTTPError."""
        name = self._settings.name
        reading = _GoogleReply(self._signatures)
        try:
            begun = await self._models.generate_content_stream(
                model=self._settings.model,
                contents=cast("types.ContentListUnion", list(contents_of(request, seen, self._signatures))),
                config=_config(request, temperature, self._settings.output_tokens),
            )
            async with aclosing(cast("AsyncGenerator[types.GenerateContentResponse]", begun)) as chunks:
                async for chunk in chunks:
                    for piece in reading.pieces(chunk):
                        yield piece
                    if reading.is_whole:
                        await read_out(chunks)
                        return
        except errors.APIError as exc:
            raise status_error(name, int(exc.code or 500), exc.details, _headers(exc)) from exc
        except (errors.UnknownApiResponseError, ValidationError) as exc:
            raise BrokenReplyError("sent an event that cannot be read") from exc

    async def close(self) -> None:
        self._sdk.close()
        await self._http.aclose()


def _headers(error: errors.APIError) -> Mapping[str, str]:
    """Return the headers of the response; the delay before a retry is in its body (google.rpc.RetryInfo)."""
    sent = {key.lower(): value for key, value in getattr(error.response, "headers", {}).items()}
    found = error.details.get("error", {}) if isinstance(error.details, dict) else {}
    for detail in found.get("details", ()) if isinstance(found, dict) else ():
        delay = str(detail.get("retryDelay") or "") if isinstance(detail, dict) else ""
        if delay.endswith("s") and delay[:-1].replace(".", "", 1).isdigit():
            sent.setdefault("retry-after-ms", str(round(float(delay[:-1]) * 1000)))
    return sent


# --- requests


def contents_of(request: ModelRequest, seen: Seen, signatures: OpaqueStates[bytes]) -> Iterator[types.Content]:
    """Yield the history of *request*: results stand together, right after their calls, and carry the tool's name."""
    names: dict[str, str] = {}
    results: list[types.Part] = []
    for voice in with_person_first(voices(request, seen)):
        if results and not isinstance(voice, Returned):
            yield types.Content(role="user", parts=results)
            results = []
        match voice:
            case UnansweredMessages(text=text, pictures=pictures):
                parts = [*_text(text), *map(_picture, pictures)] or _text(UNSHOWN)
                yield types.Content(role="user", parts=parts)
            case Answered(text=text, calls=calls):
                names |= {call.id: call.name for call in calls}
                if parts := [*_text(text), *_calls(calls, signatures)]:
                    yield types.Content(role="model", parts=parts)
            case Returned(call_id=call_id, text=text):
                answer = types.FunctionResponse(id=call_id, name=names[call_id], response={"output": text})
                results.append(types.Part(function_response=answer))
    if results:
        yield types.Content(role="user", parts=results)


def _text(text: str) -> list[types.Part]:
    return [types.Part(text=text)] if text.strip() else []


def _picture(uri: str) -> types.Part:
    mime, data = picture_data(uri)
    return types.Part(inline_data=types.Blob(mime_type=mime, data=base64.b64decode(data)))


def _calls(calls: Sequence[ToolCall], signatures: OpaqueStates[bytes]) -> Iterator[types.Part]:
    """Yield *calls*; the first of a reply needs its signature, some of the others have one."""
    for place, call in enumerate(calls):
        asked = types.FunctionCall(id=call.id, name=call.name, args=json.loads(call.arguments))
        signature = signatures.get(call.id) or (None if place else UNSIGNED)
        yield types.Part(function_call=asked, thought_signature=signature)


def _config(request: ModelRequest, temperature: float | None, output_tokens: int | None) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(
        system_instruction=request.stable or None,
        tools=[types.Tool(function_declarations=[_tool(spec) for spec in request.tools])] if request.tools else None,
        temperature=temperature,
        max_output_tokens=output_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
    )


def _tool(spec: ToolSpec) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(
        name=spec.name, description=spec.description, parameters_json_schema=dict(spec.parameters)
    )


# --- replies


class _GoogleReply:
    """One reply while it is read: calls arrive whole, one after the other, some without an id."""

    def __init__(self, signatures: OpaqueStates[bytes]) -> None:
        self._signatures = signatures
        self._calls = 0
        self.is_whole = False

    def pieces(self, chunk: types.GenerateContentResponse) -> Iterator[Piece]:
        if chunk.usage_metadata:
            yield _usage(chunk.usage_metadata)
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self.is_whole = True
            yield Finish("filtered")
        for candidate in (chunk.candidates or [])[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._part(part)
            if reason := candidate.finish_reason:
                self.is_whole = True
                yield _FINISHES.get(reason, Finish("stop"))

    def _part(self, part: types.Part) -> Iterator[Piece]:
        if part.text:
            yield ThoughtPiece(len(part.text)) if part.thought else TextPiece(part.text)
        if asked := part.function_call:
            call_id = f"call_{uuid4().hex[:24]}"  # a server may reuse an id in another conversation
            if part.thought_signature:
                self._signatures[call_id] = part.thought_signature
            yield CallPiece(self._calls, call_id, asked.name or "", json.dumps(asked.args or {}))
            self._calls += 1


def _usage(counted: types.GenerateContentResponseUsageMetadata) -> Usage:
    written = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
    return Usage(counted.prompt_token_count or 0, written, counted.cached_content_token_count or 0)
