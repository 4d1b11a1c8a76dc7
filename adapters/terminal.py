"""The terminal channel, and the smallest example of an adapter.

A terminal has no platform: its user writes through `say` and reads through `attach`.
"""

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from uuid_utils import uuid7

from adapters.channel import Address, Body, ChannelUnavailableError, OutboundMessage, Sent
from adapters.formatting.split import valid_unicode
from adapters.spoken import CHAT, OwnerChannel

Sink = Callable[[OutboundMessage], Awaitable[None]]
"""Shows a message to one reader; raises OSError when that reader is gone."""

CHANNEL = "terminal"
READER_PATIENCE_S = 5.0
"""Time a reader may take for one message before it counts as gone; our choice."""


class TerminalAdapter(OwnerChannel[Sink]):
    """The owner's terminals on this machine: many may be open, and all show the one chat.

    Anyone who can use this machine's terminal as the gateway's own user is the owner.
    """

    channel = CHANNEL

    def __init__(
        self,
        account: str,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        patience_s: float = READER_PATIENCE_S,
    ) -> None:
        """Take the name of the *account*: a gateway gives each of its agents a terminal."""
        super().__init__(Address(CHANNEL, account, CHAT), now)
        self._patience_s = patience_s

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* with its control characters made harmless."""
        return terminal_parts(markdown)

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* to every attached reader; a reader that is gone or stuck is dropped.

        Raises ChannelUnavailableError when no reader took it.
        """
        self._check_open()
        taken = [await self._show(sink, message) for sink in tuple(self._readers)]
        if not any(taken):
            raise ChannelUnavailableError("no terminal is open")
        return Sent(str(uuid7()))

    async def _show(self, sink: Sink, message: OutboundMessage) -> bool:
        try:
            async with asyncio.timeout(self._patience_s):
                await sink(message)
        except OSError:  # includes TimeoutError
            self._drop(sink)
            return False
        return True


def terminal_parts(markdown: str) -> tuple[Body, ...]:
    """Return *markdown* as one unchanged body; none for blank text.

    Markdown is readable as plain text. Control characters become visible signs: a text must not be able to move the
    cursor, set the clipboard or rename the window of the terminal.
    """
    text = "".join(map(_visible, valid_unicode(markdown)))
    return (Body(text),) if text.strip() else ()


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) != "Cc":
        return character
    code = ord(character)
    return "␡" if code == 0x7F else chr(0x2400 + code) if code < 0x20 else "\ufffd"
