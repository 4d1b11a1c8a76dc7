"""This file tells the owner what no conversation of theirs caused: a disk that is full, a reply nobody took."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from adapters.channel import Address, Button, InboundMessage
from gateway.errors import StoreError
from gateway.stores.codec import message_key
from gateway.stores.ports import Store
from gateway.stores.rows import OutboxRow, Outgoing

log = structlog.get_logger()

EXPOSED = "secret_received"
"""Counted for a message that held a known secret."""

Find = Callable[[], Awaitable[Address | None]]
"""Gives the owner's direct chat; `None` if none is known where they want to be told. Raises StoreError."""


class Notices:
    """Puts what the owner must know into the outbox, once for each key."""

    def __init__(self, store: Store, owner: Address, find: Find | None = None) -> None:
        """*owner* is where they are told while *find* knows no chat of theirs: at the terminal."""
        self._store = store
        self._owner = owner
        self._find = find
        self.wake: Callable[[Sequence[OutboxRow]], None] = _leave
        """Told of each notice that now waits to be sent."""

    async def tell(self, key: str, said: str, where: Address | None = None, buttons: tuple[Button, ...] = ()) -> None:
        """Tell the owner *said*, unless they were told under the same *key*; in their chat unless it says *where*.

        Raises StoreError.
        """
        there = where or await self._owners_chat()
        if notice := await self._store.notify(key, Outgoing(there, said, buttons=buttons)):
            self.wake([notice])

    async def dead_letter(self, row: OutboxRow, why: str) -> None:
        """Tell the owner that a reply can never be delivered; not where it could not. Raises StoreError.

        A notice that their chat did not take is told again at the terminal; of any other one they are not told, for
        a notice about a notice would never end.
        """
        there = await self._owners_chat()
        is_lost = there == row.outgoing.address != self._owner
        if row.is_notice and is_lost:
            await self.tell(f"again:{row.id}", row.outgoing.text, self._owner)
        elif not row.is_notice:
            said = f"A reply to {row.outgoing.address} could not be delivered: {why}"
            await self.tell(f"dead:{row.id}", said, self._owner if is_lost else there)

    async def moved(self, chat: Address, now: str) -> None:
        """Tell the owner that *chat* has the id *now*; where that cannot be stored, the log has it."""
        table = f"[channels.{chat.channel}.{chat.account}]"
        said = (
            f"The group {chat.chat} became a supergroup, and its id is {now} now. Its conversation goes on. So that it "
            f'also does after the next start, write below {table} in the configuration: moved = {{ "{chat.chat}" = '
            f'"{now}" }}. Leave it under its earlier id everywhere else.'
        )
        log.warning("chat moved", chat=str(chat), now=now)
        try:
            await self.tell(f"moved:{chat}:{now}", said)
        except StoreError as exc:
            log.error("owner not told of a chat that moved", detail=str(exc))

    async def missed(self, chat: Address, since: datetime) -> None:
        """Tell the owner, once for each *since*, that in *chat* more was said while we were away than was fetched."""
        log.warning("more was missed than is fetched", chat=str(chat))
        said = (
            f"While I was away (since {since:%Y-%m-%d %H:%M} UTC) more was written on {chat.channel} than I read "
            f"afterwards, in the chat {chat.chat} at least. What matters of it needs to be sent again. How far back I "
            f"read say catch_up_hours and catch_up_messages of [channels.{chat.channel}.{chat.account}]."
        )
        try:
            await self.tell(f"missed:{chat.channel}.{chat.account}:{since.isoformat()}", said)
        except StoreError as exc:
            log.error("owner not told of what was missed", detail=str(exc))

    async def exposed(self, message: InboundMessage) -> None:
        """Tell the owner, and nobody else, that *message* held a secret of ours. Raises StoreError."""
        await self._store.count(EXPOSED)
        chat = message.address
        said = (
            f"A message of {message.sender.name or 'somebody'} in {chat} held a key or password that I use. I replaced "
            "it before it was stored or passed on to anybody; where it was written, it still stands. Delete the "
            "message there, make a new key where the old one came from, and put that into its place ("
            "`strandline doctor` checks it)."
        )
        await self.tell(f"exposed:{message_key(chat, message.id)}", said)

    async def _owners_chat(self) -> Address:
        found = None if self._find is None else await self._find()
        return found or self._owner


def _leave(_: Sequence[OutboxRow]) -> None:
    """Leave a notice in the outbox: what is there is sent at the next start."""
