"""Notices to the owner about events outside of their conversations: a full disk, an undeliverable reply."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime, tzinfo

import structlog

from adapters.channel import Address, Button, InboundMessage
from gateway.delivery.waker import Wake
from gateway.errors import StoreError
from gateway.runtime.escape import visible
from gateway.stores.codec import message_key
from gateway.stores.ports import Store
from gateway.stores.rows import OutboxRow, Outgoing

log = structlog.get_logger()

EXPOSED = "secret_received"
"""Counted for a message that contained a known secret."""

Names = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns the names of chats, by `<channel>.<account>.<chat>`. Raises StoreError."""
Find = Callable[[], Awaitable[Address | None]]
"""Returns the owner's direct chat; `None` if none is known at the chosen account. Raises StoreError."""


class Notices:
    """Puts notices to the owner into the outbox, once for each key."""

    def __init__(
        self,
        store: Store,
        owner: Address,
        wake: Wake,
        find: Find | None = None,
        zone: tzinfo = UTC,
        names: Names | None = None,
    ) -> None:
        """*owner* is the address used while *find* knows no chat of theirs: the terminal.

        *wake* is called with each notice that waits to be sent; times are told in the owner's *zone*.
        """
        self._store = store
        self._owner = owner
        self.wake = wake
        self._find = find
        self._zone = zone
        self._names = names

    async def tell(self, key: str, said: str, where: Address | None = None, buttons: tuple[Button, ...] = ()) -> None:
        """Send the owner *said*, unless the same *key* was used before; in their chat unless *where* is given.

        Raises StoreError.
        """
        there = where or await self._owners_chat()
        if notice := await self._store.notify(key, Outgoing(there, said, buttons=buttons)):
            self.wake([notice])

    async def dead_letter(self, row: OutboxRow, why: str) -> None:
        """Notify the owner that a reply can never be delivered, in another chat than its own. Raises StoreError.

        A notice that their chat rejected is repeated at the terminal; failures of other notices are not reported, as a
        notice about a notice would never end.
        """
        chat = row.outgoing.address
        if not row.is_notice:
            said = f"A reply to {await self.place(chat)} could not be delivered: {why}"
            await self.tell_of_lost(f"dead:{row.id}", said, {str(chat)})
        elif await self._owners_chat() == chat != self._owner:
            await self.tell(f"again:{row.id}", row.outgoing.text, self._owner)

    async def tell_of_lost(self, key: str, said: str, chats: Collection[str]) -> None:
        """Send the owner *said* about replies to *chats*; at the terminal if their chat is one of them.

        Raises StoreError.
        """
        there = await self._owners_chat()
        await self.tell(key, said, self._owner if str(there) in chats else there)

    async def moved(self, chat: Address, now: str) -> None:
        """Notify the owner that *chat* has the id *now*; if that cannot be stored, log it."""
        table = f"[channels.{chat.channel}.{chat.account}]"
        said = (
            f"The group {chat.chat} became a supergroup with the id {now}. Its conversation continues. To keep it "
            f'after the next start, add under {table} in the configuration: moved = {{ "{chat.chat}" = '
            f'"{now}" }}. Keep the earlier id everywhere else.'
        )
        log.warning("chat moved", chat=str(chat), now=now)
        try:
            await self.tell(f"moved:{chat}:{now}", said)
        except StoreError as exc:
            log.error("owner not told of a chat that moved", detail=str(exc))

    async def missed(self, chat: Address, since: datetime) -> None:
        """Notify the owner, once for each *since*, that *chat* had more messages during our downtime than were
        fetched."""
        log.warning("more was missed than is fetched", chat=str(chat))
        left = since.astimezone(self._zone)
        said = (
            f"While I was away (since {left:%Y-%m-%d %H:%M}) more was written on {chat.channel} than I read "
            f"afterwards, at least in the chat {chat.chat}. Please send again what matters. catch_up_hours and "
            f"catch_up_messages of [channels.{chat.channel}.{chat.account}] set how far back I read."
        )
        try:
            await self.tell(f"missed:{chat.channel}.{chat.account}:{since.isoformat()}", said)
        except StoreError as exc:
            log.error("owner not told of what was missed", detail=str(exc))

    async def exposed(self, message: InboundMessage) -> None:
        """Notify the owner, and nobody else, that *message* contained a secret of ours. Raises StoreError."""
        await self._store.count(EXPOSED)
        chat = message.address
        said = (
            f"A message of {message.sender.name or 'somebody'} in {chat} contained a key or password that I use. I "
            "replaced it before it was stored or passed on, but the original message still contains it. Delete that "
            "message, create a new key where the old one came from, and replace the old one (`strandline doctor` "
            "checks it)."
        )
        await self.tell(f"exposed:{message_key(chat, message.id)}", said)

    async def place(self, chat: Address) -> str:
        """Return the address of *chat*, with its name if that is known."""
        known = await self._names() if self._names else {}
        return quoted(known.get(f"{chat.channel}.{chat.account}.{chat.chat}", ""), str(chat))

    async def _owners_chat(self) -> Address:
        found = None if self._find is None else await self._find()
        return found or self._owner


def quoted(name: str, place: str) -> str:
    """Return a group's name and place as code, so that a name can be no link and no formatting."""
    told = f"{name} ({place})" if name and name != place else place
    return f"`{visible(told).replace('`', chr(0x2CB))}`"
