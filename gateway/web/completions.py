"""The OpenAI-compatible API: agents are its models, and each request is a message to one of them."""

import asyncio
import difflib
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uuid_utils import uuid7

from adapters.channel import Adapter, Address, ChannelUnavailableError, ChatKind, InboundMessage, Quote, Sender
from adapters.http import CHANNEL, HttpAdapter
from gateway.admission.routing import Routes, route
from gateway.agent.entries import ReplyEntry, Usage
from gateway.errors import StoreError
from gateway.inbound.outcomes import Outcome, Outcomes
from gateway.runtime.bounded_dict import BoundedDict
from gateway.transcripts.store import Sessions
from gateway.turns.presence import Presence
from gateway.web.api_tokens import ApiTokens, ChatsOfToday, TokenHolder
from gateway.web.deltas import Growing
from gateway.web.errors import NOT_TAKEN, PERMISSION, SERVER, HttpError
from gateway.web.wire import Completion, ImageCaps, Shape, completion, model, models

PATIENCE_S = 600.0
"""Seconds that a client waits for an answer: as long as OpenAI's client does."""
SYSTEM_AUTHOR = "what the program is set to say first"
PREFACES = 1_000
"""Chats whose program's preface is remembered; the oldest are evicted, and get the preface once more."""
WAITING = 20
"""Drafts delivered one by one to a program that reads slower than the model writes."""


class Prefaces:
    """The text that the program of each chat sends before everything else: passed to the agent when new, not each
    time."""

    def __init__(self) -> None:
        self._told: BoundedDict[Address, str] = BoundedDict(PREFACES)
        """Digests: a preface may be very long."""

    def new(self, address: Address, text: str) -> Quote | None:
        """Return *text* as a quote of the program; `None` if unchanged since the last time."""
        digest = _digest(text)
        was_told = self._told.get(address) == digest
        self._told[address] = digest
        return None if was_told or not text.strip() else Quote(SYSTEM_AUTHOR, text, is_ours=True)


class TurnFeed:
    """The events of a turn not read yet; a slow reader finds the newest draft waiting, not each one."""

    def __init__(self) -> None:
        self._waiting: deque[str | Outcome] = deque()
        self._comes = asyncio.Event()

    def draft(self, text: str) -> None:
        """Add the whole draft so far; when many wait, it replaces the latest if it continues that one."""
        if len(self._waiting) >= WAITING:
            before = self._waiting[-1]
            if isinstance(before, str) and text.startswith(before):
                self._waiting.pop()
        self._waiting.append(text)
        self._comes.set()

    def outcome(self, outcome: Outcome) -> None:
        """Add the outcome that the turn committed."""
        self._waiting.append(outcome)
        self._comes.set()

    async def get(self) -> str | Outcome:
        """Return the next event once there is one."""
        while not self._waiting:
            self._comes.clear()
            await self._comes.wait()
        return self._waiting.popleft()


@dataclass(frozen=True, slots=True)
class Asking:
    """Sends messages to agents on behalf of token holders."""

    routes: Routes
    adapters: Mapping[tuple[str, str], Adapter]
    """Loaded adapters, by channel and account."""
    outcomes: Outcomes
    presence: Presence
    sessions: Sessions
    prefaces: Prefaces

    def message(self, account: str, chat: str, asked: Completion, key: str | None) -> InboundMessage:
        """Return the request as a message; the same *key* in the same chat is the same message."""
        address = Address(CHANNEL, account, chat, asked.model)
        return InboundMessage(
            address,
            _digest(f"{address}\0{key}") if key else str(uuid7()),
            Sender(account, account),
            ChatKind.DIRECT,
            asked.text,
            is_for_us=True,
            sent_at=datetime.now(UTC),
            quote=self.prefaces.new(address, asked.system),
            attachments=asked.images,
        )

    async def take(self, message: InboundMessage) -> None:
        """Make *message* durable. Raises HttpError if it is refused, or cannot be stored now."""
        adapter = self.adapters.get((message.address.channel, message.address.account))
        try:
            if not isinstance(adapter, HttpAdapter):
                raise ChannelUnavailableError("the gateway is starting")
            refusal = await adapter.take(message)
        except (ChannelUnavailableError, StoreError) as exc:
            raise HttpError(503, f"not accepted: {exc}; ask again", SERVER, code=NOT_TAKEN) from exc
        if refusal is not None:
            raise HttpError(403, f"refused: {refusal}", PERMISSION, code=refusal)

    @contextmanager
    def listening(self, message: InboundMessage) -> Iterator[TurnFeed]:
        """Yield the events of the turn of *message*: drafts, then its committed outcome."""
        heard = TurnFeed()

        def on_draft(message_id: str, text: str) -> None:
            if message_id == message.id:
                heard.draft(text)

        with (
            self.presence.follow(message.address, on_draft),
            self.outcomes.awaited(message.id, heard.outcome),
        ):
            yield heard

    def answer(self, outcome: Outcome) -> str:
        """Return the answer that a turn committed. Raises HttpError if it must wait."""
        if any(reply.is_notice for reply in outcome):
            raise HttpError(503, _outcome_text(outcome), SERVER, code="postponed")
        return _outcome_text(outcome)

    async def usage(self, message: InboundMessage, outcome: Outcome) -> Usage:
        """Return the turn's usage, as far as the provider reported it; nothing for a silent one."""
        transcript = await self.sessions.open(route(message, self.routes).key)
        turns = {reply.turn_id for reply in outcome}
        replies = [record.entry for record in transcript.records if record.turn_id in turns]
        usages = [entry.usage for entry in replies if isinstance(entry, ReplyEntry)]
        return Usage(
            sum(each.input_tokens for each in usages),
            sum(each.output_tokens for each in usages),
            sum(each.cached_tokens for each in usages),
        )


def _outcome_text(outcome: Outcome) -> str:
    return "\n\n".join(reply.outgoing.text for reply in outcome)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


CHAT_HEADER = "x-strandline-chat"
"""Names the conversation; without it the field `user` does."""
KEY_HEADER = "idempotency-key"
DEFAULT_CHAT = "main"
KEEP_ALIVE_S = 15.0
"""Seconds between keep-alives of an idle stream; proxies cut silent ones after 30 or 60 s."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+:-]{0,63}")


class CompletionPages:
    """The pages below `/v1`."""

    def __init__(self, holders: ApiTokens, asking: Asking, here: frozenset[str], caps: ImageCaps) -> None:
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
        growing = Growing()
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
