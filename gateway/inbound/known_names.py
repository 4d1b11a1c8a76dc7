"""Names of the chats and people that bots met, for the owner's views: platforms' ids say little."""

from collections.abc import Iterator

from adapters.channel import ChatKind, InboundMessage
from gateway.admission.internal_channels import is_inner
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered

KEY = "known_names"
"""Key in the store."""
MOST = 500
"""Names remembered, the latest; our choice."""
LONGEST = 60
"""Characters of a name; our choice."""


class KnownNames:
    """Names, by `<channel>.<account>.<chat>` and `<channel>:<id>`; people choose them, so they prove nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str] = {}
        """As the store told last."""

    async def learn(self, message: InboundMessage) -> None:
        """Remember the names in *message*, which was admitted. Raises StoreError."""
        fresh = dict(_names_in(message))
        if fresh.items() <= self._known.items():
            return
        known = await self.all()
        if not fresh.items() <= known.items():
            known = {key: name for key, name in known.items() if key not in fresh} | fresh
            known = dict([*known.items()][-MOST:])
            await remember(self._store, KEY, known)
        self._known = known

    async def all(self) -> dict[str, str]:
        """Return all of them. Raises StoreError."""
        return await remembered(self._store, KEY, dict[str, str]) or {}


def _names_in(message: InboundMessage) -> Iterator[tuple[str, str]]:
    if is_inner(message):
        return
    address, sender = message.address, message.sender
    chat = message.chat_name if message.kind is ChatKind.GROUP else ""
    for key, given in (
        (f"{address.channel}.{address.account}.{address.chat}", chat),
        (f"{address.channel}:{sender.id}", sender.name if sender.id else ""),
    ):
        if name := " ".join(given.split())[:LONGEST]:
            yield key, name
