"""Internal channel that delivers a subagent's result to the conversation that asked for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from adapters.channel import Body, ChannelUnavailableError, InboundMessage, OutboundMessage, Receive, Sent
from gateway.admission.internal_channels import SUBAGENT
from gateway.automation.subagents import result_message
from gateway.errors import StoreError


class ResultChannel:
    """Adapter of one agent's subagents: a message sent here becomes one for their parent."""

    channel = SUBAGENT

    def __init__(
        self, account: str, enter: Callable[[InboundMessage], Awaitable[bool]], now: Callable[[], datetime]
    ) -> None:
        """*enter* stores the message durably, and only once."""
        self.account = account
        self._enter = enter
        self._now = now

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* unchanged: a model reads it."""
        return [Body(markdown)]

    async def listen(self, receive: Receive) -> None:
        """Receive nothing: subagents answer by the outbox."""
        await asyncio.Event().wait()

    async def send(self, message: OutboundMessage) -> Sent:
        """Store the result; repeated calls have no effect. Raises ChannelUnavailableError."""
        try:
            await self._enter(result_message(message.address, message.turn, message.body.text, self._now()))
        except StoreError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        return Sent(message.turn)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
