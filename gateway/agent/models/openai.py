"""Client of OpenAI's chat protocol, for OpenAI or any compatible server."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from msgspec import structs

from gateway.agent.entries import Entry, ToolCall, Usage
from gateway.agent.models.errors import failed_within, status_error, unreachable
from gateway.agent.models.messages import Answered, Returned, Seen, UnansweredMessages, voices
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.prefix_cache import PrefixCache, settled_count
from gateway.agent.models.provider import CallPiece, Finish, Piece, TextPiece, ThoughtPiece
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, events

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0
CONNECTIONS = 1000
KEPT_S = 5.0
"""Time for which an unused connection is kept: many servers close theirs soon after."""
LONGEST_LIST = 1024 * 1024
"""Bytes that are read of a list of models."""
LONGEST_REFUSAL = 64 * 1024
"""Bytes that are read of an answer that is no reply."""

_FINISHES = {"length": Finish("length"), "content_filter": Finish("filtered"), "error": Finish("failed")}
"""Every other reason (`stop`, `tool_calls`, values of other servers) means that the reply is whole."""

Json = dict[str, Any]


class OpenAIProvider:
    """Requests over aiohttp: the official client would add 14 MB to a gateway at rest (decision 0011)."""

    def __init__(self, settings: HostedSettings) -> None:
        self._settings = settings
        self._prefix_cache = PrefixCache()
        self._url = f"{(settings.base_url or OPENAI_URL).rstrip('/')}/chat/completions"
        self._proxy = None if settings.is_here else _proxy_of(self._url)
        self._tls = httpx2.create_ssl_context() if self._url.startswith("https:") else True
        self._session: ClientSession | None = None

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request* as it arrives. Raises ModelError, BrokenReplyError or httpx2's HTTPError."""
        name = self._settings.name
        body = body_of(request, seen, self._options(temperature), self._prefix_cache)
        session = self._session = self._session or self._opened()
        try:
            async with session.post(self._url, data=body, proxy=self._proxy, allow_redirects=False) as response:
                if not 200 <= response.status < 300:
                    raise status_error(name, response.status, await _refusal(response), response.headers)
                async for event in events(_chunks(response)):
                    for piece in read(name, event):
                        yield piece
        except ClientError as exc:
            raise unreachable(name) from exc

    async def models(self) -> list[str]:
        """Return the names of the models that the server offers; none if it does not tell. Raises ModelError."""
        name, session = self._settings.name, self._opened()
        url = f"{self._url.removesuffix('/chat/completions')}/models"
        try:
            async with session, session.get(url, proxy=self._proxy, allow_redirects=False) as response:
                if response.status in {401, 403}:
                    raise status_error(name, response.status, "", response.headers)
                said = await response.content.read(LONGEST_LIST) if response.status == 200 else b""
                return list(_names_in(json.loads(said or b"{}")))
        except ClientError as exc:
            raise unreachable(name) from exc
        except (ValueError, RecursionError):
            return []

    def _opened(self) -> ClientSession:
        key = self._settings.api_key
        return ClientSession(
            connector=TCPConnector(ssl=self._tls, limit=CONNECTIONS, keepalive_timeout=KEPT_S),
            timeout=ClientTimeout(sock_connect=CONNECT_TIMEOUT_S),
            headers={
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",  # a cap on the bytes sent must be one on the bytes read
                **({"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}),
            },
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
        )

    def _options(self, temperature: float | None) -> Json:
        always: Json = {"model": self._settings.model, "stream": True, "stream_options": {"include_usage": True}}
        return always if temperature is None else {**always, "temperature": temperature}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for *url*."""
    parts, proxies = urlsplit(url), getproxies()
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme) or proxies.get("all")


async def _chunks(response: ClientResponse) -> AsyncGenerator[bytes]:
    """Yield the body of *response* as it arrives. Raises httpx2's ReadError."""
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except ClientError as exc:
        raise httpx2.ReadError("the connection broke") from exc


async def _refusal(response: ClientResponse) -> str:
    """Return the beginning of the body of *response*."""
    said = b""
    with suppress(httpx2.ReadError):  # the status tells enough
        async for chunk in _chunks(response):
            said += chunk
            if len(said) > LONGEST_REFUSAL:
                break
    return said.decode("utf-8", "replace")


# --- requests


def body_of(request: ModelRequest, seen: Seen, options: Json, prefix_cache: PrefixCache) -> bytes:
    """Return *request* with *options* as JSON; of its history only the part unknown to *prefix_cache* is encoded."""

    def write(entries: Sequence[Entry]) -> bytes:
        told = voices(structs.replace(request, entries=entries), seen)
        return b"".join(_message(voice) + b"," for voice in told)

    past = 0 if seen else settled_count(request.entries)
    messages = (
        _json({"role": "system", "content": request.stable}) if request.stable else b"",
        prefix_cache.written(request.entries[:past], write)[:-1],
        *map(_message, voices(structs.replace(request, entries=request.entries[past:]), seen)),
    )
    tools = b',"tools":[%b]' % b",".join(map(_tool, request.tools)) if request.tools else b""
    return b'%b,"messages":[%b]%b}' % (_json(options)[:-1], b",".join(filter(None, messages)), tools)


def _message(voice: UnansweredMessages | Answered | Returned) -> bytes:
    return _json(_plain(voice))


def _plain(voice: UnansweredMessages | Answered | Returned) -> Json:
    match voice:
        case UnansweredMessages(text=text, pictures=()):
            return {"role": "user", "content": text}
        case UnansweredMessages(text=text, pictures=pictures):
            shown = [{"type": "image_url", "image_url": {"url": each}} for each in pictures]
            return {"role": "user", "content": [{"type": "text", "text": text}, *shown]}
        case Answered(text=text, calls=calls):
            said: Json = {"role": "assistant", "content": text or None}
            return {**said, "tool_calls": [_call(call) for call in calls]} if calls else said
        case Returned(call_id=call_id, text=text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


@lru_cache(maxsize=1_000)  # the same tools go with every request
def _tool(spec: ToolSpec) -> bytes:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return _json({"type": "function", "function": function})


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _json(value: Json) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "replace")  # a model may write lone surrogates, which are not UTF-8


# --- replies; servers leave fields out at will, and add fields of their own


def read(name: str, event: object) -> Sequence[Piece]:
    """Return the pieces of *event*. Raises ModelError if it reports a failure, BrokenReplyError if it is malformed."""
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
        yield from _text_pieces(delta)
        for place, call in enumerate(_objects(delta.get("tool_calls"))):
            yield _call_piece(place, call)
        if reason := choice.get("finish_reason"):
            yield _FINISHES.get(reason, Finish("stop"))


def _text_pieces(delta: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the text of *delta*: one piece, several parts as some servers send, or a refusal in the model's words."""
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


def _names_in(listed: object) -> Iterator[str]:
    """Yield the names in the answer *listed* of `/models`."""
    for each in _objects(listed.get("data") if isinstance(listed, dict) else None):
        if isinstance(name := each.get("id"), str) and name.strip():
            yield name


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
