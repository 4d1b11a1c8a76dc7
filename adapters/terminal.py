"""This file is the terminal channel, and the smallest example of an adapter.

A terminal has no platform: whoever starts one says things through `say` and reads what comes back through `attach`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from uuid_utils import uuid7

from adapters.channel import (
    Address,
    Body,
    ChannelUnavailableError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sender,
    Sent,
)
from adapters.text import terminal_parts

Sink = Callable[[OutboundMessage], Awaitable[None]]
"""Shows a message to one reader; raises OSError when that reader is gone."""

OWNER = Sender(id="0", name="owner")
"""Whoever can use this machine's terminal as the gateway's own user; a terminal has no other people."""
CHANNEL = "terminal"
CHAT = "owner"
READER_PATIENCE_S = 5.0
"""How long a reader may take over one message before it counts as gone; our choice."""


@dataclass(frozen=True, slots=True)
class _Said:
    message: InboundMessage
    durable: asyncio.Future[None]


def _now() -> datetime:
    return datetime.now(UTC)


class TerminalAdapter:
    """The owner's terminals on this machine: many may be open, all show the one chat."""

    channel = CHANNEL

    def __init__(
        self, account: str, *, now: Callable[[], datetime] = _now, patience_s: float = READER_PATIENCE_S
    ) -> None:
        """Take the name of the *account*: a gateway gives each of its agents a terminal."""
        self.account = account
        self._address = Address(CHANNEL, account, CHAT)
        self._now = now
        self._patience_s = patience_s
        self._said: asyncio.Queue[_Said] = asyncio.Queue()
        self._serving: _Said | None = None
        self._sinks: list[Sink] = []
        self._wakes: list[Callable[[], None]] = []
        self._closed = False

    async def say(self, text: str) -> str:
        """Say *text* as the owner; return the message's id once it is durable.

        Raises what `receive` raised when it could not be made so, and ChannelUnavailableError on a closed adapter.
        """
        self._check_open()
        message = InboundMessage(
            self._address, str(uuid7()), OWNER, ChatKind.DIRECT, text, is_for_us=True, sent_at=self._now()
        )
        said = _Said(message, asyncio.get_running_loop().create_future())
        self._said.put_nowait(said)
        await said.durable
        return message.id

    @contextmanager
    def attach(self, sink: Sink) -> Iterator[None]:
        """Show every message to *sink* as long as the context is open."""
        self._sinks.append(sink)
        for wake in self._wakes:
            wake()
        try:
            yield
        finally:
            self._drop(sink)

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a reader attaches."""
        self._wakes.append(wake)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as it is, its control characters made harmless."""
        return terminal_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Hand over what is said, in order; what was being handed over when we were cancelled comes again."""
        while True:
            self._serving = self._serving or await self._said.get()
            await self._serve(self._serving, receive)
            self._serving = None

    async def _serve(self, said: _Said, receive: Receive) -> None:
        if said.durable.cancelled():
            return
        try:
            await receive(said.message)
        except Exception as exc:
            self._serving = None
            _settle(said.durable, exc)
            raise
        _settle(said.durable)

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* to everybody attached; a reader that is gone or stuck is dropped.

        Raises ChannelUnavailableError when nobody took it.
        """
        self._check_open()
        taken = [await self._show(sink, message) for sink in tuple(self._sinks)]
        if not any(taken):
            raise ChannelUnavailableError("no terminal is open")
        return Sent(str(uuid7()))

    async def _show(self, sink: Sink, message: OutboundMessage) -> bool:
        try:
            async with asyncio.timeout(self._patience_s):
                await sink(message)
        except OSError:  # TimeoutError is one
            self._drop(sink)
            return False
        return True

    def _drop(self, sink: Sink) -> None:
        if sink in self._sinks:
            self._sinks.remove(sink)

    async def close(self) -> None:
        """Part from all readers and refuse what was said and not yet handed over."""
        self._closed = True
        self._sinks.clear()
        waiting = [self._serving] if self._serving else []
        while not self._said.empty():
            waiting.append(self._said.get_nowait())
        for said in waiting:
            _settle(said.durable, ChannelUnavailableError("the terminal channel was closed"))

    def _check_open(self) -> None:
        if self._closed:
            raise ChannelUnavailableError("the terminal channel is closed")


def _settle(durable: asyncio.Future[None], error: Exception | None = None) -> None:
    """Tell who waits in `say`, unless they went away."""
    if durable.done():
        return
    if error is None:
        durable.set_result(None)
    else:
        durable.set_exception(error)
