"""This file tells the owner what no conversation of theirs caused: a disk that is full, a reply nobody took."""

from collections.abc import Callable, Sequence
from datetime import datetime

import structlog

from adapters.channel import Address
from gateway.errors import StoreError
from gateway.stores.ports import OutboxRow, Outgoing, Store

log = structlog.get_logger()


class Notices:
    """Puts what the owner must know into the outbox, once for each key."""

    def __init__(self, store: Store, owner: Address) -> None:
        self._store = store
        self._owner = owner
        self.wake: Callable[[Sequence[OutboxRow]], None] = _leave
        """Told of each notice that now waits to be sent."""

    async def tell(self, key: str, said: str, where: Address | None = None) -> None:
        """Tell the owner *said*, unless they were told under the same *key*; at the terminal unless it says *where*.

        Raises StoreError.
        """
        if notice := await self._store.notify(key, Outgoing(where or self._owner, said)):
            self.wake([notice])

    async def dead_letter(self, row: OutboxRow, why: str) -> None:
        """Tell the owner that a reply can never be delivered. Raises StoreError."""
        said = f"A reply to {row.outgoing.address} could not be delivered: {why}"
        await self.tell(f"dead:{row.id}", said)

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


def _leave(_: Sequence[OutboxRow]) -> None:
    """Leave a notice in the outbox: what is there is sent at the next start."""
