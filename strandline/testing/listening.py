"""The gateway's side of an adapter: a recording receiver, and a listener around a block."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.channel import Adapter, InboundMessage, Receive
from strandline.testing.patience import PATIENCE_S


class Received:
    """A `receive` that stores its messages."""

    def __init__(self, *, hold: bool = False) -> None:
        self.messages: list[InboundMessage] = []
        """Messages for which it has returned."""
        self.offered: list[InboundMessage] = []
        """All messages passed to it."""
        self.most_at_once = 0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        """With *hold*, every message waits for this event."""
        if not hold:
            self.go_on.set()
        self._changed = asyncio.Condition()

    async def __call__(self, message: InboundMessage) -> None:
        self.offered.append(message)
        self.most_at_once = max(self.most_at_once, len(self.offered) - len(self.messages))
        self.begun.set()
        await self.go_on.wait()
        async with self._changed:
            self.messages.append(message)
            self._changed.notify_all()

    @property
    def texts(self) -> list[str]:
        """Texts of the messages."""
        return [message.text for message in self.messages]

    async def wait_for(self, number: int) -> list[InboundMessage]:
        """Wait until this number of messages has arrived in total. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= number)
        return self.messages

    async def hear(self, text: str) -> None:
        """Wait until *text* has arrived. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: text in self.texts)


@asynccontextmanager
async def listening(adapter: Adapter, receive: Receive) -> AsyncIterator[asyncio.Task[None]]:
    """Listen while the block runs."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(adapter.listen(receive))
        try:
            yield task
        finally:
            task.cancel()
