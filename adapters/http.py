"""The HTTP channel for programs: each sends a request and waits for the answer on it.

A token is an account; its chats are the conversations that its programs name. The HTTP server is elsewhere: it calls
`take` and learns the outcome of a message from the gateway. An answer whose client has disconnected stays in the
conversation.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from uuid_utils import uuid7

from adapters.channel import (
    Attachment,
    Body,
    ChannelUnavailableError,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sent,
)
from adapters.embedded_files import embedded_content

CHANNEL = "http"


class HttpAdapter:
    """The programs that share one token."""

    channel = CHANNEL

    def __init__(self, account: str) -> None:
        self.account = account
        self._receive: Receive | None = None
        self._is_closed = False

    async def take(self, message: InboundMessage) -> str | None:
        """Pass *message* on; on return it is durable, or refused for the returned reason.

        Calls may overlap. Raises ChannelUnavailableError while the gateway does not listen, and the gateway's own error
        when it cannot store the message.
        """
        if self._receive is None:
            raise ChannelUnavailableError("the gateway accepts no messages right now")
        return await self._receive(message)

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content of *attachment*, which is a data URI. Raises FetchRefusedError for any other."""
        return embedded_content(attachment)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* unchanged: a program has no limit and a format of its own."""
        return [Body(markdown)] if markdown.strip() else []

    async def listen(self, receive: Receive) -> None:
        """Let messages through to *receive* until cancelled."""
        self._receive = receive
        try:
            await asyncio.Event().wait()
        finally:
            self._receive = None

    async def send(self, _: OutboundMessage) -> Sent:
        """Confirm the message: a waiting client was answered when its turn was committed.

        Raises ChannelUnavailableError on a closed adapter.
        """
        if self._is_closed:
            raise ChannelUnavailableError("the http channel is closed")
        return Sent(str(uuid7()))

    async def close(self) -> None:
        """Refuse new messages from now on."""
        self._receive, self._is_closed = None, True
