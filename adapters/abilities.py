"""This file holds what an adapter may be able to do beside hearing and sending: a small protocol each."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from adapters.channel import (
    Address,
    Attachment,
    Receive,
)


class Keeps(Protocol):
    """Where an adapter keeps a few words from one run to the next; no message text."""

    async def get(self, key: str) -> str | None:
        """Return what was kept under *key*."""

    async def put(self, key: str, value: str) -> None:
        """Keep *value* under *key*; on return it is durable."""


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel that can show that an answer is being written."""

    async def show_typing(self, address: Address) -> None:
        """Show the sign once; it fades by itself. Raises ChannelError."""


@runtime_checkable
class ShowsDrafts(Protocol):
    """A channel that can show an answer while it is being written, and shows it nowhere once that is over."""

    async def show_draft(self, address: Address, text: str) -> None:
        """Show *text* in place of the last draft there; it fades by itself. Raises ChannelError."""


@runtime_checkable
class Reacts(Protocol):
    """A channel where we can put a sign on somebody's message."""

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Put *emoji* on the message in place of our last one there; empty takes it away. Raises ChannelError."""


@runtime_checkable
class SendsFiles(Protocol):
    """A channel that takes a `Body` with an `upload`; any other is told of the file in words."""

    upload_limit: int
    """Largest file, in bytes, that the platform takes from us."""
    caption_limit: int
    """Longest text, in UTF-16 units, that goes with a file; a longer one is a message of its own before it."""


@runtime_checkable
class FetchesFiles(Protocol):
    """A channel whose messages may carry files."""

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content of *attachment* in pieces of at most 64 KiB.

        Raises ChannelUnavailableError where another try may help, and FetchRefusedError where none does.
        """


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command as a platform's own menu shows it."""

    name: str
    """Lower case letters, digits, underscores, at most 32."""
    usage: str
    """What may follow it; empty if nothing does."""
    help: str
    for_owner: bool
    """It is of use to the owner's Persons only."""


@runtime_checkable
class HasMenu(Protocol):
    """A channel with a menu of commands of its own."""

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        """Make the menu hold *entries*; *owners* are the owner's ids on this platform. Raises ChannelError."""


@runtime_checkable
class TakesUpdates(Protocol):
    """A channel whose platform may bring its updates to us by HTTP (a webhook), while `listen` waits.

    With several gateways one of them listens, and any of them may be asked to take.
    """

    async def take(self, secret: str, body: bytes, receive: Receive) -> int:
        """Take one request, and return the HTTP status to answer with: 200 only once all in it is durable.

        404 says that the account takes none (it polls). What *receive* raises passes through: answer 503 then, so
        that the platform brings it again.
        """


@runtime_checkable
class Moves(Protocol):
    """A channel whose chats may get another id; the conversation goes on under the id that it had."""

    def on_moved(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with the address of a chat that moved and the chat's new id, each time one is met."""


@runtime_checkable
class Misses(Protocol):
    """A channel that fetches what was said while we were away, as far back as it is set to."""

    def on_missed(self, tell: Callable[[Address, datetime], Awaitable[None]]) -> None:
        """Call *tell* from now on with the address of a chat where more was said, and until when all was heard.

        It may be called with several chats of the same moment: whoever tells people says it once.
        """


@runtime_checkable
class Examines(Protocol):
    """A channel that can be asked how its account is set up, without listening."""

    async def examine(self) -> Sequence[str]:
        """Return what keeps the account from working as it should, each with how to mend it. Raises ChannelError."""


@runtime_checkable
class Wakes(Protocol):
    """A channel whose readers come and go: replies wait for them and need not wait for the next try."""

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* from now on, at once and in the adapter's event loop, whenever somebody begins to read."""
