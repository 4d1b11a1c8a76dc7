"""Optional adapter abilities beyond receiving and sending, one small protocol each."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct

from adapters.channel import (
    Address,
    Attachment,
    Receive,
    Sender,
)


class Keeps(Protocol):
    """Storage in which an adapter keeps small values between runs; never message text."""

    async def get(self, key: str) -> str | None:
        """Return the value stored under *key*."""

    async def put(self, key: str, value: str) -> None:
        """Store *value* under *key*; on return it is durable."""


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel with a typing indicator."""

    async def show_typing(self, address: Address) -> None:
        """Show the indicator once; it expires by itself. Raises ChannelError."""


@runtime_checkable
class ShowsDrafts(Protocol):
    """A channel that can show an answer while it is being written and leaves no trace of it afterwards."""

    async def show_draft(self, address: Address, text: str) -> None:
        """Replace the previous draft there with *text*; it expires by itself. Raises ChannelError."""


@runtime_checkable
class Reacts(Protocol):
    """A channel that supports reactions to messages."""

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Replace our reaction to the message with *emoji*; empty removes it. Raises ChannelError."""


@runtime_checkable
class SendsFiles(Protocol):
    """A channel that takes a `Body` with an `upload`; on any other, a line of text stands for the file."""

    upload_limit: int
    """Largest file, in bytes, that the platform accepts."""
    caption_limit: int
    """Longest caption of a file, in UTF-16 units; a longer text is sent before it as a message of its own."""


@runtime_checkable
class LinksFiles(Protocol):
    """A channel that itself shows links to the files of an answer's turn: none is sent there."""

    links_files: bool


@runtime_checkable
class FetchesFiles(Protocol):
    """A channel whose messages may carry files."""

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Yield the content of *attachment* in pieces of at most 64 KiB.

        Raises ChannelUnavailableError where a retry may help, and FetchRefusedError where it cannot.
        """


class MenuEntry(Struct, frozen=True):
    """A command as shown in a platform's own menu."""

    name: str
    """Lower case letters, digits, underscores, at most 32."""
    usage: str
    """Arguments of the command; empty if it takes none."""
    help: str
    for_owner: bool
    """Only useful to the owner."""


@runtime_checkable
class HasMenu(Protocol):
    """A channel with its own menu of commands."""

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        """Set the menu to *entries*; *owners* are the owner's ids on this platform. Raises ChannelError."""


@runtime_checkable
class TakesUpdates(Protocol):
    """A channel whose platform may deliver updates to us by HTTP (a webhook) while `listen` waits.

    With several gateways one of them listens, and any of them may receive a request.
    """

    async def take(self, secret: str, body: bytes, receive: Receive) -> int:
        """Take one request and return the HTTP status to answer with: 200 only once everything in it is durable.

        404 means that the account uses polling. Errors raised by *receive* pass through: answer 503 then, so that the
        platform retries.
        """


@runtime_checkable
class HoldsBack(Protocol):
    """A channel that brings messages in batches, and all of them again from the first that was not taken in."""

    def on_held_back(self, tell: Receive) -> None:
        """Call *tell* from now on with each message behind one that could not be taken in; it comes again."""


@runtime_checkable
class Moves(Protocol):
    """A channel whose chats may get a new id; the conversation continues under the old one."""

    def on_moved(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with the address and the new id of a chat that moved, each time one is seen."""


class JoinedGroup(Struct, frozen=True):
    """A group that our bot was added to."""

    address: Address
    name: str
    """Chosen by its members: untrusted text."""
    by: Sender
    """The person who added the bot."""


@runtime_checkable
class Joins(Protocol):
    """A channel whose platform tells when somebody adds the bot to a group."""

    def on_joined(self, tell: Callable[[JoinedGroup], Awaitable[None]]) -> None:
        """Call *tell* from now on with each such group."""


@runtime_checkable
class Misses(Protocol):
    """A channel that fetches messages sent while we were offline, up to a configured age."""

    def on_missed(self, tell: Callable[[Address, datetime], Awaitable[None]]) -> None:
        """Call *tell* from now on for a chat with missed messages: its address, and the time up to which it is
        complete.
        """


@runtime_checkable
class Deletes(Protocol):
    """A channel whose platform tells when a message is deleted."""

    def on_deleted(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with the address and the id of each deleted message of a group."""


@runtime_checkable
class Examines(Protocol):
    """A channel that can check the setup of its account without listening."""

    async def examine(self) -> Sequence[str]:
        """Return the problems that keep the account from working, each with its fix. Raises ChannelError."""


@runtime_checkable
class Wakes(Protocol):
    """A channel whose readers come and go: replies wait for a reader instead of the next retry."""

    def on_reachable(self, wake: Callable[[], None]) -> None:
        """Call *wake* from now on, immediately and in the adapter's event loop, whenever a reader attaches."""
