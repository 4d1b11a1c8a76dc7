"""The owner's chat where no platform is involved: at a terminal or on the page.

The sender waits until a message is durable. Messages are passed on in order, one after another.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Generic, NoReturn, TypeVar

from msgspec import Struct
from uuid_utils import uuid7

from adapters.channel import Address, Attachment, ChannelUnavailableError, ChatKind, InboundMessage, Receive, Sender

CHAT = "owner"
OWNER = Sender(id="0", name="owner")
"""The only person on such a channel: nobody else can write there."""

R = TypeVar("R")


class _SpokenText(Struct, frozen=True):
    message: InboundMessage
    durable: asyncio.Future[str | None]
    """Result: the reason for a refusal, if it was refused."""


class OwnerChannel(Generic[R]):
    """One chat: its messages that are not yet durable, and its readers, of whom there may be any number, or none."""

    def __init__(self, address: Address, now: Callable[[], datetime]) -> None:
        self.account = address.account
        self.address = address
        self._now = now
        self._said: asyncio.Queue[_SpokenText] = asyncio.Queue()
        self._serving: _SpokenText | None = None
        self._is_closed = False
        self._readers: list[R] = []
        self._wakes: list[Callable[[], None]] = []

    async def say(self, text: str, message_id: str = "", attachments: tuple[Attachment, ...] = ()) -> InboundMessage:
        """Send *text* and *attachments* as the owner; return the message once it is durable.

        Two calls with the same *message_id* send one message: a page that does not know whether one arrived sends it
        again. Raises the error of `receive` when the message could not be made durable, and ChannelUnavailableError
        when it is refused or the channel closed.
        """
        self._check_open()
        id_ = message_id or str(uuid7())
        message = InboundMessage(
            self.address,
            id_,
            OWNER,
            ChatKind.DIRECT,
            text,
            is_for_us=True,
            sent_at=self._now(),
            attachments=attachments,
        )
        said = _SpokenText(message, asyncio.get_running_loop().create_future())
        self._said.put_nowait(said)
        if refusal := await said.durable:
            raise ChannelUnavailableError(f"refused: {refusal}")
        return message

    @contextmanager
    def attach(self, reader: R) -> Iterator[None]:
        """Show everything to *reader* until the block ends, or until it is dropped; waiting messages are sent now."""
        self._readers.append(reader)
        for wake in self._wakes:
            wake()
        try:
            yield
        finally:
            self._drop(reader)

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a reader has attached."""
        self._wakes.append(wake)

    async def listen(self, receive: Receive) -> NoReturn:
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

    async def close(self) -> None:
        """Drop all readers, and refuse messages not yet passed on and all later ones."""
        self._readers.clear()
        self._is_closed = True
        waiting = [self._serving] if self._serving else []
        while not self._said.empty():
            waiting.append(self._said.get_nowait())
        for said in waiting:
            if not said.durable.done():
                said.durable.set_exception(self._closed())

    def _drop(self, reader: R) -> None:
        if reader in self._readers:
            self._readers.remove(reader)

    def _check_open(self) -> None:
        if self._is_closed:
            raise self._closed()

    def _closed(self) -> ChannelUnavailableError:
        return ChannelUnavailableError(f"the {self.address.channel} channel is closed")
