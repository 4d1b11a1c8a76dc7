"""Groups that became supergroups: a conversation keeps the id under which it began.

Telegram gives such a group a new id, and numbers its messages anew from 1. Permission, session and notes depend on the
id, so inside the gateway the group keeps its earlier one, and `@<new id>` marks its new messages.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from msgspec import Struct

from adapters.channel import Address, Count, InboundMessage, SendRefusedError

MIGRATED = "telegram_migrated"
"""Counted when a group became a supergroup and the configuration does not list it yet."""


class CurrentChat(Struct, frozen=True):
    """Current id of a chat at Telegram."""

    chat: int
    has_moved: bool

    def message(self, message_id: str) -> int | None:
        """Return the number of a message there; `None` if it stayed behind in the former group."""
        number, _, moved_to = message_id.partition("@")
        return telegram_number(number) if moved_to == (str(self.chat) if self.has_moved else "") else None


class MovedChats:
    """The groups of one bot that moved."""

    def __init__(self, account: str, moved: Mapping[str, str], count: Count) -> None:
        """Take the moves listed in the configuration: earlier id → present id."""
        self._account = account
        self._now = dict(moved)
        self._earlier = {now: earlier for earlier, now in moved.items()}
        self._count = count
        self._tell: Callable[[Address, str], Awaitable[None]] | None = None

    def on_moved(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with each group that moves, and its new id."""
        self._tell = tell

    def place(self, chat: str) -> CurrentChat:
        """Return the current id of *chat*. Raises SendRefusedError for an id that is not Telegram's."""
        return CurrentChat(telegram_number(self._now.get(chat, chat)), chat in self._now)

    def known(self, message: InboundMessage) -> InboundMessage:
        """Return *message* under the id that its group has in the gateway."""
        chat = message.address.chat
        if chat not in self._earlier:
            return message
        address = replace(message.address, chat=self._earlier[chat])
        target = None if message.target is None else f"{message.target}@{chat}"
        return replace(message, address=address, id=f"{message.id}@{chat}", target=target)

    async def learn(self, chat: str, now: str) -> None:
        """Follow *chat* to its id *now*; count and report it once per run."""
        if self._now.get(chat) == now:
            return
        await self._count(MIGRATED)
        if self._tell is not None:
            await self._tell(Address("telegram", self._account, chat), now)
        self._now[chat], self._earlier[now] = now, chat


def telegram_number(text: str) -> int:
    """Return *text* as a number. Raises SendRefusedError."""
    try:
        return int(text)
    except ValueError:
        message = f"Telegram identifies chats, topics and messages by numbers, not by {text!r}"
        raise SendRefusedError(message) from None
