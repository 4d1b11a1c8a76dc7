"""Sends an API client's message to an agent, and receives the drafts and the outcome of its turn."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b

from msgspec import Struct
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
from gateway.web.errors import NOT_TAKEN, PERMISSION, SERVER, HttpError
from gateway.web.wire import Completion

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
        """Return *text* as a quote of the program; `None` if unchanged since it was last told."""
        was_told = self._told.get(address) == _digest(text)
        return None if was_told or not text.strip() else Quote(SYSTEM_AUTHOR, text, is_ours=True)

    def told(self, message: InboundMessage) -> None:
        """Note that *message*, with what it quotes of its program, is durable."""
        if message.quote is not None:
            self._told[message.address] = _digest(message.quote.text)


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


class CompletionTurns(Struct, frozen=True):
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
        self.prefaces.told(message)

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
