"""The terminal channel, and the smallest example of an adapter.

A terminal has no platform: its user writes through `say` and reads through `attach`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import NoReturn

from uuid_utils import uuid7

from adapters.channel import Address, Body, ChannelUnavailableError, OutboundMessage, Receive, Sent
from adapters.readers import Readers
from adapters.spoken import CHAT, OWNER, Spoken
from adapters.text import terminal_parts

__all__ = ["CHANNEL", "CHAT", "OWNER", "Sink", "TerminalAdapter"]

Sink = Callable[[OutboundMessage], Awaitable[None]]
"""Shows a message to one reader; raises OSError when that reader is gone."""

CHANNEL = "terminal"
READER_PATIENCE_S = 5.0
"""Time a reader may take for one message before it counts as gone; our choice."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TerminalAdapter:
    """The owner's terminals on this machine: many may be open, and all show the one chat.

    Anyone who can use this machine's terminal as the gateway's own user is the owner.
    """

    channel = CHANNEL

    def __init__(
        self, account: str, *, now: Callable[[], datetime] = _utc_now, patience_s: float = READER_PATIENCE_S
    ) -> None:
        """Take the name of the *account*: a gateway gives each of its agents a terminal."""
        self.account = account
        self._spoken = Spoken(Address(CHANNEL, account, CHAT), now)
        self._readers = Readers[Sink]()
        self._patience_s = patience_s

    async def say(self, text: str) -> str:
        """Send *text* as the owner; return the message's id once it is durable.

        Raises the error of `receive` when it could not be made durable, and ChannelUnavailableError on a closed
        adapter.
        """
        return (await self._spoken.say(text)).id

    def attach(self, sink: Sink) -> AbstractContextManager[None]:
        """Show every message to *sink* while the context is open."""
        return self._readers.attached(sink)

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a reader attaches."""
        self._readers.on_coming(wake)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* with its control characters made harmless."""
        return terminal_parts(markdown)

    async def listen(self, receive: Receive) -> NoReturn:
        """Pass on messages in order; a message interrupted by cancellation is passed on again."""
        await self._spoken.hand_over(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* to every attached reader; a reader that is gone or stuck is dropped.

        Raises ChannelUnavailableError when no reader took it.
        """
        self._spoken.check_open()
        taken = [await self._show(sink, message) for sink in self._readers]
        if not any(taken):
            raise ChannelUnavailableError("no terminal is open")
        return Sent(str(uuid7()))

    async def _show(self, sink: Sink, message: OutboundMessage) -> bool:
        try:
            async with asyncio.timeout(self._patience_s):
                await sink(message)
        except OSError:  # includes TimeoutError
            self._readers.drop(sink)
            return False
        return True

    async def close(self) -> None:
        """Drop all readers and refuse messages not yet passed on."""
        self._readers.clear()
        self._spoken.close()
