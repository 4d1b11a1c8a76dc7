"""The OpenAI-compatible API: agents are its models, and each request is a message to one of them."""

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from adapters.channel import InboundMessage
from gateway.inbound.outcomes import Outcome
from gateway.web.api_tokens import ApiTokens, ChatsOfToday, TokenHolder
from gateway.web.completion_turns import PATIENCE_S, CompletionTurns, TurnFeed
from gateway.web.errors import SERVER, HttpError
from gateway.web.images import ImageCaps
from gateway.web.wire import Completion, Shape, completion, model, models
from workspaces.lazy_pattern import lazy_pattern

CHAT_HEADER = "x-strandline-chat"
"""Names the conversation; without it the field `user` does."""
KEY_HEADER = "idempotency-key"
DEFAULT_CHAT = "main"
KEEP_ALIVE_S = 15.0
"""Seconds between keep-alives of an idle stream; proxies cut silent ones after 30 or 60 s."""
_PLAIN_NAME = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._@+:-]{0,63}")


class CompletionPages:
    """The pages below `/v1`."""

    def __init__(self, holders: ApiTokens, asking: CompletionTurns, here: frozenset[str], caps: ImageCaps) -> None:
        """*here* are the agents that this gateway runs."""
        self._caps = caps
        self._chats = ChatsOfToday(lambda: datetime.now(UTC).date())
        self._holders = holders
        self._asking = asking
        self._here = here

    def routes(self) -> list[Route]:
        return [
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/models/{name}", self.model),
        ]

    async def models(self, request: Request) -> Response:
        return JSONResponse(models(self._holder(request).agents))

    async def model(self, request: Request) -> Response:
        return JSONResponse(model(_agent_name(request.path_params["name"], self._holder(request))))

    async def complete(self, request: Request) -> Response:
        holder = self._holder(request)
        asked = completion(await request.body(), self._caps)
        if _agent_name(asked.model, holder) not in self._here:
            raise HttpError(503, f"another gateway runs {asked.model!r} now", SERVER, code="agent_elsewhere")
        chat = chat_name(request.headers.get(CHAT_HEADER) or asked.user or DEFAULT_CHAT)
        self._chats.check(holder, asked.model, chat)
        message = self._asking.message(holder.name, chat, asked, request.headers.get(KEY_HEADER))
        shape = Shape(f"chatcmpl-{message.id}", asked.model, int(message.sent_at.timestamp()))
        if asked.stream:
            return await self._stream_response(message, asked, shape)
        return await self._whole(message, shape)

    async def _whole(self, message: InboundMessage, shape: Shape) -> Response:
        with self._asking.listening(message) as heard, _patience():
            await self._asking.take(message)
            async with asyncio.timeout(PATIENCE_S):
                while isinstance(outcome := await heard.get(), str):
                    pass
        text = self._asking.answer(outcome)
        return JSONResponse(shape.whole(text, await self._asking.usage(message, outcome)))

    async def _stream_response(self, message: InboundMessage, asked: Completion, shape: Shape) -> Response:
        events = self._events(message, asked, shape)
        first = await anext(events)  # a refused message has a status of its own

        async def all_of_them() -> AsyncIterator[bytes]:
            yield first
            async for event in events:
                yield event

        return StreamingResponse(all_of_them(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _events(self, message: InboundMessage, asked: Completion, shape: Shape) -> AsyncIterator[bytes]:
        growing = TextDeltas()
        with self._asking.listening(message) as heard:
            await self._asking.take(message)
            yield _event(shape.chunk({"role": "assistant", "content": ""}))
            try:
                deadline = asyncio.get_running_loop().time() + PATIENCE_S
                while isinstance(text := await _next_event(heard, deadline), str):
                    piece = growing.piece(text)
                    yield _event(shape.chunk({"content": piece})) if piece else b": waiting\n\n"
                if piece := growing.piece(self._asking.answer(text)):
                    yield _event(shape.chunk({"content": piece}))
            except HttpError as exc:
                yield _event(exc.body())
                return
        yield _event(shape.chunk({}, finish="stop"))
        if asked.include_usage:
            yield _event(shape.usage_chunk(await self._asking.usage(message, text)))
        yield b"data: [DONE]\n\n"

    def _holder(self, request: Request) -> TokenHolder:
        return self._holders.of_header(request.headers.get("authorization", ""))


async def _next_event(heard: TurnFeed, deadline: float) -> str | Outcome:
    """Return the next event, or an empty text when that takes long. Raises HttpError 504 after the *deadline*."""
    now = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(min(KEEP_ALIVE_S, deadline - now)):
            return await heard.get()
    except TimeoutError:
        if now + KEEP_ALIVE_S < deadline:
            return ""
        raise _too_late() from None


@contextmanager
def _patience() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise _too_late() from None


def _too_late() -> HttpError:
    said = f"no answer within {PATIENCE_S:.0f} seconds; it will appear in the conversation"
    return HttpError(504, said, SERVER, code="answer_outstanding")


def _agent_name(name: str, holder: TokenHolder) -> str:
    if name in holder.agents:
        return name
    near = difflib.get_close_matches(name, holder.agents, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(holder.agents)}"
    raise HttpError(
        404, f"there is no model {name[:80]!r} for this token; {hint}", param="model", code="model_not_found"
    )


def chat_name(given: str) -> str:
    """Return a conversation's name in an address: its own, or a digest of an odd or a long one."""
    if _PLAIN_NAME.fullmatch(given):
        return given
    return f"~{blake2b(given.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _event(data: Mapping[str, object]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"


class TextDeltas:
    """The part of one answer that a client has received.

    A client cannot revoke text that it displayed. Text that a model writes before it calls a tool stays, and the next
    reply begins after an empty line; so does the answer itself if it does not continue the drafts.
    """

    def __init__(self) -> None:
        self._sent = ""
        """The part sent of the current reply."""

    def piece(self, text: str) -> str:
        """Return the new part of *text*, a whole draft or answer.

        Spaces at its ends are held back until more follows.
        """
        whole = text.strip()
        if not whole:
            return ""
        piece = whole.removeprefix(self._sent) if whole.startswith(self._sent) else f"\n\n{whole}"
        self._sent = whole
        return piece
