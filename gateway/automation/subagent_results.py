"""This file is the inner channel by which a helper's result comes into the conversation that asked for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from adapters.channel import Body, ChannelUnavailableError, InboundMessage, OutboundMessage, Receive, Sent
from gateway.admission.internal_channels import HELPER
from gateway.automation.subagents import result_message
from gateway.errors import StoreError


class ResultChannel:
    """The helpers of one agent, as an adapter: what is sent here is a message for their parent."""

    channel = HELPER

    def __init__(
        self, account: str, enter: Callable[[InboundMessage], Awaitable[bool]], now: Callable[[], datetime]
    ) -> None:
        """*enter* takes the message in durably, and only once."""
        self.account = account
        self._enter = enter
        self._now = now

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* as it is: a model reads it."""
        return [Body(markdown)]

    async def listen(self, receive: Receive) -> None:
        """Hear nothing: helpers answer by the outbox."""
        await asyncio.Event().wait()

    async def send(self, message: OutboundMessage) -> Sent:
        """Take the result in; sent again, it is known. Raises ChannelUnavailableError."""
        try:
            await self._enter(result_message(message.address, message.turn, message.body.text, self._now()))
        except StoreError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        return Sent(message.turn)

    async def close(self) -> None:
        """Nothing to release."""
