"""In-memory chat platform with scripted faults."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from adapters.channel import (
    Address,
    Body,
    ChannelError,
    ChatKind,
    InboundMessage,
    OutboundMessage,
    Receive,
    Sender,
    Sent,
    UnsureSendError,
)


@dataclass(frozen=True, slots=True)
class LostReceipt:
    """The platform accepts the message, and the connection breaks before it confirms."""


Fault = ChannelError | LostReceipt


def message(text: str, *, chat: str = "alice", id: str, channel: str = "fake", account: str = "home") -> InboundMessage:  # noqa: A002  # reads as the field does
    """Return a direct message from *chat*."""
    return InboundMessage(
        address=Address(channel, account, chat),
        id=id,
        sender=Sender(id=chat, name=chat.title()),
        kind=ChatKind.DIRECT,
        text=text,
        is_for_us=True,
        sent_at=datetime(2026, 3, 1, 14, 4, tzinfo=UTC),
    )


@dataclass
class FakeAdapter:
    """Implements `Adapter`. `taken` holds the accepted messages, confirmed or not."""

    channel: str = "fake"
    account: str = "home"
    text_limit: int = 40
    taken: list[OutboundMessage] = field(default_factory=list)
    faults: dict[str, list[Fault | None]] = field(default_factory=lambda: defaultdict(list))
    """By chat: the fault of each future send, `None` for success; a send beyond the script succeeds."""
    on_send: Callable[[OutboundMessage], None] | None = None
    """Called at the start of each send: to inspect state, or to simulate a crash."""

    def __post_init__(self) -> None:
        self._inbound: asyncio.Queue[InboundMessage] = asyncio.Queue()
        self._ids = 0
        self._changed = asyncio.Condition()
        self._stuck: dict[str, asyncio.Event] = {}
        self.tries: list[OutboundMessage] = []

    def says(self, text: str, chat: str = "alice") -> InboundMessage:
        """Send *text* as the person of *chat*."""
        self._ids += 1
        said = message(text, chat=chat, id=str(self._ids), channel=self.channel, account=self.account)
        self._inbound.put_nowait(said)
        return said

    def stick(self, chat: str) -> asyncio.Event:
        """Make every send to *chat* hang until the returned event is set."""
        return self._stuck.setdefault(chat, asyncio.Event())

    def texts(self, chat: str | None = None) -> list[str]:
        """Return the accepted texts, of *chat* or of all, in order."""
        return [each.body.text for each in self.taken if chat in (None, each.address.chat)]

    async def tried(self, count: int) -> None:
        """Return once *count* sends have started."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.tries) >= count)

    async def took(self, count: int) -> None:
        """Return once the platform has accepted *count* messages."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.taken) >= count)

    def render(self, markdown: str) -> Sequence[Body]:
        text = markdown.strip()
        return [Body(text[start : start + self.text_limit]) for start in range(0, len(text), self.text_limit)]

    async def listen(self, receive: Receive) -> None:
        while True:
            await receive(await self._inbound.get())

    async def send(self, message: OutboundMessage) -> Sent:
        self.tries.append(message)
        await self._tell()
        if self.on_send:
            self.on_send(message)
        if message.address.chat in self._stuck:
            await self._stuck[message.address.chat].wait()
        script = self.faults[message.address.chat]
        fault = script.pop(0) if script else None
        if isinstance(fault, ChannelError):
            raise fault
        self.taken.append(message)
        await self._tell()
        if isinstance(fault, LostReceipt):
            raise UnsureSendError("the connection broke")
        return Sent(f"m{len(self.taken)}")

    async def close(self) -> None:
        self._inbound = asyncio.Queue()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
