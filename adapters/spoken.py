"""The owner's input where no platform is involved: at a terminal or on the page.

The sender waits until a message is durable. Messages are passed on in order, one after another.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from uuid_utils import uuid7

from adapters.channel import Address, ChannelUnavailableError, ChatKind, InboundMessage, Receive, Sender

CHAT = "owner"
OWNER = Sender(id="0", name="owner")
"""The only person on such a channel: nobody else can write there."""


@dataclass(frozen=True, slots=True)
class _SpokenText:
    message: InboundMessage
    durable: asyncio.Future[str | None]
    """Result: the reason for a refusal, if it was refused."""


class Spoken:
    """Messages written in one chat and not yet durable."""

    def __init__(self, address: Address, now: Callable[[], datetime]) -> None:
        self._address = address
        self._now = now
        self._said: asyncio.Queue[_SpokenText] = asyncio.Queue()
        self._serving: _SpokenText | None = None
        self._is_closed = False

    async def say(self, text: str, message_id: str = "") -> InboundMessage:
        """Send *text* as the owner; return the message once it is durable.

        Two calls with the same *message_id* send one message. Raises the error of `receive` when the message could not
        be made durable, and ChannelUnavailableError when it is refused or the channel closed.
        """
        self.check_open()
        id_ = message_id or str(uuid7())
        message = InboundMessage(self._address, id_, OWNER, ChatKind.DIRECT, text, is_for_us=True, sent_at=self._now())
        said = _SpokenText(message, asyncio.get_running_loop().create_future())
        self._said.put_nowait(said)
        if refusal := await said.durable:
            raise ChannelUnavailableError(f"refused: {refusal}")
        return message

    async def hand_over(self, receive: Receive) -> NoReturn:
        """Pass on messages in order; a message interrupted by cancellation is passed on again."""
        while True:
            self._serving = self._serving or await self._said.get()
            await self._serve(self._serving, receive)
            self._serving = None

    async def _serve(self, said: _SpokenText, receive: Receive) -> None:
        if said.durable.cancelled():
            return
        try:
            refusal = await receive(said.message)
        except Exception as exc:
            self._serving = None
            if not said.durable.done():
                said.durable.set_exception(exc)
            raise
        if not said.durable.done():  # otherwise its sender has gone
            said.durable.set_result(refusal)

    def close(self) -> None:
        """Refuse messages not yet passed on, and all later ones."""
        self._is_closed = True
        waiting = [self._serving] if self._serving else []
        while not self._said.empty():
            waiting.append(self._said.get_nowait())
        for said in waiting:
            if not said.durable.done():
                said.durable.set_exception(self._closed())

    def check_open(self) -> None:
        """Raise ChannelUnavailableError if this is closed."""
        if self._is_closed:
            raise self._closed()

    def _closed(self) -> ChannelUnavailableError:
        return ChannelUnavailableError(f"the {self._address.channel} channel is closed")
