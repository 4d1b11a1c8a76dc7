"""The channel of the owner's page: one chat per agent, shown by any number of open pages.

Recent messages and answers have increasing numbers, so that a page that lost its connection requests the events after
its last one. Numbering restarts with the process: older events are in the conversation.
"""

import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum, StrEnum

from msgspec import Struct

from adapters.channel import (
    Address,
    Attachment,
    Body,
    Button,
    ChannelUnavailableError,
    OutboundMessage,
    Sent,
)
from adapters.embedded_files import embedded_content
from adapters.spoken import CHAT, OwnerChannel

CHANNEL = "web"
REMEMBERED = 200
"""Events that a page can request again."""


class PageEventKind(StrEnum):
    SAID = "said"
    ANSWER = "answer"


class PageMessage(Struct, frozen=True):
    """A message or an answer, as shown by a page."""

    kind: PageEventKind
    text: str
    at: datetime
    turn: str
    """Turn id of an answer, as in the conversation's records; for messages, their marks."""
    buttons: tuple[Button, ...] = ()


class PageEvent(Struct, frozen=True):
    """An event of the running gateway."""

    number: int
    told: PageMessage


class Sign(Enum):
    """A temporary sign on a page."""

    WRITING = "writing"
    """An answer is on its way, without readable text so far."""


Reader = Callable[[PageEvent | Sign | None], None]
"""Called with each event, synchronously and in the event loop; `None` is the end."""


class WebAdapter(OwnerChannel[Reader]):
    """The open pages of one agent; a signed-in user is its owner."""

    channel = CHANNEL
    links_files = True

    def __init__(self, account: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Take the name of the *account*: a gateway gives each of its agents one."""
        super().__init__(Address(CHANNEL, account, CHAT), now)
        self.epoch = secrets.token_hex(4)
        """Identifies the process that the numbers belong to."""
        self._recent: deque[PageEvent] = deque(maxlen=REMEMBERED)
        self._count = 0
        self.has_unread = False
        """Whether a message waits for a page to be opened."""
        self._watchers: list[Callable[[], None]] = []

    @property
    def readers(self) -> int:
        """Number of open pages."""
        return len(self._readers)

    def since(self, epoch: str, number: int) -> Sequence[PageEvent] | None:
        """Return the events after *number*; `None` if they are no longer known."""
        oldest = self._recent[0].number if self._recent else self._count + 1
        if epoch != self.epoch or not oldest - 1 <= number <= self._count:
            return None
        return [event for event in self._recent if event.number > number]

    @property
    def recent(self) -> Sequence[PageMessage]:
        """Recent messages and answers, oldest first."""
        return [event.told for event in self._recent]

    @property
    def latest(self) -> int:
        """The number of the newest event."""
        return self._count

    @contextmanager
    def attach(self, reader: Reader) -> Iterator[None]:
        """Show everything to *reader* until the block ends; waiting messages are sent now."""
        self._note_unread(False)
        with super().attach(reader):
            yield

    @contextmanager
    def watch(self, look: Callable[[], None]) -> Iterator[None]:
        """Call *look* until the block ends, whenever `has_unread` changes."""
        self._watchers.append(look)
        try:
            yield
        finally:
            self._watchers.remove(look)

    def _note_unread(self, has_unread: bool) -> None:
        self.has_unread = has_unread
        for look in tuple(self._watchers):
            look()

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content of *attachment*, which is a data URI. Raises FetchRefusedError for any other."""
        return embedded_content(attachment)

    def render(self, markdown: str) -> Sequence[Body]:
        """Return *markdown* unchanged: a page has no limit, and its server renders safe HTML."""
        return [Body(markdown)] if markdown.strip() else []

    async def send(self, message: OutboundMessage) -> Sent:
        """Show *message* on every open page. Raises ChannelUnavailableError when there is none."""
        self._check_open()
        if not self._readers:
            self._note_unread(True)
            raise ChannelUnavailableError("no page is open")
        told = PageMessage(PageEventKind.ANSWER, message.body.text, self._now(), message.turn, message.buttons)
        return Sent(str(self.tell(told)))

    async def show_typing(self, _: Address) -> None:
        """Show once, on every open page, that an answer is on its way; the sign expires by itself."""
        for reader in tuple(self._readers):
            reader(Sign.WRITING)

    def tell(self, told: PageMessage) -> int:
        """Show an event of the chat on every open or returning page; return its number.

        An event is shown once, however often this is called with it.
        """
        for known in self._recent if told.turn else ():
            if known.told.turn == told.turn and _is_same(known.told, told):
                return known.number
        self._count += 1
        event = PageEvent(self._count, told)
        self._recent.append(event)
        for reader in tuple(self._readers):
            reader(event)
        return event.number

    async def close(self) -> None:
        """Drop all pages and refuse messages not yet passed on."""
        self.end()
        await super().close()

    def end(self) -> None:
        """Tell every page that the channel ends."""
        for reader in tuple(self._readers):
            reader(None)


def _is_same(one: PageMessage, other: PageMessage) -> bool:
    """Tell whether both, of one turn, are the same message, or the same part of an answer, received twice.

    Only its last part has buttons; one that is delivered late begins with another text.
    """
    return one.kind is other.kind and (
        one.kind is PageEventKind.SAID or one.text == other.text or bool(one.buttons and one.buttons == other.buttons)
    )
